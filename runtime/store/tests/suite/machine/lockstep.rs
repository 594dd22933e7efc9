//! Two stores that take the same steps.

use std::{collections::BTreeMap, fs, path::PathBuf, sync::Mutex, time::Duration};

use async_trait::async_trait;
use jiff::Timestamp;
use palisade_agent::{
    AuditRecord, Batch, Ending, Lease, Listing, NewRun, NewSession, Numbered, RunEnd, RunRecord, RunState, Session,
    SessionKey, SessionOrigin, Span, Store, StoreError, ToolResult, UsageQuery,
};
use palisade_store::{Clock, Memory, Postgres, Sqlite};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::step::Step;
use crate::{
    cluster,
    said::{LASTS, intent, message, reply, run, session, spending, user},
};

/// A kind of database.
#[async_trait]
pub(super) trait Kind: Sized + Send {
    type Store: Store;

    /// A place for a database; nothing if there is none here.
    async fn place() -> Option<Self>;
    async fn open(&self, clock: Clock) -> Self::Store;
    async fn close(store: Self::Store);
    /// Moves to what a process would find if this one were gone.
    fn crash(&mut self);
}

/// A file of SQLite. The folders of earlier lives stay: their files are still open.
pub(super) struct InFile(Vec<TempDir>);

impl InFile {
    fn path(&self) -> PathBuf {
        self.0.last().unwrap().path().join("store.db")
    }
}

#[async_trait]
impl Kind for InFile {
    type Store = Sqlite;

    async fn place() -> Option<Self> {
        Some(Self(vec![tempfile::tempdir().unwrap()]))
    }

    async fn open(&self, clock: Clock) -> Sqlite {
        Sqlite::open_by(self.path(), clock).await.unwrap()
    }

    async fn close(store: Sqlite) {
        store.close().await.unwrap();
    }

    fn crash(&mut self) {
        let next = tempfile::tempdir().unwrap();
        for file in fs::read_dir(self.0.last().unwrap()).unwrap() {
            let file = file.unwrap();
            // The shared memory is gone with the processes that shared it.
            if !file.file_name().to_str().unwrap().ends_with("-shm") {
                fs::copy(file.path(), next.path().join(file.file_name())).unwrap();
            }
        }
        self.0.push(next);
    }
}

/// A database of a Postgres server.
pub(super) struct InServer(String);

#[async_trait]
impl Kind for InServer {
    type Store = Postgres;

    async fn place() -> Option<Self> {
        cluster::database().await.map(Self)
    }

    async fn open(&self, clock: Clock) -> Postgres {
        Postgres::connect_by(&self.0, clock).await.unwrap()
    }

    async fn close(store: Postgres) {
        store.close().await;
    }

    fn crash(&mut self) {}
}

/// Two stores, and the leases that both gave out for the same step.
pub(super) struct Lockstep<K: Kind> {
    runtime: Runtime,
    clock: Clock,
    place: K,
    model: Memory,
    real: Option<K::Store>,
    leases: Vec<[Lease; 2]>,
    /// When each session was last seen to be updated.
    updated: Mutex<BTreeMap<(usize, SessionKey), Timestamp>>,
}

