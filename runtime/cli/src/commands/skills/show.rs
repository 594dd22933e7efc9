//! `palisade skills show`.

use serde_json::json;

use super::list;
use crate::{
    Exit,
    commands::completions as complete,
    places::Lookup,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Show a skill: what its file says, and which other files it brings.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The skill's name, or `plugin/name`.
    #[arg(add = complete::skills())]
    skill: String,
    #[command(flatten)]
    lookup: Lookup,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (_, registry) = arguments.lookup.open(settings)?;
    let skills = registry.skills();
    let found = skills.find(&arguments.skill).ok_or_else(|| skills.unknown(&arguments.skill))?;
    let refusal = found.usable().err();
    // One that is not trusted is shown: to look at it is how one decides.
    let Some(skill) = found.skill() else {
        return match refusal {
            Some(refusal) => Err(refusal.into()),
            None => Ok(Exit::Failed),
        };
    };
    if arguments.json {
        let mut value = list::value(found, &skills);
        value["text"] = skill.text.as_str().into();
        let files = found.files().into_iter().map(|file| json!({ "path": file.path, "size": file.size }));
        value["files"] = files.collect();
        terminal.json(&value)?;
        return Ok(Exit::Done);
    }
    let path = found.origin.path.as_deref().unwrap_or_default();
    let note = |text: &str| terminal.note(&Line::new().add(Style::Dim, text));
    note(&format!("{}, {path}", found.origin));
    note(&skill.description);
    if let Some(tools) = &skill.allowed_tools {
        note(&format!("its author means these tools to be used: {tools}; that grants nothing here"));
    }
    for file in found.files() {
        note(&format!("  {} ({} bytes)", file.path, file.size));
    }
    for warning in &found.warnings {
        terminal.warning(&warning.without_severity());
    }
    if let Some(refusal) = refusal {
        terminal.warning(&refusal.to_string());
    }
    terminal.text(&skill.text)?;
    Ok(Exit::Done)
}
