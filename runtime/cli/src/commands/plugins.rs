//! `palisade plugins`: which plugins there are, and what they may do.

mod list;

use crate::{Exit, render::Terminal, settings::Settings};

/// Which plugins there are: folders that bring tools, agents and skills.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
}

pub(crate) fn run(command: &Command, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    match command {
        Command::List(arguments) => list::run(arguments, settings, terminal),
    }
}
