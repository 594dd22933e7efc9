//! `palisade agents show`.

use palisade_catalog::definition::to_markdown;
use serde_json::json;

use crate::{
    Exit,
    places::Lookup,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Show the definition of an agent, in one form whatever it was written in.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The agent's name, or `plugin/name`.
    agent: String,
    #[command(flatten)]
    lookup: Lookup,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (_, registry) = arguments.lookup.open(settings)?;
    let found = registry.look_up(&arguments.agent)?;
    let (agent, origin) = (found.agent, &found.agent.origin);
    if arguments.json {
        terminal.json(&json!({
            "name": agent.name,
            "display_name": agent.display_name(),
            "description": agent.description,
            "source": origin.layer.name(),
            "plugin": origin.plugin,
            "path": origin.path,
            "shadows": found.shadows.iter().map(|shadow| json!({
                "source": shadow.origin.to_string(),
                "path": shadow.origin.path,
            })).collect::<Vec<_>>(),
            "definition": to_markdown(agent),
            "warnings": found.warnings(),
        }))?;
        return Ok(Exit::Done);
    }
    let place = origin.path.as_deref().unwrap_or("part of this program");
    terminal.note(&Line::new().add(Style::Dim, &format!("{origin}, {place}")));
    for shadow in found.shadows {
        terminal.note(&Line::new().add(Style::Caution, &format!("overrides {}", shadow.origin)));
    }
    for warning in found.warnings() {
        terminal.warning(&warning);
    }
    terminal.text(&to_markdown(agent))?;
    Ok(Exit::Done)
}
