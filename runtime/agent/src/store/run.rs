//! Runs as they last: who works on one, what it meant to do, what came of it, what it used up.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Budget, Ending, Entry, SessionKey, ToolCall, ToolResult, Usage};

/// An entry and its number in its session, counted from one without a gap.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbered {
    /// The number.
    pub number: u64,
    /// When it was written down.
    pub at: Timestamp,
    /// The entry.
    pub entry: Entry,
}

/// A run that is to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRun {
    /// The session it works on.
    pub session: SessionKey,
    /// The agent, which may have another name than the session's if that was an alias.
    pub agent: String,
    /// The provider and the model, in words.
    pub model: String,
    /// The run that delegated, if one did.
    pub parent: Option<String>,
    /// The call of that run.
    pub parent_call: Option<String>,
    /// The message of the queue that it answers; it is taken from there, and so `entries` must hold it.
    pub queued: Option<String>,
    /// What it begins with, such as the words of the user: written down in the same step, so that there is no
    /// moment in which a message has left the queue and is nowhere else.
    pub entries: Vec<Entry>,
    /// How many entries the session had when it was read to make `entries`: if it has others now, nothing is begun.
    /// Absent: whatever was said, they fit.
    pub after: Option<u64>,
    /// What it may use up.
    pub budget: Budget,
    /// Who works on it: a process that can be told from any other.
    pub owner: String,
    /// For how long it is held without [`crate::Store::renew`].
    pub lasts: Duration,
}

/// The right to write for one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The session.
    pub session: SessionKey,
    /// The run.
    pub run: String,
    /// Grows with every holder; a write with an older one is refused.
    pub token: u64,
    /// Who holds it.
    pub owner: String,
    /// For how long it is held without being renewed.
    pub lasts: Duration,
}

/// What a run writes down at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// What was said.
    pub entries: Vec<Entry>,
    /// Calls that will be made as soon as this is written.
    pub intents: Vec<Intent>,
    /// What came of calls that were meant to be made before.
    pub results: Vec<(String, ToolResult)>,
    /// What the run has used up so far, all in all.
    pub spending: Option<Spending>,
}

impl Batch {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.intents.is_empty() && self.results.is_empty() && self.spending.is_none()
    }
}

/// A call that will be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// The call.
    pub call: ToolCall,
    /// Whether making it twice is as good as making it once.
    pub idempotent: bool,
}

/// A call that a run meant to make.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRecord {
    /// What was to be done.
    pub intent: Intent,
    /// What came of it.
    pub state: CallState,
}

/// What came of a call that was meant to be made.
#[derive(Clone, Debug, PartialEq)]
pub enum CallState {
    /// Nobody knows.
    Unfinished,
    /// This.
    Finished(ToolResult),
}

/// What a run has used up so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// Model replies.
    pub steps: u32,
    /// Tool calls.
    pub calls: u64,
    /// Tokens and money.
    pub usage: Usage,
    /// Wall time.
    #[serde(rename = "micros", with = "crate::tool::micros")]
    pub time: Duration,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnd {
    /// How.
    pub ending: Ending,
    /// What it has used up.
    pub spending: Spending,
}

/// A run as it was left.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// What it is known by.
    pub id: String,
    /// The session.
    pub session: SessionKey,
    /// The agent.
    pub agent: String,
    /// The provider and the model, in words.
    pub model: String,
    /// The run that delegated, if one did.
    pub parent: Option<String>,
    /// The call of that run.
    pub parent_call: Option<String>,
    /// What it may use up.
    pub budget: Budget,
    /// What it has used up.
    pub spending: Spending,
    /// When it began.
    pub started_at: Timestamp,
    /// Whether it goes on.
    pub state: RunState,
}

/// Whether a run goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum RunState {
    /// It is held by somebody; whether that one is alive is another question.
    Open {
        /// Who holds it.
        owner: String,
    },
    /// It is over.
    Ended {
        /// How; nothing: it was left behind, and another run of its session began.
        ending: Option<Ending>,
        /// When.
        at: Timestamp,
    },
}

/// A message that waits for a session to be free.
#[derive(Clone, Debug, PartialEq)]
pub struct Queued {
    /// What it is known by.
    pub id: String,
    /// The session it waits for.
    pub session: SessionKey,
    /// The words.
    pub text: String,
    /// Who sent it and what is to happen with the answer, for whoever takes it out.
    pub about: Value,
}

/// Something that somebody may want to look into later: a spawn and what was cut, a denial, a take-over.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditRecord {
    /// Whose.
    pub tenant: String,
    /// When; set by the store.
    pub at: Option<Timestamp>,
    /// The session, if it is about one.
    pub session: Option<String>,
    /// The run, if it is about one.
    pub run: Option<String>,
    /// What happened, in one word.
    pub kind: String,
    /// What else is known.
    pub detail: Value,
}

/// What is added together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// All runs of one agent.
    Agent,
    /// All runs of one session.
    Session,
    /// All runs that began on one day, in UTC.
    Day,
}

/// Which runs are added together, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageQuery {
    /// Whose.
    pub tenant: String,
    /// One row for each of these.
    pub by: Span,
    /// Only runs that began at this moment or later. Of a deleted session's runs only the day is known: they count if
    /// it is the day of this moment or a later one.
    pub since: Option<Timestamp>,
    /// Only runs of this agent.
    pub agent: Option<String>,
}

/// What some runs used up.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UsageRow {
    /// The agent, the session or the day; empty for all sessions that were deleted.
    pub of: String,
    /// How many runs.
    pub runs: u64,
    /// How many of them answered.
    pub answered: u64,
    /// What they used up together.
    pub spending: Spending,
}
