//! `palisade plugins update`.

use anyhow::{Context as _, bail};

use super::{
    commit::Desk,
    fetch::Source,
    install::{Choices, install},
};
use crate::{Exit, commands::completions, render::Terminal, settings::Settings};

/// Fetch a plugin anew from where it came from, and show what is different.
///
/// What was granted stays if the plugin asks for no more than before; if it asks for more, --grant says anew what it
/// may have.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Its name.
    #[arg(add = completions::plugins())]
    name: String,
    #[command(flatten)]
    choices: Choices,
}

const AFTER_HELP: &str = "\
Examples:
  palisade plugins update weather
  palisade plugins update weather --grant net.http:api.example.com --yes

Exit codes: 0 it is up to date, 1 it is not";

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let name = &arguments.name;
    let source = {
        let desk = Desk::open(settings)?;
        match desk.lock.get(name) {
            Some(locked) => locked.source.clone(),
            None => bail!("the plugin `{name}` was not installed; `palisade plugins list` says which are there"),
        }
    };
    let source = Source::parse(&source).with_context(|| format!("`{name}` came from there"))?;
    install(&source, Some(name), &arguments.choices, settings, terminal)
}
