//! What runs do to the state.

use std::time::Duration;

use palisade_agent::{
    Batch, CallRecord, CallState, Entry, Lease, NewRun, Numbered, RunEnd, RunRecord, RunState, SessionKey, Spending,
    StoreError,
};

use super::{Held, Kept, State};
use crate::{
    clock::moment,
    rules::{self, Hold},
};

impl State {
    pub(in crate::memory) fn begin(&mut self, run: NewRun) -> Result<Lease, StoreError> {
        let (key, now) = (run.session.clone(), self.now);
        rules::new_run(&run)?;
        self.refuse_if_held(&key)?;
        rules::refuse_if_outdated(&run, self.held(&key)?.session.entries)?;
        if let Some(id) = &run.queued {
            let mut queue = self.tenant_of(&key)?.queue.values_mut();
            let waiting = queue.find(|waiting| waiting.message.id == *id && waiting.message.session == key);
            let waiting = waiting.filter(|waiting| !waiting.is_answered);
            waiting.ok_or_else(|| StoreError::NotQueued(id.clone()))?.is_answered = true;
        }
        self.leave_behind(&key)?;
        let id = uuid::Uuid::new_v4().to_string();
        let lasts = rules::lasts(run.lasts);
        let tenant = self.tenant_of(&key)?;
        let held = tenant.sessions.get_mut(&key.id).ok_or_else(|| rules::no_session(&key))?;
        held.token += 1;
        held.hold = Some(Hold { run: id.clone(), owner: run.owner.clone(), renewed_at: now, lasts });
        let token = held.token;
        let record = RunRecord {
            id: id.clone(),
            session: key.clone(),
            agent: run.agent,
            model: run.model,
            parent: run.parent,
            parent_call: run.parent_call,
            budget: run.budget,
            spending: Spending::default(),
            started_at: moment(now)?,
            state: RunState::Open { owner: run.owner.clone() },
        };
        tenant.runs.insert(id.clone(), Kept { record, calls: Vec::new(), events: Vec::new(), token });
        if !run.entries.is_empty() {
            self.append(&key, &run.entries)?;
        }
        Ok(Lease { session: key, run: id, token, owner: run.owner, lasts: run.lasts })
    }

    pub(in crate::memory) fn claim(
        &mut self,
        tenant: &str,
        run: &str,
        owner: &str,
        lasts: Duration,
    ) -> Result<Lease, StoreError> {
        rules::word("an owner", owner)?;
        let (record, now) = (&self.run(tenant, run)?.record, self.now);
        let key = record.session.clone();
        if matches!(record.state, RunState::Ended { .. }) {
            return Err(rules::run_is_over(run));
        }
        self.refuse_if_held(&key)?;
        let tenant = self.tenant_of(&key)?;
        let held = tenant.sessions.get_mut(&key.id).ok_or_else(|| rules::no_session(&key))?;
        held.token += 1;
        held.hold =
            Some(Hold { run: run.to_owned(), owner: owner.to_owned(), renewed_at: now, lasts: rules::lasts(lasts) });
        let token = held.token;
        if let Some(kept) = tenant.runs.get_mut(run) {
            kept.record.state = RunState::Open { owner: owner.to_owned() };
            kept.token = token;
        }
        Ok(Lease { session: key, run: run.to_owned(), token, owner: owner.to_owned(), lasts })
    }

    pub(in crate::memory) fn renew(&mut self, lease: &Lease) -> Result<(), StoreError> {
        let now = self.now;
        if let Some(hold) = &mut self.fenced(lease)?.hold {
            hold.renewed_at = now;
        }
        Ok(())
    }

    pub(in crate::memory) fn record(&mut self, lease: &Lease, batch: &Batch) -> Result<(), StoreError> {
        rules::batch(batch)?;
        self.fenced(lease)?;
        if batch.is_empty() {
            return Ok(());
        }
        let calls = &self.run(&lease.session.tenant, &lease.run)?.calls;
        let mut calls = calls.clone();
        for intent in &batch.intents {
            if calls.iter().any(|call| call.intent.call.id == intent.call.id) {
                return Err(rules::meant_twice(&intent.call.id));
            }
            calls.push(CallRecord { intent: intent.clone(), state: CallState::Unfinished });
        }
        for (id, result) in &batch.results {
            let call = calls.iter_mut().find(|call| call.intent.call.id == *id);
            let open = call.filter(|call| call.state == CallState::Unfinished);
            open.ok_or_else(|| rules::no_intent(id))?.state = CallState::Finished(result.clone());
        }
        if let Some(kept) = self.tenant_of(&lease.session)?.runs.get_mut(&lease.run) {
            kept.calls = calls;
            kept.record.spending = batch.spending.map_or(kept.record.spending, rules::bounded);
        }
        self.append(&lease.session, &batch.entries)?;
        self.renew(lease)
    }

