//! What a server does to the state.

use std::time::Duration;

use palisade_agent::{Lease, RunRecord, RunState, StoreError};

use super::{State, Tenant};
use crate::{
    clock::moment,
    events::{refuse_gap, told_otherwise},
    idempotency::{Begun, Record, kept, nothing_under_way},
    owner::this_process,
    rules,
    tenants::{
        self, KeyRecord, MOST_KEYS, NewKey, NewTenant, TenantChange, check_new, is_used_anew, no_key, no_tenant,
        too_many,
    },
};

impl State {
    /// All that belongs to a tenant, which need not have been made; refused if it was deleted.
    pub(in crate::memory) fn not_deleted(&mut self, id: &str) -> Result<&mut Tenant, StoreError> {
        let tenant = self.tenants.entry(id.to_owned()).or_default();
        if tenant.is_deleted { Err(no_tenant(id)) } else { Ok(tenant) }
    }

    pub(in crate::memory) fn create_tenant(&mut self, new: NewTenant) -> Result<tenants::Tenant, StoreError> {
        let (name, _) = check_new(&new)?;
        let created_at = moment(self.now)?;
        let tenant = self.tenants.entry(new.id.clone()).or_default();
        if tenant.account.is_some() || tenant.is_deleted {
            return Err(StoreError::TenantTaken(new.id));
        }
        let made = tenants::Tenant { id: new.id, name, settings: new.settings, created_at, suspended_at: None };
        tenant.account = Some(made.clone());
        Ok(made)
    }

    pub(in crate::memory) fn account(&self, id: &str) -> Result<&tenants::Tenant, StoreError> {
        self.tenants.get(id).and_then(|tenant| tenant.account.as_ref()).ok_or_else(|| no_tenant(id))
    }

    /// A tenant that somebody made.
    fn made(&mut self, id: &str) -> Result<&mut Tenant, StoreError> {
        let tenant = self.tenants.get_mut(id).filter(|tenant| tenant.account.is_some());
        tenant.ok_or_else(|| no_tenant(id))
    }

    pub(in crate::memory) fn accounts(&self, after: &str, limit: usize) -> Vec<tenants::Tenant> {
        let accounts = self.tenants.values().filter_map(|tenant| tenant.account.as_ref());
        accounts.filter(|account| account.id.as_str() > after).take(limit).cloned().collect()
    }

    pub(in crate::memory) fn change_tenant(
        &mut self,
        id: &str,
        change: &TenantChange,
    ) -> Result<tenants::Tenant, StoreError> {
        let at = moment(self.now)?;
        let mut account = self.account(id)?.clone();
        tenants::apply(&mut account, change, at)?;
        self.made(id)?.account = Some(account.clone());
        Ok(account)
    }

    pub(in crate::memory) fn delete_tenant(&mut self, id: &str) -> Result<(), StoreError> {
        let now = self.now;
        let tenant = self.made(id)?;
        for (session, held) in &tenant.sessions {
            held.hold.as_ref().map_or(Ok(()), |hold| hold.refuse_if_live(session, now))?;
        }
        *tenant = Tenant { is_deleted: true, ..Tenant::default() };
        Ok(())
    }

    pub(in crate::memory) fn add_key(
        &mut self,
        tenant: &str,
        key: NewKey,
        label: String,
    ) -> Result<KeyRecord, StoreError> {
        let created_at = moment(self.now)?;
        let is_known = self.key(&key.hash).is_some();
        let keys = &mut self.made(tenant)?.keys;
        if keys.len() as u64 >= MOST_KEYS {
            return Err(too_many());
        }
        if is_known || keys.contains_key(&key.id) {
            return Err(StoreError::KeyTaken(key.id));
        }
        let record = KeyRecord {
            tenant: tenant.to_owned(),
            id: key.id.clone(),
            label,
            scopes: key.scopes,
            created_at,
            expires_at: key.expires_at,
            revoked_at: None,
            last_used_at: None,
        };
        keys.insert(key.id, (record.clone(), key.hash));
        Ok(record)
    }

    pub(in crate::memory) fn key(&self, hash: &[u8; 32]) -> Option<KeyRecord> {
        let mut keys = self.tenants.values().flat_map(|tenant| tenant.keys.values());
        keys.find(|(_, known)| known == hash).map(|(key, _)| key.clone())
    }

