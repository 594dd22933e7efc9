//! The trait, for every database that speaks SQL.

use std::time::Duration;

use async_trait::async_trait;
use palisade_agent::{
    AuditRecord, Batch, CallRecord, Change, Lease, Listing, NewRun, NewSession, Numbered, Queued, RunEnd, RunRecord,
    Session, SessionKey, Store, StoreError, UsageQuery, UsageRow,
};

use super::{
    Place, Sql,
    begin::{Begin, Claim, End},
    create::Create,
    hold::Renew,
    listing::{Count, List},
    look::{Calls, Entries, FindRun, LastRun},
    message::{Audit, Audits, Enqueue, NextQueued},
    record::Record,
    session::{Alter, Clear, Delete, Find},
    usage::AddUp,
};
use crate::rules;

#[async_trait]
impl<P: Place> Store for Sql<P> {
    async fn create(&self, session: NewSession) -> Result<Session, StoreError> {
        self.place.write(&Create::new(session, &[])?).await
    }

    async fn import(&self, session: NewSession, entries: &[Numbered]) -> Result<Session, StoreError> {
        self.place.write(&Create::new(session, entries)?).await
    }

    async fn session(&self, key: &SessionKey) -> Result<Session, StoreError> {
        rules::findable(key)?;
        self.place.read(&Find(key)).await
    }

    async fn sessions(&self, listing: &Listing) -> Result<Vec<Session>, StoreError> {
        match rules::is_findable(listing) {
            true => self.place.read(&List(listing)).await,
            false => Ok(Vec::new()),
        }
    }

    async fn count(&self, listing: &Listing) -> Result<u64, StoreError> {
        match rules::is_findable(listing) {
            true => self.place.read(&Count(listing)).await,
            false => Ok(0),
        }
    }

    async fn change(&self, key: &SessionKey, change: Change) -> Result<Session, StoreError> {
        rules::findable(key)?;
        self.place.write(&Alter { key, change }).await
    }

    async fn clear(&self, key: &SessionKey) -> Result<Session, StoreError> {
        rules::findable(key)?;
        self.place.write(&Clear(key)).await
    }

    async fn delete(&self, key: &SessionKey) -> Result<(), StoreError> {
        rules::findable(key)?;
        self.place.write(&Delete(key)).await
    }

    async fn entries(&self, key: &SessionKey, after: u64, limit: usize) -> Result<Vec<Numbered>, StoreError> {
        rules::findable(key)?;
        self.place.read(&Entries { key, after, limit }).await
    }

    async fn begin(&self, run: NewRun) -> Result<Lease, StoreError> {
        self.place.write(&Begin::new(run)?).await
    }

    async fn claim(&self, tenant: &str, run: &str, owner: &str, lasts: Duration) -> Result<Lease, StoreError> {
        rules::word("an owner", owner)?;
        rules::findable_run(tenant, run)?;
        self.place.write(&Claim { tenant, run, owner, lasts }).await
    }

    async fn renew(&self, lease: &Lease) -> Result<(), StoreError> {
        rules::findable(&lease.session)?;
        self.place.write(&Renew(lease)).await
    }

    async fn record(&self, lease: &Lease, batch: &Batch) -> Result<(), StoreError> {
        rules::findable(&lease.session)?;
        self.place.write(&Record::new(lease, batch)?).await
    }

    async fn end(&self, lease: &Lease, end: &RunEnd) -> Result<(), StoreError> {
        rules::findable(&lease.session)?;
        self.place.write(&End { lease, end }).await
    }

    async fn run(&self, tenant: &str, run: &str) -> Result<RunRecord, StoreError> {
        rules::findable_run(tenant, run)?;
        self.place.read(&FindRun { tenant, run }).await
    }

    async fn last_run(&self, key: &SessionKey) -> Result<Option<RunRecord>, StoreError> {
        rules::findable(key)?;
        self.place.read(&LastRun(key)).await
    }

    async fn calls(&self, tenant: &str, run: &str) -> Result<Vec<CallRecord>, StoreError> {
        rules::findable_run(tenant, run)?;
        self.place.read(&Calls { tenant, run }).await
    }

    async fn enqueue(&self, message: &Queued) -> Result<(), StoreError> {
        self.place.write(&Enqueue::new(message)?).await
    }

    async fn next_queued(&self, key: &SessionKey) -> Result<Option<Queued>, StoreError> {
        rules::findable(key)?;
        self.place.read(&NextQueued(key)).await
    }

    async fn audit(&self, record: &AuditRecord) -> Result<(), StoreError> {
        self.place.write(&Audit::new(record)?).await
    }

    async fn audits(&self, tenant: &str, session: Option<&str>, limit: usize) -> Result<Vec<AuditRecord>, StoreError> {
        if tenant.contains('\0') || session.is_some_and(|session| session.contains('\0')) {
            return Ok(Vec::new());
        }
        self.place.read(&Audits { tenant, session, limit }).await
    }

    async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageRow>, StoreError> {
        if query.tenant.contains('\0') || query.agent.as_ref().is_some_and(|agent| agent.contains('\0')) {
            return Ok(Vec::new());
        }
        self.place.read(&AddUp(query)).await
    }
}
