//! Messages that wait for a session to be free: those of other agents, and answers that come when the one that
//! asked is busy with something else.

use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;

use super::{
    Delegation, POLL,
    order::{Order, about, is_callback, is_expired},
    place::Above,
    refusal::Refusal,
    report::Report,
};
use crate::{
    CallRecord, Cancellation, Ending, Entry, NewRun, Queued, RunEnd, SessionKey, Spending, StoreError, Transcript,
    passing,
};

/// How many entries are read at once.
const PAGE: usize = 512;

/// What is left in a session of a message that nobody could carry out.
const SET_ASIDE: &str = "the message before this was not worked on: its sender ended before the session was free";

impl Delegation {
    /// The next answer that has come for a session which somebody outside holds, such as the user's: a turn to
    /// be run with [`NewRun::queued`]. Waits for work that goes on; nothing when no more can come. What a process that is
    /// gone has left behind below the session is ended first.
    pub async fn next_callback(&self, session: &SessionKey) -> Result<Option<Queued>, StoreError> {
        self.end_left_behind(session).await?;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let expects_more = self.active.background_of(&session.tenant, &session.id) > 0;
            self.bring_results(session).await?;
            match self.store.next_queued(session).await {
                Ok(Some(message)) if is_callback(&message) => return Ok(Some(message)),
                Ok(Some(message)) if is_expired(&message) => {
                    self.set_aside(&message).await?;
                    continue;
                }
                Ok(_) if !expects_more => return Ok(None),
                Ok(_) => {}
                // A session that nobody wrote down gets no answers.
                Err(StoreError::NoSession(_)) if !expects_more => return Ok(None),
                Err(StoreError::NoSession(_)) => {}
                Err(error) => return Err(error),
            }
            changed.await;
        }
    }

    /// Results of work in the background that nobody has asked for become answers.
    async fn bring_results(&self, session: &SessionKey) -> Result<(), StoreError> {
        for piece in self.active.finished_of(&session.tenant, &session.id) {
            let report = piece.handle.report.borrow().clone();
            if let Some(report) = report {
                // The same answer twice is one.
                self.enqueue_callback(session, &report, None).await?;
            }
            self.active.settle(&piece.task);
        }
        Ok(())
    }

    /// Brings an answer to the one that asked for it and did not wait: as a turn of its own.
    pub(super) async fn call_back(self: &Arc<Self>, order: &Order, report: &Report) {
        let caller = &order.asker.session;
        let above = order.place.above.as_ref();
        let until = above.map(|_| order.asker.account.deadline());
        passing("delegation.before_callback");
        // A session that is gone has no use for answers; one that cannot be written to now gets none.
        let Ok(Some(message)) = self.enqueue_callback(caller, report, until).await else { return };
        passing("delegation.callback_queued");
        // From now on the answer is in the queue and nowhere else.
        self.active.settle(&report.task);
        if let Some(above) = above {
            self.take_callback(above, &message).await;
        }
        self.changed.notify_waiters();
    }

    async fn enqueue_callback(
        &self,
        session: &SessionKey,
        report: &Report,
        until: Option<Instant>,
    ) -> Result<Option<Queued>, StoreError> {
        self.enqueue_answer(session, &report.task, &report.session, &report.words(self.limits.answer), until).await
    }

    /// The same answer again is the same message.
    pub(super) async fn enqueue_answer(
        &self,
        session: &SessionKey,
        task: &str,
        from: &str,
        words: &str,
        until: Option<Instant>,
    ) -> Result<Option<Queued>, StoreError> {
        let text = format!("[Async response, responseId={task}]: {words}");
        let about = about("callback", from, &self.owner, until);
        let message = Queued { id: format!("callback-{task}"), session: session.clone(), text, about };
        match self.store.enqueue(&message).await {
            Ok(()) => Ok(Some(message)),
            Err(StoreError::NoSession(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Has an agent that another asked work on an answer to it, for the same one and with the same rights.
    async fn take_callback(self: &Arc<Self>, above: &Above, message: &Queued) {
        // Whatever is in the way now, the answer stays in the queue of its session.
        if let Ok(order) = self.callback_order(above, message).await {
            self.start(order).leave();
        }
    }

    /// Waits until a message is the first in the queue of a session.
    pub(super) async fn wait_for_turn(
        &self,
        session: &SessionKey,
        id: &str,
        deadline: Instant,
        cancellation: &Cancellation,
    ) -> Result<(), Refusal> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            match self.store.next_queued(session).await? {
                None => return Err(Refusal::session("the message was taken out of the queue by somebody else")),
                Some(first) if first.id == id && !self.is_held(session).await? => return Ok(()),
                Some(first) if first.id != id && is_expired(&first) => drop(self.set_aside(&first).await),
                Some(_) => {}
            }
            tokio::select! {
                () = cancellation.cancelled() => return Err(Refusal::over()),
                () = tokio::time::sleep_until(deadline) => return Err(Refusal::over()),
                () = changed => {}
                // Other processes do not tell when they are done.
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }

    /// Whether somebody works on a session, as far as this process knows.
    async fn is_held(&self, session: &SessionKey) -> Result<bool, StoreError> {
        let last = self.store.last_run(session).await?;
        Ok(last.is_some_and(|run| match run.state {
            crate::RunState::Open { owner } => owner == self.owner,
            crate::RunState::Ended { .. } => false,
        }))
    }

    /// Takes a message out of the queue that nobody can carry out any more. It stays to be read.
    async fn set_aside(&self, message: &Queued) -> Result<(), StoreError> {
        let session = self.store.session(&message.session).await?;
        let (mut transcript, known) = self.load(&message.session).await?;
        let after = Some(transcript.entries().len() as u64);
        let mut entries = transcript.take_up(&message.text, &known);
        entries.push(Entry::Notice { text: SET_ASIDE.to_owned() });
        let run = NewRun {
            session: message.session.clone(),
            agent: session.agent,
            model: "none".to_owned(),
            parent: None,
            parent_call: None,
            queued: Some(message.id.clone()),
            entries,
            after,
            budget: crate::Budget { steps: 0, ..crate::Budget::default() },
            owner: self.owner.clone(),
            lasts: self.lease,
        };
        let lease = self.store.begin(run).await?;
        let detail = json!({ "message": message.id });
        let audited = self.audit(&message.session, Some(&lease.run), "message_set_aside", detail).await;
        self.store.end(&lease, &RunEnd { ending: Ending::Cancelled, spending: Spending::default() }).await?;
        audited
    }

    /// What was said in a session, and what is known of calls that were left open.
    pub(super) async fn load(&self, session: &SessionKey) -> Result<(Transcript, Vec<CallRecord>), StoreError> {
        let mut entries = Vec::new();
        loop {
            let page = self.store.entries(session, entries.len() as u64, PAGE).await?;
            let is_last = page.len() < PAGE;
            entries.extend(page.into_iter().map(|numbered| numbered.entry));
            if is_last {
                break;
            }
        }
        let transcript = Transcript::of(entries);
        let has_open = transcript.open_calls().next().is_some();
        let known = match self.store.last_run(session).await? {
            Some(run) if has_open => self.store.calls(&session.tenant, &run.id).await?,
            _ => Vec::new(),
        };
        Ok((transcript, known))
    }
}
