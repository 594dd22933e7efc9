//! What is fit to be stored and what becomes of it, the same in every database.

use std::{collections::BTreeMap, time::Duration};

use jiff::{Timestamp, tz::TimeZone};
use palisade_agent::{
    AuditRecord, Batch, Change, Entry, Listing, NewRun, NewSession, Queued, Session, SessionKey, Spending, StoreError,
    ToolCall, Usage,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::owner;

/// The longest tenant and the longest word (an agent, an owner, the id of a message) in bytes. Together with
/// the longest name they fit what Postgres takes into an index.
const TENANT: usize = 128;
const WORD: usize = 512;
/// The longest path of a folder in bytes.
const PATH: usize = 2048;
/// The longest id in bytes.
const ID: usize = 128;
/// The largest piece of JSON (an entry, a result, attributes) in bytes: what the loop writes is far below.
const DOCUMENT: usize = 64 * 1024 * 1024;
/// The largest attributes of a session in bytes: they are read with every list.
const ATTRIBUTES: usize = 256 * 1024;
/// How deep JSON may be nested. What is deeper could be written, and nobody could read it any more.
const NESTING: usize = 120;
/// The largest number of tokens and the like that is kept of one run, so that sums do not overflow.
const COUNT: u64 = 1_000_000_000_000_000;
/// How much of what was said a list shows.
const SNIPPET: usize = 120;

/// What a new session is, if it is fit to be one.
pub(crate) fn new_session(new: NewSession, id: String, at: Timestamp) -> Result<Session, StoreError> {
    limited("a tenant", &new.tenant, TENANT)?;
    word("an agent", &new.agent)?;
    if !is_id(&id) {
        return Err(invalid(format!(
            "`{}` is no id of a session; use letters, digits, `-` and `_`, at most {ID}",
            palisade_agent::clip(&id, 64)
        )));
    }
    for text in new.origin.chain.iter().chain(&new.origin.parent) {
        word("where a session comes from", text)?;
    }
    new.origin.workspace.iter().try_for_each(|folder| limited("a folder", folder, PATH))?;
    let mut session = Session {
        tenant: new.tenant,
        id,
        agent: new.agent,
        name: None,
        pinned_at: None,
        created_at: at,
        updated_at: at,
        last_snippet: None,
        attributes: BTreeMap::new(),
        entries: 0,
        origin: new.origin,
    };
    apply(&mut session, Change::Name(new.name), at)?;
    apply(&mut session, Change::Attributes(Value::Object(new.attributes.into_iter().collect())), at)?;
    Ok(session)
}

/// Changes a session.
pub(crate) fn apply(session: &mut Session, change: Change, at: Timestamp) -> Result<(), StoreError> {
    match change {
        Change::Name(name) => session.name = name.map(|name| fit_name(&name)).transpose()?,
        Change::Pinned(true) => session.pinned_at = session.pinned_at.or(Some(at)),
        Change::Pinned(false) => session.pinned_at = None,
        Change::Attributes(Value::Object(changes)) => {
            let mut attributes: Map<String, Value> = session.attributes.clone().into_iter().collect();
            merge(&mut attributes, changes, 0)?;
            if json("the attributes of a session", &attributes)?.len() > ATTRIBUTES {
                return Err(invalid(format!("the attributes of a session may have {ATTRIBUTES} bytes together")));
            }
            session.attributes = attributes.into_iter().collect();
        }
        Change::Attributes(_) => return Err(invalid("attributes are an object with a member for each")),
    }
    session.updated_at = at;
    Ok(())
}

/// What two names have in common if they differ only in case.
pub(crate) fn name_key(name: &str) -> String {
    name.to_lowercase()
}

fn fit_name(name: &str) -> Result<String, StoreError> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > 200 || name.chars().any(char::is_control) {
        return Err(invalid("a session's name is one line of at most 200 characters, and not empty"));
    }
    Ok(name.to_owned())
}

/// Merges deeply; a null takes away.
fn merge(into: &mut Map<String, Value>, changes: Map<String, Value>, depth: usize) -> Result<(), StoreError> {
    if depth > NESTING {
        return Err(invalid("attributes are nested too deeply"));
    }
    for (name, value) in changes {
        match value {
            Value::Null => drop(into.remove(&name)),
            Value::Object(inner) => {
                let slot = into.entry(name).or_insert(Value::Null);
                if !slot.is_object() {
                    *slot = Value::Object(Map::new());
                }
                if let Value::Object(slot) = slot {
                    merge(slot, inner, depth + 1)?;
                }
            }
            other => drop(into.insert(name, other)),
        }
    }
    Ok(())
}

