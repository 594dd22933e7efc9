//! All that is remembered, and every change that can be made to it. A change that is refused changes nothing.

mod runs;
mod serving;

use std::{cmp::Reverse, collections::BTreeMap};

use jiff::Timestamp;
use palisade_agent::{
    AuditRecord, CallRecord, Change, LOCAL_TENANT, Listing, NewSession, Numbered, Queued, RunRecord, Session,
    SessionKey, StoreError, UsageQuery, UsageRow,
};

use crate::{
    clock::moment,
    idempotency,
    rules::{self, Hold},
    tenants,
    usage::{self, Sums},
    whole::check_whole,
};

/// All that is remembered.
#[derive(Debug)]
pub(super) struct State {
    /// What time it is.
    pub(super) now: i64,
    tenants: BTreeMap<String, Tenant>,
}

impl Default for State {
    fn default() -> Self {
        let local = tenants::Tenant {
            id: LOCAL_TENANT.to_owned(),
            name: LOCAL_TENANT.to_owned(),
            settings: serde_json::Value::Object(serde_json::Map::new()),
            created_at: Timestamp::now(),
            suspended_at: None,
        };
        let local = Tenant { account: Some(local), ..Tenant::default() };
        Self { now: 0, tenants: BTreeMap::from([(LOCAL_TENANT.to_owned(), local)]) }
    }
}

/// All that belongs to one tenant.
#[derive(Debug, Default)]
pub(super) struct Tenant {
    /// The last moment that was given out; no two are alike.
    moment: i64,
    sessions: BTreeMap<String, Held>,
    runs: BTreeMap<String, Kept>,
    /// What runs used up whose sessions were deleted.
    spent: Sums,
    /// By the moment at which a message came.
    queue: BTreeMap<i64, Waiting>,
    audits: Vec<AuditRecord>,
    /// What is known of it, if somebody made it.
    account: Option<tenants::Tenant>,
    is_deleted: bool,
    /// By their ids, with the hashes of their secrets.
    keys: BTreeMap<String, (tenants::KeyRecord, [u8; 32])>,
    /// By their keys.
    requests: BTreeMap<String, idempotency::Record>,
}

/// A session with what was said, and who holds it.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) session: Session,
    pub(super) entries: Vec<Numbered>,
    token: u64,
    hold: Option<Hold>,
}

/// A run with its calls and its events.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) record: RunRecord,
    pub(super) calls: Vec<CallRecord>,
    pub(super) events: Vec<String>,
    token: u64,
}

/// A message, also after it was answered: the same one must not come in again.
#[derive(Debug)]
struct Waiting {
    message: Queued,
    is_answered: bool,
}

impl Tenant {
    /// A moment after all that were given out before, and not before `now`.
    fn next_moment(&mut self, now: i64) -> Result<Timestamp, StoreError> {
        self.moment = now.max(self.moment.saturating_add(1));
        moment(self.moment)
    }

    fn refuse_taken_name(&self, agent: &str, name: Option<&str>, but: &str) -> Result<(), StoreError> {
        let Some(name) = name else { return Ok(()) };
        let key = rules::name_key(name);
        let is_taken = self.sessions.values().any(|held| {
            let other = &held.session;
            other.agent == agent && other.id != but && other.name.as_deref().map(rules::name_key) == Some(key.clone())
        });
        if is_taken { Err(StoreError::NameTaken(name.to_owned())) } else { Ok(()) }
    }
}

impl State {
    pub(super) fn create(&mut self, new: NewSession, entries: &[Numbered]) -> Result<Session, StoreError> {
        check_whole(entries)?;
        let id = new.id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let mut session = rules::new_session(new, id, moment(self.now)?)?;
        session.entries = entries.len() as u64;
        session.last_snippet = rules::snippet(entries.iter().map(|numbered| &numbered.entry));
        let now = self.now;
        let tenant = self.not_deleted(&session.tenant)?;
        if tenant.sessions.contains_key(&session.id) {
            return Err(StoreError::IdTaken(session.id));
        }
        tenant.refuse_taken_name(&session.agent, session.name.as_deref(), &session.id)?;
        session.created_at = tenant.next_moment(now)?;
        session.updated_at = session.created_at;
        let held = Held { session: session.clone(), entries: entries.to_vec(), token: 0, hold: None };
        tenant.sessions.insert(session.id.clone(), held);
        Ok(session)
    }

    pub(super) fn held(&self, key: &SessionKey) -> Result<&Held, StoreError> {
        let tenant = self.tenants.get(&key.tenant);
        tenant.and_then(|tenant| tenant.sessions.get(&key.id)).ok_or_else(|| rules::no_session(key))
    }

    /// A session with the tenant that it belongs to.
    fn tenant_of(&mut self, key: &SessionKey) -> Result<&mut Tenant, StoreError> {
        self.held(key)?;
        self.tenants.get_mut(&key.tenant).ok_or_else(|| rules::no_session(key))
    }

