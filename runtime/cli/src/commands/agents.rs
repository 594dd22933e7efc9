//! `palisade agents`: which agents there are, and their files.

mod list;
mod new;
mod show;
mod trust;
pub(crate) mod validate;

use crate::{Exit, render::Terminal, settings::Settings};

/// Which agents there are, and their files.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    Validate(validate::Arguments),
    New(new::Arguments),
    Trust(trust::Arguments),
    #[command(about = "Take trust in agents of this workspace back: they no longer run", long_about = None)]
    Untrust(trust::Arguments),
}

pub(crate) fn run(command: &Command, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    match command {
        Command::List(arguments) => list::run(arguments, settings, terminal),
        Command::Show(arguments) => show::run(arguments, settings, terminal),
        Command::Validate(arguments) => validate::run(arguments, settings, terminal),
        Command::New(arguments) => new::run(arguments, settings, terminal),
        Command::Trust(arguments) => trust::trust(arguments, settings, terminal),
        Command::Untrust(arguments) => trust::untrust(arguments, settings, terminal),
    }
}
