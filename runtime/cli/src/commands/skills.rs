//! `palisade skills`: which skills there are, and their files.

mod check;
mod list;
mod show;
mod trust;

use crate::{Exit, render::Terminal, settings::Settings};

/// Which skills there are: texts that say how something is done.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    Check(check::Arguments),
    Trust(trust::Arguments),
    #[command(about = "Take trust in skills of this workspace back: they no longer reach agents", long_about = None)]
    Untrust(trust::Arguments),
}

pub(crate) fn run(command: &Command, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    match command {
        Command::List(arguments) => list::run(arguments, settings, terminal),
        Command::Show(arguments) => show::run(arguments, settings, terminal),
        Command::Check(arguments) => check::run(arguments, settings, terminal),
        Command::Trust(arguments) => trust::trust(arguments, settings, terminal),
        Command::Untrust(arguments) => trust::untrust(arguments, settings, terminal),
    }
}
