//! What must be true after every death.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use palisade_agent::{
    CallState, Entry, LOCAL_TENANT, Listing, RunState, SessionKey, Store as _, StoreError, ToolOutcome,
};
use palisade_store::Sqlite;

use crate::{
    crew::ASKED,
    plan::{ANSWER, LEDGER},
    worker::{PAGE, SESSION, fingerprint},
};

/// What the workers of one conversation have acknowledged so far.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    /// The session is there.
    pub(crate) session: bool,
    /// It came to its end.
    pub(crate) over: bool,
    /// The entries, in order.
    pub(crate) entries: Vec<String>,
    /// Those of the agents that were asked, by their sessions, as far as they were seen.
    asked: BTreeMap<String, Vec<String>>,
    /// Calls whose results are known.
    pub(crate) results: BTreeSet<String>,
    /// Sessions that were deleted.
    pub(crate) gone: BTreeSet<String>,
}

impl Acknowledged {
    /// Takes one line of a worker.
    pub(crate) fn hear(&mut self, line: &str) {
        match line.split_once(' ') {
            Some(("entry", print)) => self.entries.push(print.to_owned()),
            Some(("gone", id)) => drop(self.gone.insert(id.to_owned())),
            Some(("result", id)) => drop(self.results.insert(id.to_owned())),
            _ if line == "session" => self.session = true,
            _ if line == "over" => self.over = true,
            _ => {}
        }
    }
}

/// What was found wrong, each in words.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Acknowledged and not there, or not as it was.
    pub(crate) lost: Vec<String>,
    /// Numbers that are missing or there twice, and calls that have not exactly one result.
    pub(crate) invalid: Vec<String>,
    /// Effects that happened twice.
    pub(crate) repeated: Vec<String>,
    /// Effects that the history tells of and that are not there.
    pub(crate) untrue: Vec<String>,
}

impl Faults {
    pub(crate) fn add(&mut self, other: Self) {
        self.lost.extend(other.lost);
        self.invalid.extend(other.invalid);
        self.repeated.extend(other.repeated);
        self.untrue.extend(other.untrue);
    }

    pub(crate) fn is_empty(&self) -> bool {
        [&self.lost, &self.invalid, &self.repeated, &self.untrue].iter().all(|faults| faults.is_empty())
    }
}

/// Reads what a death left behind. What is found beyond what was acknowledged counts as acknowledged from now
/// on: a later death must not take it away again.
pub(crate) async fn check(folder: &Path, acknowledged: &mut Acknowledged) -> anyhow::Result<Faults> {
    let mut faults = Faults::default();
    let database = folder.join("palisade.db");
    if !database.exists() {
        if acknowledged.session {
            faults.lost.push("the database is gone".to_owned());
        }
        return Ok(faults);
    }
    let store = Sqlite::open(&database).await?;
    let key = SessionKey::new(LOCAL_TENANT, SESSION);
    match store.session(&key).await {
        Ok(_) => acknowledged.session = true,
        Err(StoreError::NoSession(_)) if !acknowledged.session => return Ok(faults),
        Err(error) => {
            faults.lost.push(format!("the session: {error}"));
            return Ok(faults);
        }
    }

    let entries = said(&store, &key, &mut acknowledged.entries, &mut faults).await?;
    if let Some(run) = store.last_run(&key).await? {
        let finished: BTreeSet<String> = store
            .calls(&key.tenant, &run.id)
            .await?
            .into_iter()
            .filter(|record| matches!(record.state, CallState::Finished(_)))
            .map(|record| record.intent.call.id)
            .collect();
        let known: BTreeSet<String> = finished.into_iter().chain(results(&entries).into_keys()).collect();
        for id in acknowledged.results.difference(&known) {
            faults.lost.push(format!("the result of {id} was acknowledged"));
        }
    }
    for id in &acknowledged.gone {
        if store.session(&SessionKey::new(LOCAL_TENANT, id)).await.is_ok() {
            faults.lost.push(format!("session {id} was deleted and is there"));
        }
    }
    effects(folder, &entries, &mut faults);
    let asked = asked(&store, folder, acknowledged, &mut faults).await?;
    answers(&entries, &asked, &mut faults);
    if acknowledged.over && store.next_queued(&key).await?.is_some() {
        faults.lost.push("an answer that has come was never read".to_owned());
    }
    Ok(faults)
}

/// What was said in a session: nothing of what was there before is missing or another one.
async fn said(
    store: &Sqlite,
    key: &SessionKey,
    known: &mut Vec<String>,
    faults: &mut Faults,
) -> Result<Vec<Entry>, StoreError> {
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let page = store.entries(key, entries.len() as u64, PAGE).await?;
        if page.is_empty() {
            break;
        }
        for numbered in page {
            if numbered.number != entries.len() as u64 + 1 {
                faults.invalid.push(format!("entry {} follows entry {}", numbered.number, entries.len()));
            }
            entries.push(numbered.entry);
        }
    }
    let prints: Vec<String> = entries.iter().map(fingerprint).collect();
    for (at, print) in known.iter().enumerate() {
        if prints.get(at) != Some(print) {
            let is = prints.get(at);
            faults.lost.push(format!("entry {} of {} was acknowledged as {print} and is {is:?}", at + 1, key.id));
        }
    }
    *known = prints;
    history(&entries, faults);
    Ok(entries)
}

