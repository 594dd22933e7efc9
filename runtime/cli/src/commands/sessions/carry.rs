//! `palisade sessions export|import|fork`: a session as a file, and as the beginning of another.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use palisade_agent::{Change, LOCAL_TENANT, Session, SessionKey, StoreError};
use serde_json::Value;

use super::One;
use crate::{
    Exit,
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
    /// JSON can be imported again; Markdown is for reading.
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

/// Make a session from a file that was exported.
#[derive(clap::Args)]
pub(crate) struct Import {
    /// The file; `-` is standard input.
    file: PathBuf,
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
    let mut session = desk.wait(palisade_store::export::import(desk.store.as_ref(), LOCAL_TENANT, &text))?;
    if let Some(name) = name_in(&text) {
        let key = SessionKey::new(LOCAL_TENANT, session.id.clone());
        match desk.wait(desk.store.change(&key, Change::Name(Some(name.clone())))) {
            Ok(named) => session = named,
            Err(StoreError::NameTaken(_)) => {
                terminal.warning(&format!("it has no name, because another session is called `{name}`"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    tell(&session, arguments.json, terminal)
}

/// What the session in a document was called.
fn name_in(document: &str) -> Option<String> {
    let document: Value = serde_json::from_str(document).ok()?;
    Some(document.get("session")?.get("name")?.as_str()?.to_owned())
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
