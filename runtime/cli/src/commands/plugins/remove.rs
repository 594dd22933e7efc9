//! `palisade plugins remove`.

use anyhow::bail;
use serde_json::json;

use super::commit::Desk;
use crate::{
    Exit,
    commands::completions,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Remove a plugin that was installed, with what it was granted.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  palisade plugins remove weather")]
pub(crate) struct Arguments {
    /// Their names.
    #[arg(required = true, add = completions::plugins())]
    names: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let mut desk = Desk::open(settings)?;
    for name in &arguments.names {
        if desk.lock.get(name).is_none() {
            bail!("the plugin `{name}` was not installed; `palisade plugins list` says which are there");
        }
    }
    for name in &arguments.names {
        desk.remove(name)?;
    }
    match arguments.json {
        true => terminal.json(&json!({ "removed": arguments.names }))?,
        false => {
            let line = Line::new().add(Style::Good, "removed ").add(Style::Plain, &arguments.names.join(", "));
            terminal.whole(&line)?;
        }
    }
    Ok(Exit::Done)
}