/// The sessions of agents that were asked, with what was said in them. Each has one session, each message came to it
/// once, and every run that was begun for one has ended when all is over.
async fn asked(
    store: &Sqlite,
    folder: &Path,
    acknowledged: &mut Acknowledged,
    faults: &mut Faults,
) -> Result<BTreeMap<String, Vec<Entry>>, StoreError> {
    let mut asked = BTreeMap::new();
    for agent in ASKED {
        let (tenant, agent) = (LOCAL_TENANT.to_owned(), Some(agent.to_owned()));
        let listing = Listing { tenant, agent, limit: PAGE, ..Listing::default() };
        let sessions = store.sessions(&listing).await?;
        if sessions.len() > 1 {
            faults.repeated.push(format!("{:?} has {} sessions", listing.agent, sessions.len()));
        }
        for session in sessions {
            let key = SessionKey::new(LOCAL_TENANT, &session.id);
            let known = acknowledged.asked.entry(session.id.clone()).or_default();
            let entries = said(store, &key, known, faults).await?;
            effects(folder, &entries, faults);
            let mut messages = BTreeSet::new();
            for entry in &entries {
                if let Entry::User { text } = entry
                    && !messages.insert(text)
                {
                    faults.repeated.push(format!("`{text}` was sent twice"));
                }
            }
            for spawn in store.audits(LOCAL_TENANT, Some(&session.id), PAGE).await? {
                let Some(run) = spawn.run.filter(|_| spawn.kind == "spawn") else { continue };
                let is_open = matches!(store.run(LOCAL_TENANT, &run).await?.state, RunState::Open { .. });
                if is_open && acknowledged.over {
                    faults.invalid.push(format!("the run {run} of {} was started and never ended", session.agent));
                }
            }
            asked.insert(session.id, entries);
        }
    }
    for id in acknowledged.asked.keys().filter(|id| !asked.contains_key(*id)) {
        faults.lost.push(format!("the session {id} of an agent that was asked"));
    }
    Ok(asked)
}

/// What an agent was told that another had answered, that one has answered; and it was told once.
fn answers(entries: &[Entry], asked: &BTreeMap<String, Vec<Entry>>, faults: &mut Faults) {
    let mut told = BTreeSet::new();
    for entry in entries {
        match entry {
            Entry::User { text } => {
                let response = text.strip_prefix(ANSWER).and_then(|text| text.split(']').next());
                if let Some(response) = response.filter(|response| !told.insert(response.to_string())) {
                    faults.repeated.push(format!("the answer {response} was told twice"));
                }
            }
            Entry::Result { id, result } => {
                let said: serde_json::Value = serde_json::from_str(result.text()).unwrap_or_default();
                let (Some(session), Some(response)) = (said["sessionId"].as_str(), said["response"].as_str()) else {
                    continue;
                };
                let is_it = |entry: &Entry| matches!(entry, Entry::Reply { text, .. } if text == response);
                if !asked.get(session).is_some_and(|entries| entries.iter().any(is_it)) {
                    faults.untrue.push(format!("{id} says that `{response}` was answered, and it was not"));
                }
            }
            _ => {}
        }
    }
}

/// Each result with whether the call worked.
fn results(entries: &[Entry]) -> BTreeMap<String, bool> {
    let result = |entry: &Entry| match entry {
        Entry::Result { id, result } => Some((id.clone(), matches!(result.outcome, ToolOutcome::Done(_)))),
        _ => None,
    };
    entries.iter().filter_map(result).collect()
}

/// Every call has exactly one result, except those of the last reply; every result has a call.
fn history(entries: &[Entry], faults: &mut Faults) {
    let mut open: BTreeSet<String> = BTreeSet::new();
    for entry in entries {
        match entry {
            Entry::Result { id, .. } if open.remove(id) => {}
            Entry::Result { id, .. } => faults.invalid.push(format!("a result of {id} too many")),
            _ if !open.is_empty() => {
                faults.invalid.push(format!("no result of {open:?}"));
                open.clear();
            }
            _ => {}
        }
        if let Entry::Reply { calls, .. } = entry {
            open.extend(calls.iter().map(|call| call.id.clone()));
        }
    }
}

/// No mark is there twice, and every mark that the history tells of is there.
fn effects(folder: &Path, entries: &[Entry], faults: &mut Faults) {
    let ledger = fs::read_to_string(folder.join(LEDGER)).unwrap_or_default();
    let mut marks = BTreeSet::new();
    for mark in ledger.lines() {
        if !marks.insert(mark.to_owned()) {
            faults.repeated.push(format!("the mark {mark} is there twice"));
        }
    }
    let is_left = |id: &str| marks.contains(id) || folder.join(format!("put-{id}")).exists();
    let asks: BTreeSet<&str> = entries.iter().flat_map(asking).collect();
    let untrue = results(entries).into_iter().filter(|(id, done)| *done && !asks.contains(id.as_str()) && !is_left(id));
    faults.untrue.extend(untrue.map(|(id, _)| format!("{id} is said to be done, and is not")));
}

/// The calls of a reply that leave no mark: they ask others.
fn asking(entry: &Entry) -> Vec<&str> {
    let Entry::Reply { calls, .. } = entry else { return Vec::new() };
    calls.iter().filter(|call| call.tool == "agents_message").map(|call| call.id.as_str()).collect()
}