    pub(in crate::memory) fn keys(&mut self, tenant: &str) -> Result<Vec<KeyRecord>, StoreError> {
        let mut keys: Vec<KeyRecord> = self.made(tenant)?.keys.values().map(|(key, _)| key.clone()).collect();
        keys.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        Ok(keys)
    }

    fn key_of(&mut self, tenant: &str, id: &str) -> Result<&mut KeyRecord, StoreError> {
        let found = self.tenants.get_mut(tenant).and_then(|tenant| tenant.keys.get_mut(id));
        found.map(|(key, _)| key).ok_or_else(|| no_key(id))
    }

    pub(in crate::memory) fn revoke_key(&mut self, tenant: &str, id: &str) -> Result<(), StoreError> {
        let now = moment(self.now)?;
        let key = self.key_of(tenant, id)?;
        key.revoked_at = key.revoked_at.or(Some(now));
        Ok(())
    }

    pub(in crate::memory) fn used_key(&mut self, tenant: &str, id: &str) -> Result<(), StoreError> {
        let now = self.now;
        let key = self.key_of(tenant, id)?;
        if is_used_anew(key.last_used_at.map(|at| at.as_microsecond()), now) {
            key.last_used_at = Some(moment(now)?);
        }
        Ok(())
    }

    pub(in crate::memory) fn append_events(
        &mut self,
        lease: &Lease,
        first: u64,
        new: &[String],
    ) -> Result<(), StoreError> {
        self.fenced_or_ended(lease)?;
        let tenant = self.tenant_of(&lease.session)?;
        let events = &mut tenant.runs.get_mut(&lease.run).ok_or_else(|| rules::no_run(&lease.run))?.events;
        refuse_gap(first, events.len() as u64)?;
        let before = usize::try_from(first).unwrap_or(usize::MAX).saturating_sub(1);
        let known = events.iter().skip(before);
        for ((old, new), number) in known.zip(new).zip(first..) {
            if old != new {
                return Err(told_otherwise(number));
            }
        }
        let known = events.len().saturating_sub(before).min(new.len());
        events.extend(new.iter().skip(known).cloned());
        Ok(())
    }

    pub(in crate::memory) fn open_runs(
        &self,
        tenant: Option<&str>,
        after: (&str, &str),
        limit: usize,
    ) -> Vec<RunRecord> {
        let of = self.tenants.iter().filter(|(id, _)| tenant.is_none_or(|tenant| tenant == id.as_str()));
        let runs = of.flat_map(|(_, tenant)| tenant.runs.values().map(|kept| &kept.record));
        let is_wanted = |run: &&RunRecord| {
            matches!(run.state, RunState::Open { .. }) && (run.session.tenant.as_str(), run.id.as_str()) > after
        };
        runs.filter(is_wanted).take(limit).cloned().collect()
    }

    pub(in crate::memory) fn begin_request(
        &mut self,
        tenant: &str,
        key: &str,
        fingerprint: [u8; 32],
        lasts: Duration,
    ) -> Result<Begun, StoreError> {
        let now = self.now;
        let requests = &mut self.not_deleted(tenant)?.requests;
        requests.retain(|_, record| now < record.at.saturating_add(record.lasts));
        if let Some(begun) = requests.get(key).and_then(|record| record.clone().begun(&fingerprint, now)) {
            return Ok(begun);
        }
        let owner = this_process().to_owned();
        let record = Record { fingerprint, owner, at: now, lasts: rules::lasts(lasts), answer: None };
        requests.insert(key.to_owned(), record);
        Ok(Begun::Fresh)
    }

    pub(in crate::memory) fn finish_request(
        &mut self,
        tenant: &str,
        key: &str,
        answer: &str,
    ) -> Result<(), StoreError> {
        let now = self.now;
        let record = self.tenants.get_mut(tenant).and_then(|tenant| tenant.requests.get_mut(key));
        let open = record.filter(|record| record.answer.is_none()).ok_or_else(|| nothing_under_way(key))?;
        open.answer = Some(answer.to_owned());
        open.at = now;
        open.lasts = kept();
        Ok(())
    }

    pub(in crate::memory) fn forget_request(&mut self, tenant: &str, key: &str) {
        if let Some(tenant) = self.tenants.get_mut(tenant) {
            tenant.requests.retain(|known, record| known != key || record.answer.is_some());
        }
    }
}
