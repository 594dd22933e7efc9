//! `palisade sessions export|import|fork`: a session as a file, and as the beginning of another.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use palisade_agent::{LOCAL_TENANT, Session, SessionKey};
use palisade_store::export::Imported;

use super::One;
use crate::{
    Exit,
    commands::completions as complete,
    database::{Desk, Reach},
    render::Terminal,
    sessions::short,
    settings::Settings,
};

/// Write a session into a file, or print it.
#[derive(clap::Args)]
pub(crate) struct Export {
    #[command(flatten)]
    one: One,
    /// Both can be imported again. Markdown is pleasant to read; JSON holds all, also what only a provider understands.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Json)]
    format: Format,
    /// A new file, which only you may read [default: standard output].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Format {
    Json,
    Markdown,
}

/// Make a session from a file that was exported, or from a conversation in Markdown.
///
/// A conversation that was written by hand has `## User` and `## Assistant` above what was said, and needs --agent.
#[derive(clap::Args)]
pub(crate) struct Import {
    /// The file, JSON or Markdown; `-` is standard input.
    file: PathBuf,
    /// The agent it is held with, where the file does not say.
    #[arg(long, value_name = "AGENT", add = complete::agents())]
    agent: Option<String>,
    #[command(flatten)]
    reach: Reach,
    /// Print the session as JSON.
    #[arg(long)]
    json: bool,
}

/// Begin another session with what was said in one, or with the first part of it.
#[derive(clap::Args)]
pub(crate) struct Fork {
    #[command(flatten)]
    one: One,
    /// Only the first entries; `palisade sessions show --json` numbers them.
    #[arg(long, value_name = "N")]
    at: Option<u64>,
    /// What the new one is called.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Print the session as JSON.
    #[arg(long)]
    json: bool,
}

/// No file that was exported is larger.
const LONGEST: u64 = 256 << 20;

pub(super) fn export(arguments: &Export, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (desk, session) = arguments.one.find(settings, terminal)?;
    let (store, key) = (desk.store.as_ref(), SessionKey::new(LOCAL_TENANT, session.id.clone()));
    let text = match arguments.format {
        Format::Json => desk.wait(palisade_store::export::json(store, &key))?,
        Format::Markdown => desk.wait(palisade_store::export::markdown(store, &key))?,
    };
    match &arguments.output {
        Some(file) => write(file, &text).with_context(|| format!("{} cannot be written", file.display()))?,
        None => terminal.text(&text)?,
    }
    Ok(Exit::Done)
}

pub(super) fn import(arguments: &Import, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let text = read(&arguments.file).with_context(|| format!("{} cannot be read", arguments.file.display()))?;
    let desk = Desk::open(&arguments.reach, settings, terminal)?;
    let import = palisade_store::export::import(desk.store.as_ref(), LOCAL_TENANT, &text, arguments.agent.as_deref());
    let Imported { session, name_taken } = desk.wait(import)?;
    if let Some(name) = name_taken {
        terminal.warning(&format!("it has no name, because another session is called `{name}`"));
    }
    tell(&session, arguments.json, terminal)
}

pub(super) fn fork(arguments: &Fork, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (desk, session) = arguments.one.find(settings, terminal)?;
    let key = SessionKey::new(LOCAL_TENANT, session.id);
    let name = arguments.name.clone();
    let session = desk.wait(palisade_store::export::fork(desk.store.as_ref(), &key, arguments.at, name))?;
    tell(&session, arguments.json, terminal)
}

/// Prints the id, which is what whoever goes on needs.
fn tell(session: &Session, json: bool, terminal: &Terminal) -> anyhow::Result<Exit> {
    match json {
        true => terminal.json(session)?,
        false => terminal.text(short(&session.id))?,
    }
    Ok(Exit::Done)
}

#[expect(clippy::disallowed_methods, reason = "the user names the file")]
fn write(file: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    file.write_all(text.as_bytes())?;
    if text.ends_with('\n') { Ok(()) } else { file.write_all(b"\n") }
}

#[expect(clippy::disallowed_methods, reason = "the user names the file")]
fn read(file: &Path) -> io::Result<String> {
    let mut source: Box<dyn io::Read> = match file.to_str() {
        Some("-") => Box::new(io::stdin().lock()),
        _ => Box::new(fs::File::open(file)?),
    };
    let mut text = String::new();
    let read = source.as_mut().take(LONGEST + 1).read_to_string(&mut text)?;
    if read as u64 > LONGEST {
        return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(text)
}
