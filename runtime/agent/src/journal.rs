//! Where a run writes down what it says and does, before it counts.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{Batch, Lease, RunEnd, Store, StoreError};

/// Where a run writes. What was recorded survives the process; a run whose journal fails does not go on.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Whether anything is written at all. If not, nothing need be put together for it.
    fn keeps(&self) -> bool {
        true
    }

    /// Writes down, at once or not at all.
    async fn record(&self, batch: Batch) -> Result<(), StoreError>;

    /// Writes down how the run ended.
    async fn end(&self, end: RunEnd) -> Result<(), StoreError>;
}

/// A journal for runs that nobody will continue: nothing is written.
#[derive(Clone, Copy, Debug)]
pub struct Unwritten;

#[async_trait]
impl Journal for Unwritten {
    fn keeps(&self) -> bool {
        false
    }

    async fn record(&self, _: Batch) -> Result<(), StoreError> {
        Ok(())
    }

    async fn end(&self, _: RunEnd) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A journal in a store, for as long as the lease is held.
pub struct Leased {
    store: Arc<dyn Store>,
    lease: Lease,
}

impl Leased {
    /// Writes with the right that a lease gives.
    pub fn new(store: Arc<dyn Store>, lease: Lease) -> Self {
        Self { store, lease }
    }

    /// The right.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Keeps the lease alive; returns when it is lost, with the reason. Never returns as long as it can be
    /// renewed, so it is raced with the run.
    pub async fn keep_alive(&self) -> StoreError {
        loop {
            tokio::time::sleep(self.lease.lasts / 3).await;
            match self.store.renew(&self.lease).await {
                Ok(()) => {}
                // A write would fail, too; until then there is no harm in going on.
                Err(error) if error.is_passing() => {}
                Err(error) => return error,
            }
        }
    }
}

#[async_trait]
impl Journal for Leased {
    async fn record(&self, batch: Batch) -> Result<(), StoreError> {
        self.store.record(&self.lease, &batch).await
    }

    async fn end(&self, end: RunEnd) -> Result<(), StoreError> {
        self.store.end(&self.lease, &end).await
    }
}
