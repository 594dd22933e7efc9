//! `palisade plugins remove`.

use anyhow::bail;
use serde_json::json;

use super::{commit::Desk, kept};
use crate::{
    Exit,
    commands::completions,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Remove a plugin that was installed, with what it was granted. What its tools kept stays, for when it comes back.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  palisade plugins remove weather")]
pub(crate) struct Arguments {
    /// Their names.
    #[arg(required = true, add = completions::plugins())]
    names: Vec<String>,
    /// Remove what their tools kept, too.
    #[arg(long)]
    forget: bool,
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
    let forgotten = if arguments.forget { kept::forget(&arguments.names, settings, terminal)? } else { 0 };
    match arguments.json {
        true => terminal.json(&json!({ "removed": arguments.names, "forgotten": forgotten }))?,
        false => {
            let values = if arguments.forget { format!("; values forgotten: {forgotten}") } else { String::new() };
            let line = Line::new().add(Style::Good, "removed ").add(Style::Plain, &arguments.names.join(", "));
            terminal.whole(&line.add(Style::Plain, &values))?;
        }
    }
    Ok(Exit::Done)
}
