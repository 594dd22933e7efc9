//! The model of the proof: it answers until it is told to try something, and writes down what came of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use palisade_agent::{
    Entry, Listener, Prompt, Provider, ProviderError, ProviderFailure, Reply, ToolCall, ToolResult, Transcript,
};
use palisade_grants::Grants;
use palisade_sandbox::Limits;
use serde_json::{Value, json};

use super::{Axis, world::ASKED};

/// What the agents of the proof are to do, and what was seen of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// What is tried from now on.
    pub(super) orders: Orders,
    /// Whether it was tried.
    pub(super) tried: bool,
    /// The tools that the agent was told of.
    pub(super) offered: Vec<String>,
    /// What came of its calls.
    pub(super) results: Vec<ToolResult>,
    /// What the sandboxes held that its calls were made in.
    pub(super) scopes: Vec<(Grants, Limits)>,
    /// Whether a component that wants another tool was linked for it.
    pub(super) borrowed: bool,
    /// How many steps were taken below the one at the top, since it sat down.
    pub(super) steps: u32,
    /// Which agent was used for which other one, if one was.
    pub(super) mixed_up: Option<String>,
    /// How many levels below the coordinator somebody spoke.
    pub(super) deepest: usize,
}

/// What the agents of the proof are to do.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Orders {
    /// What to try; without, they answer.
    pub(super) axis: Option<Axis>,
    /// Only in a turn that an answer begins; in the one before, somebody is asked without waiting.
    pub(super) in_callback: bool,
    /// Through another tool.
    pub(super) through_relay: bool,
    /// Whether native programs can be confined here, so that one is run.
    pub(super) runs_programs: bool,
    /// The next reply fails.
    pub(super) fail: bool,
}

/// What was seen, shared by all that see.
#[derive(Clone, Default)]
pub(super) struct Notes {
    seen: Arc<Mutex<Seen>>,
    midway: Arc<Mutex<Option<Change>>>,
}

type Change = Box<dyn FnOnce() + Send>;

impl Notes {
    pub(super) fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has something changed when the agent is at work, before it tries.
    pub(super) fn midway(&self, change: impl FnOnce() + Send + 'static) {
        *self.midway.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(change));
    }

    fn take_change(&self) -> Option<Change> {
        self.midway.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// One agent's model.
pub(super) struct Hostile {
    pub(super) notes: Notes,
    /// How many levels below the coordinator the agent is.
    pub(super) level: usize,
    pub(super) part: Part,
}

/// Which part an agent has in the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It tries.
    Asked,
    /// It asks that one, for the one at the top.
    Between,
    /// It is asked by that one, or by one of its own kind.
    Deeper,
    /// It answers.
    Other,
}

/// What the agents below each other are called.
pub(super) fn deeper(level: usize) -> String {
    format!("deeper-{level}")
}

/// Whom the agent asks without waiting.
pub(super) const HELPER: &str = "helper";

#[async_trait]
impl Provider for Hostile {
    fn name(&self) -> &str {
        "hostile"
    }

    async fn reply(&self, prompt: Prompt<'_>, _: &dyn Listener) -> Result<Reply, ProviderError> {
        let (step, begun_by) = turn(prompt.transcript);
        if self.part == Part::Asked
            && self.notes.lock().orders.axis.is_some()
            && let Some(change) = self.notes.take_change()
        {
            change();
        }
        let seen = &mut *self.notes.lock();
        seen.steps += u32::from(self.level > 0);
        if std::mem::take(&mut seen.orders.fail) {
            let (provider, message) = (self.name().to_owned(), "it fails".to_owned());
            return Err(ProviderError { provider, kind: ProviderFailure::Rejected, message });
        }
        let Orders { axis, in_callback, .. } = seen.orders;
        let is_callback = begun_by.starts_with("[Async response");
        let is_turn = !in_callback || is_callback || self.part == Part::Deeper;
        let axis = axis.filter(|axis| match self.part {
            Part::Asked | Part::Between => true,
            Part::Deeper => *axis == Axis::Depth,
            Part::Other => false,
        });
        let call = match axis {
            Some(_) if self.part == Part::Between => (step == 0).then(|| task(ASKED, "do it")),
            Some(axis) if is_turn => {
                seen.tried = true;
                seen.deepest = seen.deepest.max(self.level);
                seen.offered = prompt.tools.iter().map(|tool| tool.name.clone()).collect();
                seen.results = results(prompt.transcript, begun_by).cloned().collect();
                axis.attempt(step, seen.orders, &deeper(self.level + 1))
            }
            Some(_) if step == 0 => {
                let message = json!({ "agentId": HELPER, "content": "take your time", "mode": "async" });
                Some(("agents_message".to_owned(), message))
            }
            _ => None,
        };
        let calls = call.map(|(tool, input)| ToolCall { id: format!("call-{step}"), tool, input });
        let text = if calls.is_none() { "done" } else { "" };
        Ok(Reply { text: text.to_owned(), calls: calls.into_iter().collect(), ..Reply::default() })
    }
}

/// A call that hands a task on.
pub(super) fn task(agent: &str, prompt: &str) -> (String, Value) {
    ("task".to_owned(), json!({ "agent": agent, "prompt": prompt }))
}

/// How many replies there were in this turn, and what it began with.
fn turn(transcript: &Transcript) -> (u32, &str) {
    let mut replies = 0;
    for entry in transcript.entries().iter().rev() {
        match entry {
            Entry::User { text } => return (replies, text),
            Entry::Reply { .. } => replies += 1,
            _ => {}
        }
    }
    (replies, "")
}

/// What came of the calls of this turn.
fn results<'a>(transcript: &'a Transcript, begun_by: &'a str) -> impl Iterator<Item = &'a ToolResult> {
    let entries = transcript.entries();
    let begun = entries.iter().rposition(|entry| matches!(entry, Entry::User { text } if text == begun_by));
    entries.get(begun.unwrap_or(0)..).unwrap_or_default().iter().filter_map(|entry| match entry {
        Entry::Result { result, .. } => Some(result),
        _ => None,
    })
}