    pub(in crate::memory) fn end(&mut self, lease: &Lease, end: &RunEnd) -> Result<(), StoreError> {
        let at = moment(self.now)?;
        self.fenced(lease)?.hold = None;
        if let Some(kept) = self.tenant_of(&lease.session)?.runs.get_mut(&lease.run) {
            kept.record.spending = rules::bounded(end.spending);
            kept.record.state = RunState::Ended { ending: Some(end.ending.clone()), at };
        }
        Ok(())
    }

    pub(in crate::memory) fn run(&self, tenant: &str, run: &str) -> Result<&Kept, StoreError> {
        self.tenants.get(tenant).and_then(|tenant| tenant.runs.get(run)).ok_or_else(|| rules::no_run(run))
    }

    pub(in crate::memory) fn last_run(&self, key: &SessionKey) -> Result<Option<RunRecord>, StoreError> {
        self.held(key)?;
        let runs = self.tenants.get(&key.tenant).into_iter().flat_map(|tenant| tenant.runs.values());
        let last = runs.filter(|kept| kept.record.session.id == key.id).max_by_key(|kept| kept.token);
        Ok(last.map(|kept| kept.record.clone()))
    }

    /// Refuses if a run holds the session and its holder is alive.
    pub(super) fn refuse_if_held(&self, key: &SessionKey) -> Result<(), StoreError> {
        self.held(key)?.hold.as_ref().map_or(Ok(()), |hold| hold.refuse_if_live(&key.id, self.now))
    }

    /// Ends the run that holds the session: whoever did is gone.
    pub(super) fn leave_behind(&mut self, key: &SessionKey) -> Result<(), StoreError> {
        let at = moment(self.now)?;
        let tenant = self.tenant_of(key)?;
        let hold = tenant.sessions.get_mut(&key.id).and_then(|held| held.hold.take());
        if let Some(kept) = hold.and_then(|hold| tenant.runs.get_mut(&hold.run)) {
            kept.record.state = RunState::Ended { ending: None, at };
        }
        Ok(())
    }

    /// The session of a lease, if the lease still counts.
    pub(super) fn fenced(&mut self, lease: &Lease) -> Result<&mut Held, StoreError> {
        let held = self.tenant_of(&lease.session)?.sessions.get_mut(&lease.session.id);
        let held = held.ok_or_else(|| rules::no_session(&lease.session))?;
        let counts = held.token == lease.token && held.hold.as_ref().is_some_and(|hold| hold.run == lease.run);
        if counts { Ok(held) } else { Err(StoreError::Fenced(lease.run.clone())) }
    }

    /// Refuses who neither holds a run nor was the one who ended it.
    pub(super) fn fenced_or_ended(&mut self, lease: &Lease) -> Result<(), StoreError> {
        let kept = self.tenant_of(&lease.session)?.runs.get(&lease.run);
        let ended = |kept: &&Kept| matches!(kept.record.state, RunState::Ended { ending: Some(_), .. });
        match kept.filter(ended) {
            Some(kept) if kept.token == lease.token => Ok(()),
            _ => self.fenced(lease).map(drop),
        }
    }

    /// Adds to what was said. Counts as an update, also of nothing.
    fn append(&mut self, key: &SessionKey, entries: &[Entry]) -> Result<(), StoreError> {
        let (now, at) = (self.now, moment(self.now)?);
        let tenant = self.tenant_of(key)?;
        let updated_at = tenant.next_moment(now)?;
        let held = tenant.sessions.get_mut(&key.id).ok_or_else(|| rules::no_session(key))?;
        for entry in entries {
            held.session.entries += 1;
            held.entries.push(Numbered { number: held.session.entries, at, entry: entry.clone() });
        }
        held.session.updated_at = updated_at;
        held.session.last_snippet = rules::snippet(entries.iter()).or(held.session.last_snippet.take());
        Ok(())
    }
}
