//! A piece of work before it begins: what is to be done, by whom, for whom, with which rights.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{fresh, keep::Keep, place::Place};
use crate::{Account, Cancellation, Queued, Recruit, Seat, Session, SessionKey};

/// What is to be done.
pub(super) struct Order {
    /// Names the piece of work.
    pub(super) task: String,
    /// What the one that asks calls the agent.
    pub(super) name: String,
    /// The agent that asks.
    pub(super) place: Arc<Place>,
    /// Its seat, under the ceiling that the session has of its own.
    pub(super) asker: Seat,
    /// The agent that is asked.
    pub(super) recruit: Recruit,
    /// The session it is asked in.
    pub(super) session: Session,
    /// Whether the session is new.
    pub(super) created: bool,
    /// What becomes of the session afterwards.
    pub(super) keep: Keep,
    /// The call that asks.
    pub(super) call: String,
    /// What the agent reads.
    pub(super) text: String,
    /// What its instructions say is to be done; absent: what the conversation began with.
    pub(super) doing: Option<String>,
    /// What people read.
    pub(super) description: String,
    /// What it draws from.
    pub(super) account: Account,
    /// How much it may use up, for texts.
    pub(super) allowance: Allowance,
    /// How many of the steps down to it were messages.
    pub(super) messages: u32,
    /// Whether nobody waits for the answer.
    pub(super) background: bool,
    /// When it is to end, whatever comes of it.
    pub(super) cancellation: Cancellation,
    /// What happens if somebody else works on the session.
    pub(super) when_busy: WhenBusy,
    /// Whether the answer comes as a turn of its own to the one that asked.
    pub(super) calls_back: bool,
    /// The run that it goes on with, which another process has left behind; absent: a run of its own.
    pub(super) left: Option<String>,
}

/// How much a piece of work may use up, for texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    pub(super) time: Duration,
    pub(super) steps: u32,
}

/// What happens if somebody else works on a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WhenBusy {
    /// Nothing is done.
    Refuse,
    /// The text is put into the session's queue.
    Queue,
    /// The text is in the session's queue under this id.
    Queued(String),
}

/// Who is asked by whom, with which rights, and out of what: what the host has worked out before anything is begun.
pub(super) struct Engaged {
    pub(super) asker: Seat,
    pub(super) recruit: Recruit,
    pub(super) account: Account,
    pub(super) allowance: Allowance,
}

impl Order {
    /// Has an agent read something in a session that was there before, and stays, for one who waits for the answer.
    pub(super) fn new(place: &Arc<Place>, name: &str, engaged: Engaged, session: Session, text: String) -> Self {
        let Engaged { asker, recruit, account, allowance } = engaged;
        Self {
            task: fresh::task_id(),
            name: name.to_owned(),
            place: Arc::clone(place),
            messages: asker.messages,
            cancellation: asker.cancellation.clone(),
            asker,
            recruit,
            session,
            created: false,
            keep: Keep::Stays,
            call: String::new(),
            description: text.clone(),
            text,
            doing: None,
            account,
            allowance,
            background: false,
            when_busy: WhenBusy::Refuse,
            calls_back: false,
            left: None,
        }
    }

    /// The session it is about.
    pub(super) fn key(&self) -> SessionKey {
        SessionKey::new(&self.asker.session.tenant, &self.session.id)
    }

    /// The text as it waits for the session to be free. Whoever sent it carries it out, with the rights it was
    /// sent with; when they no longer can, it is set aside.
    pub(super) fn queued(&self, owner: &str) -> Queued {
        let about = about("message", &self.asker.session.id, owner, Some(self.account.deadline()));
        Queued { id: self.task.clone(), session: self.key(), text: self.text.clone(), about }
    }
}

/// What is known of a message that waits: what it is, who sent it, until when that one can carry it out.
pub(super) fn about(kind: &str, from: &str, owner: &str, until: Option<tokio::time::Instant>) -> Value {
    let left = until.map(|until| until.saturating_duration_since(tokio::time::Instant::now()));
    let until = left.and_then(|left| jiff::Timestamp::now().checked_add(left).ok()).map(|until| until.to_string());
    json!({ "kind": kind, "from": from, "owner": owner, "until": until })
}

/// Whether a message is an answer that its session has asked for.
pub(super) fn is_callback(message: &Queued) -> bool {
    message.about.get("kind").and_then(Value::as_str) == Some("callback")
}

/// Whether nobody will carry out a message any more.
pub(super) fn is_expired(message: &Queued) -> bool {
    let until = message.about.get("until").and_then(Value::as_str);
    until.and_then(|until| until.parse::<jiff::Timestamp>().ok()).is_some_and(|until| until < jiff::Timestamp::now())
}
