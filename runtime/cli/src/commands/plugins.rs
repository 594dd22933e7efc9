//! `palisade plugins`: which plugins there are, and what they may do.

mod author;
mod build;
mod dev;
mod list;
mod new;
mod test;

use crate::{Exit, render::Terminal, settings::Settings};

/// Which plugins there are: folders that bring tools, agents and skills.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    New(new::Arguments),
    Build(build::Arguments),
    Test(test::Arguments),
    Dev(dev::Arguments),
}

pub(crate) fn run(command: &Command, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    match command {
        Command::List(arguments) => list::run(arguments, settings, terminal),
        Command::New(arguments) => new::run(arguments, settings, terminal),
        Command::Build(arguments) => build::run(arguments, settings, terminal),
        Command::Test(arguments) => test::run(arguments, settings, terminal),
        Command::Dev(arguments) => dev::run(arguments, settings, terminal),
    }
}
