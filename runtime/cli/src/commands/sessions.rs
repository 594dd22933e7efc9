//! `palisade sessions`: what was said and done before.

mod carry;
mod change;
pub(crate) mod list;
mod show;

use std::path::PathBuf;

use anyhow::bail;
use palisade_agent::Session;

use crate::{
    Exit,
    commands::{chat, completions as complete},
    database::{Desk, Reach},
    render::Terminal,
    sessions::by_word,
    settings::Settings,
};

/// List, read, change and carry sessions.
///
/// A session is found by its id, the beginning of its id, or its name.
#[derive(clap::Subcommand)]
#[command(after_help = AFTER_HELP)]
pub(crate) enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    Resume(Resume),
    Rename(change::Rename),
    Pin(change::Pin),
    Unpin(change::Unpin),
    Clear(change::Clear),
    Delete(change::Delete),
    Export(carry::Export),
    Import(carry::Import),
    Fork(carry::Fork),
}

const AFTER_HELP: &str = "\
Examples:
  palisade sessions list --agent explore
  palisade sessions show 0198c5a4
  palisade sessions rename 0198c5a4 \"login page\"
  palisade sessions export \"login page\" -o login.json
  palisade sessions export \"login page\" --format markdown -o login.md
  palisade sessions import login.md
  palisade sessions fork \"login page\" --at 12";

/// One session.
#[derive(clap::Args)]
pub(crate) struct One {
    /// The session: its id, the beginning of it, or its name.
    #[arg(value_name = "SESSION", add = complete::sessions())]
    session: String,
    /// Only a session of this agent.
    #[arg(long, value_name = "AGENT", add = complete::agents())]
    agent: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

/// Go on with a session in a chat, in the folder that it is about.
#[derive(clap::Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    one: One,
    /// The model [default: the agent's].
    #[arg(long, value_name = "NAME", add = complete::models())]
    model: Option<String>,
}

pub(crate) fn run(command: &Command, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    match command {
        Command::List(arguments) => list::run(arguments, settings, terminal),
        Command::Show(arguments) => show::run(arguments, settings, terminal),
        Command::Resume(arguments) => resume(arguments, settings, terminal),
        Command::Rename(arguments) => change::rename(arguments, settings, terminal),
        Command::Pin(arguments) => change::pin(arguments, settings, terminal),
        Command::Unpin(arguments) => change::unpin(arguments, settings, terminal),
        Command::Clear(arguments) => change::clear(arguments, settings, terminal),
        Command::Delete(arguments) => change::delete(arguments, settings, terminal),
        Command::Export(arguments) => carry::export(arguments, settings, terminal),
        Command::Import(arguments) => carry::import(arguments, settings, terminal),
        Command::Fork(arguments) => carry::fork(arguments, settings, terminal),
    }
}

impl One {
    /// Opens the database and finds it.
    fn find(&self, settings: &Settings, terminal: &Terminal) -> anyhow::Result<(Desk, Session)> {
        let desk = Desk::open(&self.reach, settings, terminal)?;
        let session = desk.wait(by_word(desk.store.as_ref(), self.agent.as_deref(), &self.session))?;
        Ok((desk, session))
    }
}

fn resume(arguments: &Resume, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (desk, session) = arguments.one.find(settings, terminal)?;
    // The chat opens it anew.
    drop(desk);
    let Some(folder) = session.origin.workspace.clone() else {
        bail!("session `{}` is about no folder; go on with `palisade chat --session` in the one it is for", session.id);
    };
    let config = arguments.one.reach.config.clone();
    let chat = chat::Arguments::going_on_with(&session, PathBuf::from(folder), arguments.model.clone(), config);
    chat::run(&chat, settings, terminal)
}
