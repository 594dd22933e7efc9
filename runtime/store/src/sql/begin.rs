//! Beginning a run, taking one over, ending one.

use std::time::Duration;

use async_trait::async_trait;
use palisade_agent::{Lease, NewRun, RunEnd, SessionKey, StoreError, passing};

use super::{
    Fault, Instants, Link, Work,
    hold::{fenced, leave_behind, locked, release, take},
    instants,
    record::{Words, save_spending},
    values,
};
use crate::{clock::moment, rules};

/// Begins a run.
pub(super) struct Begin {
    run: NewRun,
    id: String,
    words: Words,
    budget: String,
}

impl Begin {
    pub(super) fn new(run: NewRun) -> Result<Self, StoreError> {
        rules::new_run(&run)?;
        let (words, budget) = (Words::new(&run.entries)?, rules::json("a budget", &run.budget)?);
        Ok(Self { run, id: uuid::Uuid::new_v4().to_string(), words, budget })
    }

    async fn insert(&self, link: &mut Link<'_>, token: u64) -> Result<(), Fault> {
        let run = &self.run;
        let (now, day) = (link.now, rules::day(moment(link.now)?));
        let parent_call = run.parent_call.as_deref().map(rules::quoted);
        link.run(
            "INSERT INTO runs (tenant, id, session, token, agent, model, parent, parent_call, budget, owner,
             started_at, day, steps, calls, input_tokens, output_tokens, cached_tokens, cache_written_tokens,
             cost_micros, micros) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0, 0, 0, 0, 0, 0, 0, 0)",
            values![
                &run.session.tenant,
                &self.id,
                &run.session.id,
                token,
                &run.agent,
                &run.model,
                &run.parent,
                &parent_call,
                &self.budget,
                &run.owner,
                now,
                &day,
            ],
        )
        .await?;
        Ok(())
    }
}

#[async_trait]
impl Work for Begin {
    type Made = Lease;

    fn tenant(&self) -> &str {
        &self.run.session.tenant
    }

    fn instants(&self) -> Instants {
        instants!("begin")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Lease, Fault> {
        let (run, key) = (&self.run, &self.run.session);
        let held = locked(link, key).await?;
        held.refuse_if_live(key, link.now)?;
        rules::refuse_if_outdated(run, held.entries)?;
        if let Some(message) = &run.queued {
            take_message(link, key, message).await?;
            passing("store.begin.message");
        }
        leave_behind(link, key, &held).await?;
        let token = take(link, key, &self.id, &run.owner, &held, rules::lasts(run.lasts)).await?;
        self.insert(link, token).await?;
        passing("store.begin.run");
        if !run.entries.is_empty() {
            self.words.append(link, key, &held).await?;
            passing("store.begin.entries");
        }
        Ok(Lease { session: key.clone(), run: self.id.clone(), token, owner: run.owner.clone(), lasts: run.lasts })
    }
}

/// Takes a message from the queue. Its id stays, so that the same message does not come in again.
async fn take_message(link: &mut Link<'_>, key: &SessionKey, message: &str) -> Result<(), Fault> {
    let taken = link
        .run(
            "UPDATE messages SET message = NULL WHERE tenant = $1 AND session = $2 AND id = $3 AND message IS NOT NULL",
            values![&key.tenant, &key.id, message],
        )
        .await?;
    if taken == 0 { Err(StoreError::NotQueued(message.to_owned()).into()) } else { Ok(()) }
}

/// Takes over a run.
pub(super) struct Claim<'a> {
    pub(super) tenant: &'a str,
    pub(super) run: &'a str,
    pub(super) owner: &'a str,
    pub(super) lasts: Duration,
}

#[async_trait]
impl Work for Claim<'_> {
    type Made = Lease;

    fn tenant(&self) -> &str {
        self.tenant
    }

    fn instants(&self) -> Instants {
        instants!("claim")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Lease, Fault> {
        let found = values![self.tenant, self.run];
        let row = link.row("SELECT session FROM runs WHERE tenant = $1 AND id = $2", found).await?;
        let key = SessionKey::new(self.tenant, row.ok_or_else(|| rules::no_run(self.run))?.text(0)?);
        let held = locked(link, &key).await?;
        if held.hold.as_ref().is_none_or(|hold| hold.run != self.run) {
            return Err(rules::run_is_over(self.run).into());
        }
        held.refuse_if_live(&key, link.now)?;
        let token = take(link, &key, self.run, self.owner, &held, rules::lasts(self.lasts)).await?;
        passing("store.claim.session");
        link.run(
            "UPDATE runs SET owner = $3, token = $4 WHERE tenant = $1 AND id = $2",
            values![self.tenant, self.run, self.owner, token],
        )
        .await?;
        Ok(Lease { session: key, run: self.run.to_owned(), token, owner: self.owner.to_owned(), lasts: self.lasts })
    }
}

/// Ends a run.
pub(super) struct End<'a> {
    pub(super) lease: &'a Lease,
    pub(super) end: &'a RunEnd,
}

#[async_trait]
impl Work for End<'_> {
    type Made = ();

    fn tenant(&self) -> &str {
        &self.lease.session.tenant
    }

    fn instants(&self) -> Instants {
        instants!("end")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        let (tenant, run) = (&self.lease.session.tenant, &self.lease.run);
        fenced(link, self.lease).await?;
        let (now, ending) = (link.now, rules::json("how a run ended", &self.end.ending)?);
        link.run(
            "UPDATE runs SET ended_at = $3, ending = $4 WHERE tenant = $1 AND id = $2",
            values![tenant, run, now, &ending],
        )
        .await?;
        save_spending(link, self.lease, self.end.spending).await?;
        passing("store.end.run");
        release(link, &self.lease.session).await
    }
}
