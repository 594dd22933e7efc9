//! A run as lines of JSON, for programs. `docs/events.md` describes them, `docs/events.schema.json` in
//! detail; a test holds every line of real runs against it.

use std::{
    io,
    sync::{Mutex, PoisonError},
};

use palisade_agent::{Event, Watcher};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{conversation::Conversation, interrupts::Interrupts, render::Terminal, sessions::Ids};

/// The version of the lines: within one, fields and events are added, never removed or changed.
pub(crate) const VERSION: u32 = 1;

/// Prints each event as one line.
pub(crate) struct EventLines {
    terminal: Terminal,
    interrupts: Interrupts,
    /// The first line that could not be printed.
    failed: Mutex<Option<io::Error>>,
}

#[derive(Serialize)]
struct Versioned<'a> {
    v: u32,
    #[serde(flatten)]
    event: &'a Event,
}

impl EventLines {
    /// Prints the first line: who works where, and which program this is.
    pub(crate) fn begin(terminal: &Terminal, conversation: &Conversation<'_>, ids: Option<&Ids>) -> io::Result<Self> {
        let mut started = json!({
            "v": VERSION,
            "event": "started",
            "agent": conversation.effective.agent.name,
            "provider": conversation.provider.name(),
            "model": conversation.provider.model(),
            "workspace": conversation.workspace.display().to_string(),
            "version": env!("CARGO_PKG_VERSION"),
        });
        if let Some(Ids { session, run }) = ids {
            started["session"] = session.as_str().into();
            started["run"] = run.as_str().into();
        }
        terminal.json_line(&started)?;
        Ok(Self { terminal: terminal.clone(), interrupts: conversation.interrupts.clone(), failed: Mutex::default() })
    }

    /// Whether every line was printed.
    pub(crate) fn end(&self) -> io::Result<()> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

impl Watcher for EventLines {
    fn watch(&self, event: Event) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let print = || {
            self.terminal.json_line(&Versioned { v: VERSION, event: &event })?;
            alias(&event).map_or(Ok(()), |line| self.terminal.json_line(&line))
        };
        if failed.is_none()
            && let Err(error) = print()
        {
            // Nobody reads any more, so nobody wants the rest.
            self.interrupts.stop();
            *failed = Some(error);
        }
    }
}

/// The names that other programs have for the beginning and the end of an agent that was asked.
fn alias(event: &Event) -> Option<Value> {
    match event {
        Event::SubagentStarted { task, agent, call, .. } => {
            Some(json!({ "v": VERSION, "event": "agent_start", "task": task, "agent": agent, "call": call }))
        }
        Event::SubagentEnded { task, agent, success, .. } => {
            Some(json!({ "v": VERSION, "event": "agent_end", "task": task, "agent": agent, "success": success }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use palisade_agent::{Ending, FailureKind, Spent, Usage};

    use super::*;

    /// One of each.
    fn samples() -> Vec<Event> {
        let (text, tool, id) = (|| "text".to_owned(), || "grep".to_owned(), || "1".to_owned());
        let usage =
            Usage { input_tokens: 1, output_tokens: 2, cached_tokens: 3, cache_written_tokens: 4, cost_micros: 5 };
        let finished = |failure, artifact| Event::CallFinished {
            id: id(),
            tool: tool(),
            failure,
            summary: text(),
            duration: Duration::from_micros(3),
            bytes: 4,
            peak_memory: 5,
            denials: vec![text()],
            artifact,
        };
        let ended = |ending| Event::RunEnded { ending, steps: 3, usage };
        let mut samples = vec![
            Event::RunStarted { agent: text(), provider: text(), model: text() },
            Event::StepStarted { step: 1 },
            Event::ReplyText { text: text() },
            Event::ReplyThinking { text: text() },
            Event::ReplyCall { tool: tool(), bytes: 256 },
            Event::ReplyAgain { why: text(), wait: Duration::from_secs(1) },
            Event::Compacted { entries: 3, before: 9, after: 1 },
            Event::Noticed { text: text() },
            Event::ModelReplied { text: text(), calls: 1, usage },
            Event::CallStarted { id: id(), tool: tool(), input: "{}".to_owned() },
            Event::CallProgress { id: id(), message: text() },
            finished(None, Some(text())),
            ended(Ending::Answered),
            ended(Ending::Circling),
            ended(Ending::Cancelled),
            ended(Ending::Failed(text())),
            ended(Ending::Unfit(text())),
            ended(Ending::Unwritten(text())),
            Event::SubagentStarted {
                task: id(),
                agent: text(),
                session: text(),
                parent_session: text(),
                call: id(),
                description: text(),
                cut: vec![text()],
            },
            Event::SubagentProgress { task: id(), event: Box::new(Event::StepStarted { step: 1 }) },
            Event::SubagentEnded {
                task: id(),
                agent: text(),
                session: text(),
                success: false,
                ending: Ending::Spent(Spent::Depth),
                usage,
            },
        ];
        let kinds = [
            FailureKind::UnknownTool,
            FailureKind::InvalidInput,
            FailureKind::Denied,
            FailureKind::Failed,
            FailureKind::Limit,
            FailureKind::Crashed,
            FailureKind::Skipped,
            FailureKind::Cancelled,
            FailureKind::Interrupted,
        ];
        samples.extend(kinds.map(|kind| finished(Some(kind), None)));
        let spent = [Spent::Steps, Spent::Tokens, Spent::Calls, Spent::Cost, Spent::Reply, Spent::Time, Spent::Depth];
        samples.extend(spent.map(|spent| ended(Ending::Spent(spent))));
        samples
    }

    #[test]
    fn every_event_is_what_the_schema_in_the_docs_says() {
        let schema: serde_json::Value = serde_json::from_str(include_str!("../../../docs/events.schema.json")).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let lines = samples().into_iter().flat_map(|event| {
            let line = serde_json::to_value(Versioned { v: VERSION, event: &event }).unwrap();
            [Some(line), alias(&event)].into_iter().flatten()
        });
        for line in lines {
            let faults: Vec<String> = validator.iter_errors(&line).map(|error| error.to_string()).collect();
            assert!(faults.is_empty(), "{line}: {faults:?}");
        }
        let unknown = json!({ "v": 1, "event": "step_started", "step": 1, "more": true });
        assert!(!validator.is_valid(&unknown), "a field that nobody described would not be found");
    }
}
