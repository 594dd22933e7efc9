//! What lasts as long as the process: for where there is no place for a database, and what the databases are
//! compared with.

mod serving;
mod spaces;
mod state;

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use palisade_agent::{
    AuditRecord, Batch, CallRecord, Change, Lease, Listing, NewRun, NewSession, Numbered, Queued, RunEnd, RunRecord,
    Session, SessionKey, Store, StoreError, UsageQuery, UsageRow,
};

use crate::Clock;
use state::State;

/// A store that forgets everything when it is dropped.
#[derive(Debug, Default)]
pub struct Memory {
    state: Mutex<State>,
    spaces: Mutex<spaces::Values>,
    clock: Clock,
}

impl Memory {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty one that goes by this clock.
    pub fn by(clock: Clock) -> Self {
        Self { clock, ..Self::default() }
    }

    fn spaces(&self) -> MutexGuard<'_, spaces::Values> {
        self.spaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state. Every change to it is checked before it is made, so what a panic leaves behind is whole.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.now = self.clock.now();
        state
    }
}

#[async_trait]
impl Store for Memory {
    async fn create(&self, session: NewSession) -> Result<Session, StoreError> {
        self.state().create(session, &[])
    }

    async fn import(&self, session: NewSession, entries: &[Numbered]) -> Result<Session, StoreError> {
        self.state().create(session, entries)
    }

    async fn session(&self, key: &SessionKey) -> Result<Session, StoreError> {
        self.state().held(key).map(|held| held.session.clone())
    }

    async fn sessions(&self, listing: &Listing) -> Result<Vec<Session>, StoreError> {
        Ok(self.state().list(listing))
    }

    async fn count(&self, listing: &Listing) -> Result<u64, StoreError> {
        Ok(self.state().wanted(listing).count() as u64)
    }

    async fn change(&self, key: &SessionKey, change: Change) -> Result<Session, StoreError> {
        self.state().change(key, change)
    }

    async fn clear(&self, key: &SessionKey) -> Result<Session, StoreError> {
        self.state().clear(key)
    }

    async fn delete(&self, key: &SessionKey) -> Result<(), StoreError> {
        self.state().delete(key)
    }

    async fn entries(&self, key: &SessionKey, after: u64, limit: usize) -> Result<Vec<Numbered>, StoreError> {
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        Ok(self.state().held(key)?.entries.iter().skip(after).take(limit).cloned().collect())
    }

    async fn begin(&self, run: NewRun) -> Result<Lease, StoreError> {
        self.state().begin(run)
    }

    async fn claim(&self, tenant: &str, run: &str, owner: &str, lasts: Duration) -> Result<Lease, StoreError> {
        self.state().claim(tenant, run, owner, lasts)
    }

    async fn renew(&self, lease: &Lease) -> Result<(), StoreError> {
        self.state().renew(lease)
    }

    async fn record(&self, lease: &Lease, batch: &Batch) -> Result<(), StoreError> {
        self.state().record(lease, batch)
    }

    async fn end(&self, lease: &Lease, end: &RunEnd) -> Result<(), StoreError> {
        self.state().end(lease, end)
    }

    async fn run(&self, tenant: &str, run: &str) -> Result<RunRecord, StoreError> {
        self.state().run(tenant, run).map(|kept| kept.record.clone())
    }

    async fn last_run(&self, key: &SessionKey) -> Result<Option<RunRecord>, StoreError> {
        self.state().last_run(key)
    }

    async fn calls(&self, tenant: &str, run: &str) -> Result<Vec<CallRecord>, StoreError> {
        self.state().run(tenant, run).map(|kept| kept.calls.clone())
    }

    async fn enqueue(&self, message: &Queued) -> Result<(), StoreError> {
        self.state().enqueue(message)
    }

    async fn next_queued(&self, key: &SessionKey) -> Result<Option<Queued>, StoreError> {
        self.state().next_queued(key)
    }

    async fn audit(&self, record: &AuditRecord) -> Result<(), StoreError> {
        self.state().audit(record)
    }

    async fn audits(&self, tenant: &str, session: Option<&str>, limit: usize) -> Result<Vec<AuditRecord>, StoreError> {
        Ok(self.state().audits(tenant, session, limit))
    }

    async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageRow>, StoreError> {
        Ok(self.state().usage(query))
    }
}
