//! `palisade plugins enable` and `disable`.

use anyhow::bail;
use palisade_catalog::Locked;
use serde_json::json;

use super::commit::Desk;
use crate::{
    Exit,
    commands::completions,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Switch a plugin on or off; what it was granted stays.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  palisade plugins disable weather\n  palisade plugins enable weather")]
pub(crate) struct Arguments {
    /// Its name.
    #[arg(add = completions::plugins())]
    name: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    arguments: &Arguments,
    enabled: bool,
    settings: &Settings,
    terminal: &Terminal,
) -> anyhow::Result<Exit> {
    let name = &arguments.name;
    let mut desk = Desk::open(settings)?;
    let Some(locked) = desk.lock.get(name).cloned() else {
        bail!("the plugin `{name}` was not installed; others are switched off by `disabled_plugins` in config.json");
    };
    desk.lock.set(name, Some(Locked { enabled, ..locked }))?;
    match arguments.json {
        true => terminal.json(&json!({ "name": name, "enabled": enabled }))?,
        false => {
            let word = if enabled { "switched on: " } else { "switched off: " };
            terminal.whole(&Line::new().add(Style::Good, word).add(Style::Plain, name))?;
        }
    }
    Ok(Exit::Done)
}
