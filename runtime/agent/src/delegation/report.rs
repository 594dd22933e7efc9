//! What came of a piece of work: one record, whichever tool shows it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::order::Order;
use crate::{Ending, Entry, FailureKind, Spent, Transcript, Usage, clip};

/// What came of a piece of work.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) task: String,
    pub(super) agent: String,
    pub(super) session: String,
    /// Whether the session is still there.
    pub(super) lasts: bool,
    pub(super) ending: Ending,
    /// Why there is no answer, in words.
    pub(super) failure: Option<String>,
    /// The answer, or the last words before it ended otherwise.
    pub(super) answer: String,
    pub(super) usage: Usage,
    pub(super) duration: Duration,
    pub(super) cut: Vec<String>,
    pub(super) warnings: Vec<String>,
    pub(super) calls: Vec<(String, Duration)>,
    pub(super) thinking: String,
}

/// What is said of an agent that ended without a word.
const WORDLESS: &str = "did not provide a summary";
/// What agents of other programs say when they were interrupted.
const INTERRUPTED: &str = "[Request interrupted";

impl Report {
    /// The report of work that ended like this, with what was said and done in it.
    pub(super) fn of(order: &Order, ending: Ending, answer: &str, entries: &[Entry]) -> Self {
        let failure = failure(order, &ending, entries);
        let answer = match (is_wordless(answer), &failure) {
            (false, _) => answer.to_owned(),
            (true, None) => last_words(entries).unwrap_or(WORDLESS).to_owned(),
            (true, Some(_)) => last_words(entries).unwrap_or_default().to_owned(),
        };
        Self {
            task: order.task.clone(),
            agent: order.recruit.agent.name.clone(),
            session: order.session.id.clone(),
            lasts: order.keep.lasts(),
            ending,
            failure,
            answer,
            usage: Usage::default(),
            duration: Duration::ZERO,
            cut: order.recruit.cut.clone(),
            warnings: Vec::new(),
            calls: calls(entries),
            thinking: thinking(entries),
        }
    }

    /// Whether it was answered.
    pub(super) fn is_success(&self) -> bool {
        self.failure.is_none()
    }

    /// What kind of failure it is for the one that asked.
    pub(super) fn kind(&self) -> FailureKind {
        match self.ending {
            Ending::Spent(_) => FailureKind::Limit,
            Ending::Cancelled => FailureKind::Cancelled,
            _ => FailureKind::Failed,
        }
    }

    /// The answer, or why there is none, no longer than the one that asked should read.
    pub(super) fn words(&self, room: usize) -> String {
        match &self.failure {
            None => clip(&self.answer, room),
            Some(failure) if self.answer.is_empty() => clip(failure, room),
            Some(failure) => format!("{failure}\n\n{}", clip(&self.answer, room)),
        }
    }

    /// As `task` and its kin show it.
    pub(super) fn envelope(&self, room: usize) -> Map<String, Value> {
        let mut shown = Map::new();
        let mut put = |name: &str, value: Value| drop(shown.insert(name.to_owned(), value));
        put("success", json!(self.is_success()));
        if let Some(failure) = &self.failure {
            put("error", json!(failure));
            put("error_type", json!(self.error_type()));
        }
        if !self.answer.is_empty() {
            put("result", json!(clip(&self.answer, room)));
        }
        if self.answer.len() > room {
            put("truncated", json!(true));
        }
        put("agent_used", json!(self.agent));
        if self.lasts {
            put("agent_id", json!(self.session));
        }
        put("session_id", json!(self.session));
        put("task_id", json!(self.task));
        put("duration", json!(self.duration.as_millis() as f64 / 1000.0));
        for (name, list) in [("cut", &self.cut), ("warnings", &self.warnings)] {
            if !list.is_empty() {
                put(name, json!(list));
            }
        }
        shown
    }

    fn error_type(&self) -> &'static str {
        match self.ending {
            Ending::Spent(Spent::Time) => "timeout",
            Ending::Spent(_) => "limit_exceeded",
            Ending::Cancelled => "cancelled",
            _ => "execution_error",
        }
    }
}

/// Why there is no answer, for the model that asked.
fn failure(order: &Order, ending: &Ending, entries: &[Entry]) -> Option<String> {
    let name = &order.recruit.agent.name;
    match ending {
        Ending::Answered => None,
        Ending::Spent(Spent::Time) => Some(format!(
            "Agent failed: {}. The timeout was {} seconds. Consider increasing the timeout or breaking the task into \
             smaller subtasks.",
            Spent::Time,
            order.allowance.time.as_secs()
        )),
        Ending::Spent(Spent::Steps) if rounds(entries) >= u64::from(order.allowance.steps) => {
            Some(format!("Max tool rounds ({}) exceeded", order.allowance.steps))
        }
        Ending::Spent(Spent::Steps) => {
            Some(format!("agent `{name}` could not finish: the one that asked has no steps left to give"))
        }
        Ending::Spent(spent) => Some(format!("agent `{name}` could not finish: {spent}")),
        Ending::Circling => Some(format!("agent `{name}` only repeated itself; put the task in other words")),
        Ending::Cancelled => Some(format!("agent `{name}` was cancelled")),
        Ending::Failed(why) | Ending::Unfit(why) | Ending::Unwritten(why) => {
            Some(format!("agent `{name}` failed: {why}"))
        }
    }
}

fn rounds(entries: &[Entry]) -> u64 {
    entries.iter().filter(|entry| matches!(entry, Entry::Reply { .. })).count() as u64
}

fn is_wordless(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || text.starts_with(INTERRUPTED)
}

fn last_words(entries: &[Entry]) -> Option<&str> {
    entries.iter().rev().find_map(|entry| match entry {
        Entry::Reply { text, .. } => Some(text.trim()).filter(|text| !is_wordless(text)),
        _ => None,
    })
}

fn calls(entries: &[Entry]) -> Vec<(String, Duration)> {
    let transcript = Transcript::of(entries.to_vec());
    let took = |result: Option<&crate::ToolResult>| result.map(|result| result.cost.duration).unwrap_or_default();
    transcript.calls().map(|(call, result)| (call.tool.clone(), took(result))).collect()
}

fn thinking(entries: &[Entry]) -> String {
    let thoughts = entries.iter().filter_map(|entry| match entry {
        Entry::Reply { thinking, .. } => Some(thinking.trim()).filter(|thinking| !thinking.is_empty()),
        _ => None,
    });
    thoughts.collect::<Vec<_>>().join("\n\n")
}
