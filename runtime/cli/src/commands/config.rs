//! `palisade config`: what is in force, and where it comes from.

use serde_json::{Value as Json, json};

use crate::{
    Exit,
    config::{Config, Name, Origin, State, schema},
    places::Lookup,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Show the configuration.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Show(Show),
    Path(Path),
    /// Print the JSON Schema of a configuration file, for editors.
    Schema,
}

/// Show the settings that are in force.
#[derive(clap::Args)]
pub(crate) struct Show {
    #[command(flatten)]
    lookup: Lookup,
    /// Show where each comes from.
    #[arg(long)]
    origin: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Show the files that are looked for, the weakest first.
#[derive(clap::Args)]
pub(crate) struct Path {
    #[command(flatten)]
    lookup: Lookup,
}

pub(crate) fn run(command: &Command, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    match command {
        Command::Show(arguments) => show(arguments, settings, terminal),
        Command::Path(arguments) => path(arguments, settings, terminal),
        Command::Schema => {
            terminal.json(&schema())?;
            Ok(Exit::Done)
        }
    }
}

fn show(arguments: &Show, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (workspace, registry) = arguments.lookup.open(settings)?;
    let config = arguments.lookup.config(settings, &workspace, &registry);
    config.warn(terminal);
    let config = config.accepted(terminal)?;
    let values = config.values();
    if arguments.json {
        let all: serde_json::Map<String, Json> = values
            .iter()
            .map(|(name, value, origin)| {
                let mut entry = json!({ "value": value.json(), "origin": origin.layer(), "place": origin.place() });
                if config.is_locked_name(name) {
                    entry["locked"] = true.into();
                }
                (name.to_string(), entry)
            })
            .collect();
        terminal.json(&all)?;
        return Ok(Exit::Done);
    }
    for (name, value, origin) in &values {
        let line = Line::new().add(Style::Bold, &name.to_string()).add(Style::Plain, &format!(" = {}", value.toml()));
        let line = if arguments.origin { line.add(Style::Dim, &note(&config, name, origin)) } else { line };
        terminal.line(&line)?;
    }
    Ok(Exit::Done)
}

fn note(config: &Config, name: &Name, origin: &Origin) -> String {
    let locked = if config.is_locked_name(name) { ", locked" } else { "" };
    format!("  # {}{locked}", origin.to_string().trim_end())
}

fn path(arguments: &Path, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (workspace, registry) = arguments.lookup.open(settings)?;
    for file in &arguments.lookup.config(settings, &workspace, &registry).files {
        let state = match &file.state {
            State::Read => "",
            State::Missing => "  (not there)",
            State::Unreadable(_) => "  (cannot be read)",
        };
        let line = Line::new().column(Style::Bold, file.layer.name(), 8);
        terminal.line(&line.add(Style::Plain, &file.path.display().to_string()).add(Style::Dim, state))?;
    }
    Ok(Exit::Done)
}