    /// The sessions of a listing, on all its pages.
    pub(super) fn wanted<'a>(&'a self, listing: &'a Listing) -> impl Iterator<Item = &'a Session> {
        let sessions = self.tenants.get(&listing.tenant).into_iter().flat_map(|tenant| tenant.sessions.values());
        let name = listing.name.as_deref().map(rules::name_key);
        let is_wanted = move |session: &&Session| {
            let below = match &listing.parent {
                Some(parent) => session.origin.parent.as_ref() == Some(parent),
                None => listing.delegated || session.origin.parent.is_none(),
            };
            let own_name = || session.name.as_deref().map(rules::name_key);
            below
                && listing.agent.as_ref().is_none_or(|agent| session.agent == *agent)
                && listing.workspace.as_ref().is_none_or(|folder| session.origin.workspace.as_ref() == Some(folder))
                && listing.begins.as_ref().is_none_or(|beginning| session.id.starts_with(beginning))
                && (name.is_none() || name == own_name())
        };
        sessions.map(|held| &held.session).filter(is_wanted)
    }

    pub(super) fn list(&self, listing: &Listing) -> Vec<Session> {
        let is_before = |session: &&Session| listing.before.is_none_or(|before| session.updated_at < before);
        let mut found: Vec<Session> = self.wanted(listing).filter(is_before).cloned().collect();
        let pinned = |session: &Session| session.pinned_at.filter(|_| listing.pinned_first);
        found.sort_by_key(|session| (Reverse(pinned(session)), Reverse(session.updated_at)));
        let limit = if listing.limit == 0 { usize::MAX } else { listing.limit };
        found.into_iter().skip(listing.offset).take(limit).collect()
    }

    pub(super) fn change(&mut self, key: &SessionKey, change: Change) -> Result<Session, StoreError> {
        let now = self.now;
        let mut session = self.held(key)?.session.clone();
        let tenant = self.tenant_of(key)?;
        let renames = matches!(change, Change::Name(_));
        rules::apply(&mut session, change, moment(now)?)?;
        if renames {
            tenant.refuse_taken_name(&session.agent, session.name.as_deref(), &session.id)?;
        }
        session.updated_at = tenant.next_moment(now)?;
        if let Some(held) = tenant.sessions.get_mut(&key.id) {
            held.session = session.clone();
        }
        Ok(session)
    }

    pub(super) fn clear(&mut self, key: &SessionKey) -> Result<Session, StoreError> {
        let now = self.now;
        self.refuse_if_held(key)?;
        self.leave_behind(key)?;
        let tenant = self.tenant_of(key)?;
        let at = tenant.next_moment(now)?;
        for kept in tenant.runs.values_mut().filter(|kept| kept.record.session.id == key.id) {
            kept.calls.clear();
            kept.events.clear();
        }
        let held = tenant.sessions.get_mut(&key.id).ok_or_else(|| rules::no_session(key))?;
        held.entries.clear();
        held.session.entries = 0;
        held.session.last_snippet = None;
        held.session.updated_at = at;
        Ok(held.session.clone())
    }

    pub(super) fn delete(&mut self, key: &SessionKey) -> Result<(), StoreError> {
        self.refuse_if_held(key)?;
        let tenant = self.tenant_of(key)?;
        tenant.sessions.remove(&key.id);
        for (_, gone) in tenant.runs.extract_if(.., |_, kept| kept.record.session.id == key.id) {
            tenant.spent.add_run(&gone.record);
        }
        tenant.queue.retain(|_, waiting| waiting.message.session.id != key.id);
        Ok(())
    }

    pub(super) fn enqueue(&mut self, message: &Queued) -> Result<(), StoreError> {
        rules::queued(message)?;
        let now = self.now;
        let tenant = self.tenant_of(&message.session)?;
        if let Some(same) = tenant.queue.values().find(|waiting| waiting.message.id == message.id) {
            return rules::refuse_other(&same.message.session.id, message);
        }
        let at = tenant.next_moment(now)?;
        tenant.queue.insert(at.as_microsecond(), Waiting { message: message.clone(), is_answered: false });
        if let Some(held) = tenant.sessions.get_mut(&message.session.id) {
            held.session.updated_at = at;
        }
        Ok(())
    }

    pub(super) fn next_queued(&self, key: &SessionKey) -> Result<Option<Queued>, StoreError> {
        self.held(key)?;
        let queue = self.tenants.get(&key.tenant).into_iter().flat_map(|tenant| tenant.queue.values());
        let next = queue.filter(|waiting| waiting.message.session.id == key.id).find(|waiting| !waiting.is_answered);
        Ok(next.map(|waiting| waiting.message.clone()))
    }

    pub(super) fn audit(&mut self, record: &AuditRecord) -> Result<(), StoreError> {
        rules::audit(record)?;
        let now = self.now;
        let tenant = self.not_deleted(&record.tenant)?;
        let at = tenant.next_moment(now)?;
        tenant.audits.push(AuditRecord { at: Some(at), ..record.clone() });
        Ok(())
    }

    pub(super) fn audits(&self, tenant: &str, session: Option<&str>, limit: usize) -> Vec<AuditRecord> {
        let all = self.tenants.get(tenant).into_iter().flat_map(|tenant| tenant.audits.iter().rev());
        let about = all.filter(|record| session.is_none() || record.session.as_deref() == session);
        about.take(limit).cloned().collect()
    }

    pub(super) fn usage(&self, query: &UsageQuery) -> Vec<UsageRow> {
        let tenant = self.tenants.get(&query.tenant);
        let runs = tenant.into_iter().flat_map(|tenant| tenant.runs.values());
        usage::add_up(runs.map(|kept| &kept.record), tenant.map(|tenant| &tenant.spent), query)
    }
}