/// The beginning of the last thing that was said, if anything was.
pub(crate) fn snippet<'a>(entries: impl DoubleEndedIterator<Item = &'a Entry>) -> Option<String> {
    let said = |entry: &'a Entry| match entry {
        Entry::User { text } | Entry::Reply { text, .. } => Some(text.as_str()).filter(|text| !text.trim().is_empty()),
        Entry::Result { .. } | Entry::Notice { .. } | Entry::Summary { .. } => None,
    };
    let text = entries.rev().find_map(said)?;
    let is_apart = |character: char| character.is_whitespace() || character.is_control();
    // Of a long text only the beginning is looked at.
    let beginning: String = text.trim_start_matches(is_apart).chars().take(4 * SNIPPET).collect();
    let words: Vec<&str> = beginning.split(is_apart).filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    let mut characters = line.chars();
    let mut snippet: String = characters.by_ref().take(SNIPPET).collect();
    if characters.next().is_some() {
        snippet.push('…');
    }
    Some(snippet)
}

/// Whether somebody may have chosen this as an id.
pub(crate) fn is_id(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= ID
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Refuses what cannot be a word in a database.
pub(crate) fn word(what: &str, text: &str) -> Result<(), StoreError> {
    limited(what, text, WORD)
}

fn limited(what: &str, text: &str, limit: usize) -> Result<(), StoreError> {
    if text.is_empty() || text.len() > limit || text.contains('\0') {
        return Err(invalid(format!("{what} has 1 to {limit} bytes, none of them zero")));
    }
    Ok(())
}

/// A text that a model chose, so that any database can hold it: as JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The id of a call, so that any database can hold it.
pub(crate) fn call_id(call: &ToolCall) -> Result<String, StoreError> {
    let id = quoted(&call.id);
    if id.len() > 4 * WORD {
        return Err(invalid(format!("the id of a call has {} bytes, which is too long", call.id.len())));
    }
    Ok(id)
}

/// Refuses a key that nothing can be stored under, before a database is asked that would choke on it.
pub(crate) fn findable(key: &SessionKey) -> Result<(), StoreError> {
    if key.tenant.contains('\0') || !is_id(&key.id) {
        return Err(no_session(key));
    }
    Ok(())
}

/// Whether anything can be stored that a listing asks for.
pub(crate) fn is_findable(listing: &Listing) -> bool {
    let Listing { tenant, agent, workspace, parent, name, begins, .. } = listing;
    let mut texts = [agent, workspace, parent, name, begins].into_iter().flatten().chain([tenant]);
    !texts.any(|text| text.contains('\0'))
}

/// Refuses a run that nothing can be stored under.
pub(crate) fn findable_run(tenant: &str, run: &str) -> Result<(), StoreError> {
    if tenant.contains('\0') || run.contains('\0') { Err(no_run(run)) } else { Ok(()) }
}

/// Refuses a run that cannot be written down.
pub(crate) fn new_run(run: &NewRun) -> Result<(), StoreError> {
    findable(&run.session)?;
    word("an agent", &run.agent)?;
    word("an owner", &run.owner)?;
    word("a model", &run.model)?;
    if run.queued.is_some() && run.entries.is_empty() {
        return Err(invalid("a run that answers a message begins with that message"));
    }
    for parent in run.parent.iter().chain(&run.queued) {
        word("the id of a run or of a message", parent)?;
    }
    run.entries.iter().try_for_each(|entry| json("an entry", entry).map(drop))
}

/// Refuses a batch that could be written down and not read again.
pub(crate) fn batch(batch: &Batch) -> Result<(), StoreError> {
    batch.entries.iter().try_for_each(|entry| json("an entry", entry).map(drop))?;
    for intent in &batch.intents {
        call_id(&intent.call)?;
        json("a call", &intent.call)?;
    }
    batch.results.iter().try_for_each(|(_, result)| json("a result", result).map(drop))
}

/// Refuses a message that cannot be written down.
pub(crate) fn queued(message: &Queued) -> Result<(), StoreError> {
    findable(&message.session)?;
    word("the id of a message", &message.id)?;
    json("a message", &(&message.text, &message.about)).map(drop)
}

/// Refuses a message whose id one for another session has: it would be lost. The same message again is not lost.
pub(crate) fn refuse_other(session: &str, message: &Queued) -> Result<(), StoreError> {
    if session == message.session.id {
        return Ok(());
    }
    Err(invalid(format!("message `{}` is for another session; give this one an id of its own", message.id)))
}

/// Refuses an audit record that cannot be written down.
pub(crate) fn audit(record: &AuditRecord) -> Result<(), StoreError> {
    limited("a tenant", &record.tenant, TENANT)?;
    word("what happened", &record.kind)?;
    for id in record.session.iter().chain(&record.run) {
        word("the id of a session or of a run", id)?;
    }
    json("an audit record", &record.detail).map(drop)
}

/// Something as JSON, if it can be read again.
pub(crate) fn json(what: &str, value: &impl Serialize) -> Result<String, StoreError> {
    let text = serde_json::to_string(value).map_err(|error| invalid(format!("{what} cannot be written: {error}")))?;
    if text.len() > DOCUMENT {
        return Err(invalid(format!("{what} has {} bytes, and {DOCUMENT} are the most that is kept", text.len())));
    }
    if nesting(&text) > NESTING {
        return Err(invalid(format!("{what} is nested deeper than {NESTING}")));
    }
    Ok(text)
}

fn nesting(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Spending as it is kept.
pub(crate) fn bounded(spending: Spending) -> Spending {
    let usage = spending.usage;
    Spending {
        steps: spending.steps,
        calls: spending.calls.min(COUNT),
        usage: Usage {
            input_tokens: usage.input_tokens.min(COUNT),
            output_tokens: usage.output_tokens.min(COUNT),
            cached_tokens: usage.cached_tokens.min(COUNT),
            cache_written_tokens: usage.cache_written_tokens.min(COUNT),
            cost_micros: usage.cost_micros.min(COUNT),
        },
        time: Duration::from_micros(u64::try_from(spending.time.as_micros()).unwrap_or(COUNT).min(COUNT)),
    }
}

/// The day of a moment, in UTC.
pub(crate) fn day(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).date().to_string()
}

/// Who holds a session.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    pub(crate) run: String,
    pub(crate) owner: String,
    /// Microseconds since 1970, by the clock of the database.
    pub(crate) renewed_at: i64,
    /// Microseconds.
    pub(crate) lasts: i64,
}

