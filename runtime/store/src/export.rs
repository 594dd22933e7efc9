//! Sessions as documents, in JSON and in Markdown. Both come back as the same conversation.

mod markdown;
mod reading;

use jiff::Timestamp;
use palisade_agent::{Entry, NewSession, Numbered, Session, SessionKey, SessionOrigin, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    rules::{invalid, is_id},
    whole,
};

/// The version of the document.
const VERSION: u64 = 1;
/// How many entries are read at once.
const PAGE: usize = 500;
/// The most bytes that a session which is copied may have: all of it is held in memory at once.
const LARGEST: usize = 256 * 1024 * 1024;
/// The members that a session in a document may have. One that is not known might be one that narrows.
const KNOWN: [&str; 13] = [
    "sessionId",
    "agentId",
    "name",
    "pinnedAt",
    "createdAt",
    "updatedAt",
    "lastSnippet",
    "attributes",
    "entries",
    "workspace",
    "parent",
    "chain",
    "ceiling",
];

/// A session as a document.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u64,
    session: Value,
    entries: Vec<Line>,
}

/// An entry in a document.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    number: u64,
    at: jiff::Timestamp,
    entry: Entry,
}

/// A session as one JSON document: `{version, session, entries: [{number, at, entry}]}`. [`import`] reads it.
pub async fn json(store: &dyn Store, key: &SessionKey) -> Result<String, StoreError> {
    let (session, entries) = read(store, key, None).await?;
    let session = serde_json::to_value(session).map_err(unwritable)?;
    let line = |numbered: Numbered| Line { number: numbered.number, at: numbered.at, entry: numbered.entry };
    let document = Document { version: VERSION, session, entries: entries.into_iter().map(line).collect() };
    serde_json::to_string_pretty(&document).map_err(unwritable)
}

/// A session as Markdown, to be read by people. [`import`] reads it, too; what only the provider that replied
/// understands is not in it.
pub async fn markdown(store: &dyn Store, key: &SessionKey) -> Result<String, StoreError> {
    let (session, entries) = read(store, key, None).await?;
    markdown::write(&session, &entries)
}

/// A session that was imported.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The session.
    pub session: Session,
    /// What it was called, if another session of the agent is called so, and it has no name now.
    pub name_taken: Option<String>,
}

/// Begins a session with a document: what [`json()`] or [`markdown()`] made, or Markdown that somebody wrote with
/// `## User` and `## Assistant` above what was said, which is held with `agent`. It has the same id, unless that is
/// taken, and what every run of it may do at most is what it was.
pub async fn import(
    store: &dyn Store,
    tenant: &str,
    document: &str,
    agent: Option<&str>,
) -> Result<Imported, StoreError> {
    if document.len() > LARGEST {
        return Err(invalid(format!("the document has {} bytes, and {LARGEST} are the most", document.len())));
    }
    let is_json = document.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with('{');
    let (new, mut entries) = if is_json { of_json(document)? } else { of_markdown(document, agent)? };
    if let Some(agent) = agent.filter(|agent| *agent != new.agent) {
        return Err(invalid(format!("the session is held with `{}`, not with `{agent}`", new.agent)));
    }
    whole::close(&mut entries);
    let id = new.id.clone().filter(|id| is_id(id));
    let new = NewSession { tenant: tenant.to_owned(), id, ..new };
    match copy(store, new.clone(), &entries).await {
        Err(StoreError::NameTaken(name)) => {
            let session = copy(store, NewSession { name: None, ..new }, &entries).await?;
            Ok(Imported { session, name_taken: Some(name) })
        }
        made => Ok(Imported { session: made?, name_taken: None }),
    }
}

