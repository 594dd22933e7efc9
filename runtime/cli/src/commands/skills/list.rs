//! `palisade skills list`.

use palisade_catalog::{FoundSkill, Skills, Status};
use serde_json::{Value, json};

use crate::{
    Exit,
    places::Lookup,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// List the skills, with where they come from and whether they can be used.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    lookup: Lookup,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (_, registry) = arguments.lookup.open(settings)?;
    let skills = registry.skills();
    if arguments.json {
        terminal.json(&skills.entries().map(|found| value(found, &skills)).collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    for found in skills.entries() {
        print(found, &skills, terminal)?;
    }
    if skills.entries().next().is_none() {
        terminal
            .note(&Line::new().add(Style::Dim, "there are no skills; docs/skills.md says where they are looked for"));
    }
    for problem in skills.problems() {
        terminal.warning(&problem.to_string());
    }
    Ok(Exit::Done)
}

pub(super) fn value(found: &FoundSkill, skills: &Skills) -> Value {
    let mut value = json!({
        "name": found.name,
        "source": found.origin.layer.name(),
        "plugin": found.origin.plugin,
        "path": found.origin.path,
        "status": found.status().name(),
        "shadows": skills.shadows(&found.name).iter().map(|shadow| json!({
            "source": shadow.origin.to_string(),
            "path": shadow.origin.path,
        })).collect::<Vec<_>>(),
        "warnings": found.warnings,
    });
    if let Some(skill) = found.skill() {
        value["description"] = skill.description.as_str().into();
        value["license"] = skill.license.clone().into();
        value["compatibility"] = skill.compatibility.clone().into();
        value["metadata"] = json!(skill.metadata);
        value["allowed_tools"] = skill.allowed_tools.clone().into();
    }
    if let Err(why) = found.usable() {
        value["reason"] = why.to_string().into();
    }
    value
}

fn print(found: &FoundSkill, skills: &Skills, terminal: &Terminal) -> anyhow::Result<()> {
    let margin = " ".repeat(16);
    let style = match found.status() {
        Status::Ok => Style::Good,
        Status::Untrusted => Style::Caution,
        Status::Broken | Status::Refused => Style::Bad,
    };
    let description = found.skill().map(|skill| skill.description.as_str()).unwrap_or_default();
    terminal.line(&Line::new().column(Style::Bold, &found.name, 14).add(Style::Plain, description))?;
    let mut from = format!("from: {}", found.origin);
    if let Some(path) = &found.origin.path {
        from += &format!(" {path}");
    }
    for shadow in skills.shadows(&found.name) {
        from += &format!("; overrides: {}", shadow.origin);
    }
    terminal.line(&Line::new().add(Style::Dim, &format!("{margin}{from}")))?;
    if let Err(why) = found.usable() {
        let line = Line::new().add(Style::Plain, &margin).add(style, found.status().name());
        terminal.line(&line.add(Style::Plain, &format!(": {why}")))?;
    }
    Ok(())
}