impl Hold {
    /// Whether nobody else may take the session. A clock that was set back by more than the lease lasts says
    /// nothing any more; that the holder, if there is one, is fenced is better than that all wait for a day.
    pub(crate) fn is_live(&self, now: i64) -> bool {
        now.abs_diff(self.renewed_at) < self.lasts.unsigned_abs() && !owner::is_gone(&self.owner)
    }

    /// Refuses if nobody else may take the session.
    pub(crate) fn refuse_if_live(&self, session: &str, now: i64) -> Result<(), StoreError> {
        if self.is_live(now) {
            return Err(StoreError::Busy { session: session.to_owned(), owner: self.owner.clone() });
        }
        Ok(())
    }
}

/// Refuses a run that was made up from less, or more, than was said.
pub(crate) fn refuse_if_outdated(run: &NewRun, entries: u64) -> Result<(), StoreError> {
    match run.after {
        Some(after) if after != entries => Err(StoreError::Outdated(run.session.id.clone())),
        _ => Ok(()),
    }
}

/// How long a lease lasts, in microseconds; at most a day.
pub(crate) fn lasts(duration: Duration) -> i64 {
    const DAY: i64 = 24 * 60 * 60 * 1_000_000;
    i64::try_from(duration.as_micros()).unwrap_or(DAY).min(DAY)
}

pub(crate) fn no_session(key: &SessionKey) -> StoreError {
    StoreError::NoSession(palisade_agent::clip(&key.id, ID))
}

pub(crate) fn no_run(run: &str) -> StoreError {
    StoreError::NoRun(palisade_agent::clip(run, ID))
}

pub(crate) fn run_is_over(run: &str) -> StoreError {
    invalid(format!("run `{run}` is over; there is nothing to take over"))
}

pub(crate) fn no_intent(call: &str) -> StoreError {
    invalid(format!("call `{call}` was not meant to be made by this run, or has a result already"))
}

pub(crate) fn meant_twice(call: &str) -> StoreError {
    invalid(format!("call `{call}` of this run was meant to be made before"))
}

pub(crate) fn invalid(text: impl Into<String>) -> StoreError {
    StoreError::Invalid(text.into())
}