fn of_json(document: &str) -> Result<(NewSession, Vec<Numbered>), StoreError> {
    let document: Document = serde_json::from_str(document.trim_start_matches('\u{feff}'))
        .map_err(|error| invalid(format!("this is no session: {error}")))?;
    if document.version != VERSION {
        let version = document.version;
        return Err(invalid(format!("the document has version {version}, and this program knows version {VERSION}")));
    }
    let members: &Map<String, Value> =
        document.session.as_object().ok_or_else(|| invalid("this is no session: `session` is no object"))?;
    if let Some(unknown) = members.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        return Err(invalid(format!("this is no session: `{unknown}` is not known")));
    }
    let session: Session =
        serde_json::from_value(document.session).map_err(|error| invalid(format!("this is no session: {error}")))?;
    let numbered = |line: Line| Numbered { number: line.number, at: line.at, entry: line.entry };
    let entries = document.entries.into_iter().map(numbered).collect();
    Ok((NewSession { id: Some(session.id.clone()), name: session.name.clone(), ..like(&session) }, entries))
}

fn of_markdown(document: &str, agent: Option<&str>) -> Result<(NewSession, Vec<Numbered>), StoreError> {
    let reading::Conversation { head, entries } = reading::read(document, Timestamp::now())?;
    let new = match (head, agent) {
        (Some(head), _) => NewSession {
            id: Some(head.session_id),
            name: head.name,
            attributes: head.attributes,
            origin: SessionOrigin {
                workspace: head.workspace,
                parent: head.parent,
                chain: head.chain,
                ceiling: head.ceiling,
            },
            ..NewSession::with("", head.agent_id)
        },
        (None, Some(agent)) => NewSession::with("", agent),
        (None, None) => {
            return Err(invalid("the document does not say with which agent it is held; say so with --agent"));
        }
    };
    Ok((new, entries))
}

/// Begins a session with the beginning of another one, up to the entry `upto` or all of it.
pub async fn fork(
    store: &dyn Store,
    key: &SessionKey,
    upto: Option<u64>,
    name: Option<String>,
) -> Result<Session, StoreError> {
    let (session, mut entries) = read(store, key, upto).await?;
    if upto.is_some_and(|upto| u64::try_from(entries.len()) != Ok(upto)) {
        return Err(invalid(format!("session `{}` has {} entries", key.id, session.entries)));
    }
    match upto {
        // The words of whoever asks: a cut in the middle of a step would be another conversation.
        Some(upto) => whole::check_whole(&entries)
            .map_err(|error| invalid(format!("a session cannot go on from entry {upto}: {error}")))?,
        None => whole::close(&mut entries),
    }
    copy(store, NewSession { name, ..like(&session) }, &entries).await
}

/// A new session that has what the other one has, but neither its id nor its name.
fn like(session: &Session) -> NewSession {
    NewSession {
        attributes: session.attributes.clone(),
        origin: session.origin.clone(),
        name: None,
        ..NewSession::with(&session.tenant, &session.agent)
    }
}

/// Begins a session with entries; with another id if its own is taken.
async fn copy(store: &dyn Store, new: NewSession, entries: &[Numbered]) -> Result<Session, StoreError> {
    match store.import(new.clone(), entries).await {
        Err(StoreError::IdTaken(_)) => store.import(NewSession { id: None, ..new }, entries).await,
        made => made,
    }
}

/// A session and its entries, up to one of them or all.
async fn read(store: &dyn Store, key: &SessionKey, upto: Option<u64>) -> Result<(Session, Vec<Numbered>), StoreError> {
    let session = store.session(key).await?;
    let upto = upto.unwrap_or(session.entries);
    let (mut entries, mut bytes): (Vec<Numbered>, usize) = (Vec::new(), 0);
    loop {
        let page = store.entries(key, entries.len() as u64, PAGE).await?;
        let is_last = page.len() < PAGE;
        for numbered in page {
            if numbered.number > upto {
                return Ok((session, entries));
            }
            bytes = bytes.saturating_add(size(&numbered.entry));
            if bytes > LARGEST {
                return Err(invalid(format!("session `{}` has more than {LARGEST} bytes; take a part of it", key.id)));
            }
            entries.push(numbered);
        }
        if is_last {
            return Ok((session, entries));
        }
    }
}

fn size(entry: &Entry) -> usize {
    serde_json::to_string(entry).map_or(0, |text| text.len())
}

fn unwritable(error: serde_json::Error) -> StoreError {
    invalid(format!("the session cannot be written: {error}"))
}
