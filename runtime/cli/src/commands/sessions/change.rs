//! `palisade sessions rename|pin|unpin|clear|delete`.

use std::io::{self, BufRead as _, IsTerminal as _};

use anyhow::bail;
use palisade_agent::{Change, LOCAL_TENANT, Session, SessionKey};
use serde_json::json;

use super::One;
use crate::{
    Exit, WrongUsage,
    commands::completions as complete,
    database::{Desk, Reach},
    render::{Line, Style, Terminal},
    sessions::{by_word, is_route, readable, short},
    settings::Settings,
};

/// Give a session a name; no two sessions of one agent have the same.
#[derive(clap::Args)]
pub(crate) struct Rename {
    #[command(flatten)]
    one: One,
    /// The name; without, it loses the one it has.
    name: Option<String>,
    /// Print the session as JSON.
    #[arg(long)]
    json: bool,
}

/// Let a session stand first in lists. Nothing else: --continue takes the latest.
#[derive(clap::Args)]
pub(crate) struct Pin {
    #[command(flatten)]
    one: One,
    /// Print the session as JSON.
    #[arg(long)]
    json: bool,
}

/// Let a session stand where its last update puts it.
#[derive(clap::Args)]
pub(crate) struct Unpin {
    #[command(flatten)]
    one: One,
    /// Print the session as JSON.
    #[arg(long)]
    json: bool,
}

/// Take away all that was said in a session, and keep the session with its name.
#[derive(clap::Args)]
pub(crate) struct Clear {
    #[command(flatten)]
    one: One,
    /// Print the session as JSON.
    #[arg(long)]
    json: bool,
}

/// Take away sessions with all that belongs to them.
#[derive(clap::Args)]
pub(crate) struct Delete {
    /// The sessions: their ids, the beginnings of them, or their names.
    #[arg(value_name = "SESSION", required = true, add = complete::sessions())]
    sessions: Vec<String>,
    /// Only sessions of this agent.
    #[arg(long, value_name = "AGENT", add = complete::agents())]
    agent: Option<String>,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    reach: Reach,
    /// Print the ids as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn rename(arguments: &Rename, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let name = arguments.name.clone();
    if let Some(name) = name.as_deref().filter(|name| is_route(name)) {
        bail!("`{name}` says which session is meant and is no name of one");
    }
    let said = name.as_ref().map_or_else(|| "has no name now".to_owned(), |name| format!("is called {name} now"));
    change(&arguments.one, Change::Name(name), &said, arguments.json, settings, terminal)
}

pub(super) fn pin(arguments: &Pin, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    change(&arguments.one, Change::Pinned(true), "is pinned", arguments.json, settings, terminal)
}

pub(super) fn unpin(arguments: &Unpin, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    change(&arguments.one, Change::Pinned(false), "is not pinned any more", arguments.json, settings, terminal)
}

fn change(
    one: &One,
    change: Change,
    said: &str,
    json: bool,
    settings: &Settings,
    terminal: &Terminal,
) -> anyhow::Result<Exit> {
    let (desk, session) = one.find(settings, terminal)?;
    let session = desk.wait(desk.store.change(&key(&session), change))?;
    tell(&session, said, json, terminal)
}

pub(super) fn clear(arguments: &Clear, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (desk, session) = arguments.one.find(settings, terminal)?;
    let session = desk.wait(desk.store.clear(&key(&session))).map_err(|error| readable(error.into()))?;
    tell(&session, "is empty now", arguments.json, terminal)
}

pub(super) fn delete(arguments: &Delete, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let desk = Desk::open(&arguments.reach, settings, terminal)?;
    let mut sessions: Vec<Session> = Vec::new();
    // All are found before the first is gone.
    for word in &arguments.sessions {
        let session = desk.wait(by_word(desk.store.as_ref(), arguments.agent.as_deref(), word))?;
        if !sessions.iter().any(|other| other.id == session.id) {
            sessions.push(session);
        }
    }
    if !arguments.yes && !is_meant(&sessions, terminal)? {
        terminal.note(&Line::new().add(Style::Dim, "nothing was deleted"));
        return Ok(Exit::Failed);
    }
    for session in &sessions {
        desk.wait(desk.store.delete(&key(session))).map_err(|error| readable(error.into()))?;
        if !arguments.json {
            terminal.note(&Line::new().add(Style::Plain, &format!("session {} is gone", short(&session.id))));
        }
    }
    if arguments.json {
        let ids: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
        terminal.json(&json!({ "deleted": ids }))?;
    }
    Ok(Exit::Done)
}

/// Asks the person at the terminal.
fn is_meant(sessions: &[Session], terminal: &Terminal) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(
            WrongUsage("what is deleted does not come back: add --yes where nobody can be asked".to_owned()).into()
        );
    }
    for session in sessions {
        let what = session.name.as_deref().or(session.last_snippet.as_deref()).unwrap_or("nothing was said in it");
        let line = Line::new().column(Style::Code, short(&session.id), 10).column(Style::Bold, &session.agent, 10);
        terminal.note(&line.add(Style::Plain, what));
    }
    terminal.note(&Line::new().add(Style::Caution, "delete for good? y for yes, anything else for no:"));
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(["y", "yes"].contains(&line.trim().to_ascii_lowercase().as_str()))
}

fn tell(session: &Session, said: &str, json: bool, terminal: &Terminal) -> anyhow::Result<Exit> {
    match json {
        true => terminal.json(session)?,
        false => terminal.note(&Line::new().add(Style::Plain, &format!("session {} {said}", short(&session.id)))),
    }
    Ok(Exit::Done)
}

fn key(session: &Session) -> SessionKey {
    SessionKey::new(LOCAL_TENANT, session.id.clone())
}
