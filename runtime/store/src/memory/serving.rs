//! What a server keeps, as long as the process lasts.

use std::time::Duration;

use async_trait::async_trait;
use palisade_agent::{Lease, RunRecord, StoreError};

use super::Memory;
use crate::{
    events::{RunEvents, check_events},
    idempotency::{Begun, Idempotency, check_answer, check_request},
    runs::OpenRuns,
    tenants::{self, KeyRecord, NewKey, NewTenant, Tenant, TenantChange, Tenants, check_key},
};

#[async_trait]
impl Tenants for Memory {
    async fn create_tenant(&self, tenant: NewTenant) -> Result<Tenant, StoreError> {
        self.state().create_tenant(tenant)
    }

    async fn tenant(&self, id: &str) -> Result<Tenant, StoreError> {
        self.state().account(id).cloned()
    }

    async fn tenants(&self, after: Option<&str>, limit: usize) -> Result<Vec<Tenant>, StoreError> {
        Ok(self.state().accounts(after.unwrap_or_default(), limit))
    }

    async fn change_tenant(&self, id: &str, change: TenantChange) -> Result<Tenant, StoreError> {
        self.state().change_tenant(id, &change)
    }

    async fn delete_tenant(&self, id: &str) -> Result<(), StoreError> {
        tenants::deletable(id)?;
        let mut state = self.state();
        state.delete_tenant(id)?;
        self.spaces().retain(|space, _| space.tenant != id);
        Ok(())
    }

    async fn add_key(&self, tenant: &str, key: NewKey) -> Result<KeyRecord, StoreError> {
        let (label, _) = check_key(&key)?;
        self.state().add_key(tenant, key, label)
    }

    async fn key(&self, hash: &[u8; 32]) -> Result<Option<KeyRecord>, StoreError> {
        Ok(self.state().key(hash))
    }

    async fn keys(&self, tenant: &str) -> Result<Vec<KeyRecord>, StoreError> {
        self.state().keys(tenant)
    }

    async fn revoke_key(&self, tenant: &str, id: &str) -> Result<(), StoreError> {
        self.state().revoke_key(tenant, id)
    }

    async fn used_key(&self, tenant: &str, id: &str) -> Result<(), StoreError> {
        self.state().used_key(tenant, id)
    }
}

#[async_trait]
impl RunEvents for Memory {
    async fn append(&self, lease: &Lease, first: u64, events: &[String]) -> Result<(), StoreError> {
        let mut state = self.state();
        check_events(first, events)?;
        state.append_events(lease, first, events)
    }

    async fn events(
        &self,
        tenant: &str,
        run: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, String)>, StoreError> {
        let state = self.state();
        let events = (1..).zip(&state.run(tenant, run)?.events);
        let skipped = usize::try_from(after).unwrap_or(usize::MAX);
        Ok(events.skip(skipped).take(limit).map(|(number, event)| (number, event.clone())).collect())
    }

    async fn last_event(&self, tenant: &str, run: &str) -> Result<u64, StoreError> {
        Ok(self.state().run(tenant, run)?.events.len() as u64)
    }
}

#[async_trait]
impl OpenRuns for Memory {
    async fn open_runs(
        &self,
        tenant: Option<&str>,
        after: Option<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<RunRecord>, StoreError> {
        Ok(self.state().open_runs(tenant, after.unwrap_or_default(), limit))
    }
}

#[async_trait]
impl Idempotency for Memory {
    async fn begin(
        &self,
        tenant: &str,
        key: &str,
        fingerprint: [u8; 32],
        lasts: Duration,
    ) -> Result<Begun, StoreError> {
        check_request(tenant, key)?;
        self.state().begin_request(tenant, key, fingerprint, lasts)
    }

    async fn finish(&self, tenant: &str, key: &str, answer: &str) -> Result<(), StoreError> {
        check_request(tenant, key)?;
        check_answer(answer)?;
        self.state().finish_request(tenant, key, answer)
    }

    async fn forget(&self, tenant: &str, key: &str) -> Result<(), StoreError> {
        check_request(tenant, key)?;
        self.state().forget_request(tenant, key);
        Ok(())
    }
}