impl<K: Kind> Lockstep<K> {
    pub(super) fn new() -> Option<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let clock = Clock::default();
        let place = runtime.block_on(K::place())?;
        let real = runtime.block_on(place.open(clock.clone()));
        let model = Memory::by(clock.clone());
        let updated = Mutex::default();
        let stores = Self { runtime, clock, place, model, real: Some(real), leases: Vec::new(), updated };
        for store in stores.stores() {
            stores.runtime.block_on(store.create(session("a", "s0"))).unwrap();
        }
        Some(stores)
    }

    fn stores(&self) -> [&dyn Store; 2] {
        [&self.model, self.real.as_ref().unwrap()]
    }

    /// Takes a step with both; both say the same of it.
    pub(super) fn take(&mut self, step: Step) {
        match &step {
            Step::Clock(hours) => return self.clock.shift(hours * 3_600_000_000),
            Step::Reopen | Step::Crash => {
                let real = self.real.take().unwrap();
                match step {
                    Step::Reopen => self.runtime.block_on(K::close(real)),
                    _ => {
                        self.place.crash();
                        drop(real);
                    }
                }
                self.real = Some(self.runtime.block_on(self.place.open(self.clock.clone())));
                return;
            }
            _ => {}
        }
        let mut said = Vec::new();
        let mut begun = Vec::new();
        for (which, store) in self.stores().into_iter().enumerate() {
            let taken = self.runtime.block_on(self.take_with(store, which, &step));
            let (words, lease) = match taken {
                Ok(Taken::Nothing) => ("ok".to_owned(), None),
                Ok(Taken::Session(session)) => (format!("{:?}", timeless(*session)), None),
                Ok(Taken::Lease(lease)) => {
                    (format!("{:?} {} {}", lease.session, lease.token, lease.owner), Some(lease))
                }
                Err(error) => (self.unnamed(&error.to_string(), which), None),
            };
            said.push(words);
            begun.extend(lease);
        }
        assert_eq!(said[0], said[1], "{step:?}");
        if let Ok(pair) = <[Lease; 2]>::try_from(begun) {
            self.leases.push(pair);
        }
    }

    async fn take_with(&self, store: &dyn Store, which: usize, step: &Step) -> Result<Taken, StoreError> {
        let lease = |index: &usize| match self.leases.len() {
            0 => None,
            count => Some(&self.leases[count - 1 - index % count][which]),
        };
        match step {
            Step::Create { key, name, is_below, is_copy } => {
                let parent = is_below.then(|| "s0".to_owned());
                let origin = SessionOrigin { parent, workspace: name.clone(), ..SessionOrigin::default() };
                let new = NewSession { name: name.clone(), origin, ..session(&key.tenant, &key.id) };
                let entry =
                    |number| Numbered { number, at: Timestamp::UNIX_EPOCH, entry: user(&format!("copy {number}")) };
                let copied: Vec<Numbered> = (1..4).map(entry).collect();
                let made = if *is_copy { store.import(new, &copied).await } else { store.create(new).await };
                made.map(|session| Taken::Session(Box::new(session)))
            }
            Step::Change { key, change } => {
                store.change(key, change.clone()).await.map(|session| Taken::Session(Box::new(session)))
            }
            Step::Clear(key) => store.clear(key).await.map(|session| Taken::Session(Box::new(session))),
            Step::Delete(key) => store.delete(key).await.map(|()| Taken::Nothing),
            Step::Begin { key, owner, entries, queued, lapses } => {
                let lasts = if *lapses { Duration::ZERO } else { LASTS };
                let entries = (0..*entries).map(|number| user(&format!("{owner} {number}"))).collect();
                let new = NewRun { queued: queued.clone(), lasts, ..run(key, owner, entries) };
                store.begin(new).await.map(Taken::Lease)
            }
            Step::Claim { lease: index, owner } => match lease(index) {
                Some(lease) => store.claim(&lease.session.tenant, &lease.run, owner, LASTS).await.map(Taken::Lease),
                None => Ok(Taken::Nothing),
            },
            Step::Renew(index) => match lease(index) {
                Some(lease) => store.renew(lease).await.map(|()| Taken::Nothing),
                None => Ok(Taken::Nothing),
            },
            Step::Record { lease: index, entries, intents, results, spends } => {
                let Some(lease) = lease(index) else { return Ok(Taken::Nothing) };
                let batch = Batch {
                    entries: (0..*entries).map(|number| reply(&format!("said {number}"), &[])).collect(),
                    intents: intents.iter().map(|id| intent(&id.to_string())).collect(),
                    results: results.iter().map(|id| (id.to_string(), ToolResult::done("done"))).collect(),
                    spending: spends.then(|| spending(3)),
                };
                store.record(lease, &batch).await.map(|()| Taken::Nothing)
            }
            Step::End { lease: index, answers } => {
                let Some(lease) = lease(index) else { return Ok(Taken::Nothing) };
                let ending = if *answers { Ending::Answered } else { Ending::Cancelled };
                store.end(lease, &RunEnd { ending, spending: spending(5) }).await.map(|()| Taken::Nothing)
            }
            Step::Enqueue { key, id } => store.enqueue(&message(key, id)).await.map(|()| Taken::Nothing),
            Step::Audit { key } => {
                let (tenant, session) = (key.tenant.clone(), Some(key.id.clone()));
                let record =
                    AuditRecord { tenant, at: None, session, run: None, kind: "denial".into(), detail: json!({}) };
                store.audit(&record).await.map(|()| Taken::Nothing)
            }
            Step::Clock(_) | Step::Reopen | Step::Crash => Ok(Taken::Nothing),
        }
    }

    /// Asks both all that can be asked.
    pub(super) fn compare(&self) {
        let [model, real] = [0, 1].map(|which| self.runtime.block_on(self.look(self.stores()[which], which)));
        assert_eq!(model, real);
    }

    async fn look(&self, store: &dyn Store, which: usize) -> Vec<String> {
        let mut seen = Vec::new();
        for tenant in ["a", "b"] {
            let listing = Listing { tenant: tenant.into(), delegated: true, ..Listing::default() };
            let sessions = store.sessions(&listing).await.unwrap();
            assert!(sessions.is_sorted_by(|newer, older| newer.updated_at > older.updated_at));
            assert!(sessions.iter().all(|session| session.tenant == tenant));
            for narrower in [
                Listing { delegated: false, ..listing.clone() },
                Listing { parent: Some("s0".into()), limit: 2, ..listing.clone() },
                Listing { pinned_first: true, offset: 1, limit: 2, ..listing.clone() },
                Listing { name: Some("oNE".into()), ..listing.clone() },
                Listing { begins: Some("s".into()), offset: 1, ..listing.clone() },
                Listing {
                    delegated: false,
                    workspace: Some("one".into()),
                    agent: Some("clerk".into()),
                    ..listing.clone()
                },
            ] {
                let found = store.sessions(&narrower).await.unwrap();
                let count = store.count(&narrower).await.unwrap();
                seen.push(format!("{count} {:?}", found.iter().map(|session| &session.id).collect::<Vec<_>>()));
            }
            for session in sessions {
                seen.extend(self.look_at(store, which, &SessionKey::new(tenant, &session.id)).await);
                seen.push(format!("{:?}", timeless(session)));
            }
            for by in [Span::Agent, Span::Session] {
                let query = UsageQuery { tenant: tenant.into(), by, since: None, agent: None };
                seen.push(format!("{:?}", store.usage(&query).await.unwrap()));
            }
            let audits = store.audits(tenant, Some("s1"), 5).await.unwrap();
            seen.push(format!("{:?}", audits.iter().map(|record| &record.session).collect::<Vec<_>>()));
        }
        for pair in &self.leases {
            let Lease { session, run, .. } = &pair[which];
            let found = store.run(&session.tenant, run).await.map(timeless_run);
            seen.push(self.unnamed(&format!("{found:?}"), which));
            let calls = store.calls(&session.tenant, run).await;
            seen.push(self.unnamed(&format!("{calls:?}"), which));
        }
        seen
    }

    async fn look_at(&self, store: &dyn Store, which: usize, key: &SessionKey) -> Vec<String> {
        let entries = store.entries(key, 0, usize::MAX).await.unwrap();
        let numbers: Vec<u64> = entries.iter().map(|numbered| numbered.number).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "no gap, none twice");
        let session = store.session(key).await.unwrap();
        assert_eq!(session.entries, numbers.len() as u64);
        let before = self.updated.lock().unwrap().insert((which, key.clone()), session.updated_at);
        assert!(before.is_none_or(|before| before <= session.updated_at), "{key:?} went back in time");
        let last = store.last_run(key).await.unwrap().map(timeless_run);
        vec![
            format!("{:?}", entries.iter().map(|numbered| &numbered.entry).collect::<Vec<_>>()),
            format!("{:?}", store.next_queued(key).await.unwrap()),
            self.unnamed(&format!("{last:?}"), which),
        ]
    }

    /// A text in which runs are called by when they began, since each store names them by itself.
    fn unnamed(&self, text: &str, which: usize) -> String {
        let mut text = text.to_owned();
        for (number, pair) in self.leases.iter().enumerate() {
            text = text.replace(&pair[which].run, &format!("run {number}"));
        }
        text
    }
}

enum Taken {
    Nothing,
    Session(Box<Session>),
    Lease(Lease),
}

fn timeless(session: Session) -> Session {
    let epoch = Timestamp::UNIX_EPOCH;
    let pinned_at = session.pinned_at.map(|_| epoch);
    Session { created_at: epoch, updated_at: epoch, pinned_at, ..session }
}

fn timeless_run(run: RunRecord) -> RunRecord {
    let state = match run.state {
        RunState::Ended { ending, .. } => RunState::Ended { ending, at: Timestamp::UNIX_EPOCH },
        open => open,
    };
    RunRecord { started_at: Timestamp::UNIX_EPOCH, state, ..run }
}
