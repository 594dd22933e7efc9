//! `palisade plugins`: which plugins there are, what they may do, and how to write one.

mod author;
mod bare;
mod build;
mod changes;
mod commit;
mod dev;
mod fetch;
mod inspect;
mod install;
mod kept;
mod keys;
mod list;
mod new;
mod publish;
mod remove;
mod show;
mod summary;
mod switch;
mod test;
mod update;
mod verify;

use crate::{Exit, render::Terminal, settings::Settings};

/// Install, look after and write plugins: folders that bring tools, agents and skills.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Install(install::Arguments),
    List(list::Arguments),
    Inspect(inspect::Arguments),
    Update(update::Arguments),
    Remove(remove::Arguments),
    Verify(verify::Arguments),
    /// Switch a plugin on.
    Enable(switch::Arguments),
    /// Switch a plugin off; what it was granted stays.
    Disable(switch::Arguments),
    New(new::Arguments),
    Build(build::Arguments),
    Test(test::Arguments),
    Dev(dev::Arguments),
    Digest(publish::DigestArguments),
    Push(publish::PushArguments),
}

pub(crate) fn run(command: &Command, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    match command {
        Command::Install(arguments) => install::run(arguments, settings, terminal),
        Command::List(arguments) => list::run(arguments, settings, terminal),
        Command::Inspect(arguments) => inspect::run(arguments, settings, terminal),
        Command::Update(arguments) => update::run(arguments, settings, terminal),
        Command::Remove(arguments) => remove::run(arguments, settings, terminal),
        Command::Verify(arguments) => verify::run(arguments, settings, terminal),
        Command::Enable(arguments) => switch::run(arguments, true, settings, terminal),
        Command::Disable(arguments) => switch::run(arguments, false, settings, terminal),
        Command::New(arguments) => new::run(arguments, settings, terminal),
        Command::Build(arguments) => build::run(arguments, settings, terminal),
        Command::Test(arguments) => test::run(arguments, settings, terminal),
        Command::Dev(arguments) => dev::run(arguments, settings, terminal),
        Command::Digest(arguments) => publish::digest(arguments, settings, terminal),
        Command::Push(arguments) => publish::push(arguments, settings, terminal),
    }
}
