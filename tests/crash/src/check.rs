//! What must be true after every death.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use palisade_agent::{CallState, Entry, LOCAL_TENANT, SessionKey, Store as _, StoreError, ToolOutcome};

use crate::{
    plan::LEDGER,
    worker::{PAGE, SESSION, fingerprint},
};

/// What the workers of one conversation have acknowledged so far.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    /// The session is there.
    pub(crate) session: bool,
    /// The entries, in order.
    pub(crate) entries: Vec<String>,
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
    let store = palisade_store::Sqlite::open(&database).await?;
    let key = SessionKey::new(LOCAL_TENANT, SESSION);
    match store.session(&key).await {
        Ok(_) => acknowledged.session = true,
        Err(StoreError::NoSession(_)) if !acknowledged.session => return Ok(faults),
        Err(error) => {
            faults.lost.push(format!("the session: {error}"));
            return Ok(faults);
        }
    }

    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let page = store.entries(&key, entries.len() as u64, PAGE).await?;
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
    for (at, print) in acknowledged.entries.iter().enumerate() {
        if prints.get(at) != Some(print) {
            faults.lost.push(format!("entry {} was acknowledged as {print} and is {:?}", at + 1, prints.get(at)));
        }
    }
    acknowledged.entries = prints;
    history(&entries, &mut faults);

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
    Ok(faults)
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
    let untrue = results(entries).into_iter().filter(|(id, worked)| *worked && !is_left(id));
    faults.untrue.extend(untrue.map(|(id, _)| format!("{id} is said to be done, and is not")));
}
