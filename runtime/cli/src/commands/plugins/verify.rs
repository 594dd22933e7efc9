//! `palisade plugins verify`.

use serde_json::json;

use super::commit::{Desk, pins};
use crate::{
    Exit,
    commands::completions,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Compare every byte of installed plugins with what was installed.
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 everything is as it was installed, 1 something is not")]
pub(crate) struct Arguments {
    /// Their names [default: all].
    #[arg(add = completions::plugins())]
    names: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let desk = Desk::open(settings)?;
    let names = if arguments.names.is_empty() { desk.lock.names() } else { arguments.names.clone() };
    let mut found = Vec::new();
    for name in &names {
        let wrong = match desk.lock.get(name) {
            None => Some(format!("`{name}` was not installed")),
            Some(locked) => desk.store.verify(name, &pins(locked)?).err().map(|error| error.to_string()),
        };
        found.push((name, wrong));
    }
    let is_sound = found.iter().all(|(_, wrong)| wrong.is_none());
    if arguments.json {
        let each = found.iter().map(|(name, wrong)| json!({ "name": name, "ok": wrong.is_none(), "wrong": wrong }));
        terminal.json(&each.collect::<Vec<_>>())?;
    } else {
        for (name, wrong) in &found {
            let line = match wrong {
                None => Line::new().column(Style::Good, "ok", 8).add(Style::Plain, name),
                Some(wrong) => Line::new().column(Style::Bad, "changed", 8).add(Style::Plain, wrong),
            };
            terminal.whole(&line)?;
        }
        if found.is_empty() {
            terminal.note(&Line::new().add(Style::Dim, "no plugins were installed"));
        }
    }
    Ok(if is_sound { Exit::Done } else { Exit::Failed })
}
