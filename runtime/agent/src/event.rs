//! What a watcher (terminal, log, server-sent events) is told. Only the loop sends events, and what it has started.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::provider::is_zero;
use crate::{FailureKind, Spent, ToolOutcome, ToolResult, Usage};

/// Something a watcher is told. Every start is followed by exactly one end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A run began.
    RunStarted {
        /// The agent's name.
        agent: String,
        /// The provider's name.
        provider: String,
        /// The model's name, if there is a choice.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        model: String,
    },
    /// A step began: the provider is being asked.
    StepStarted {
        /// Counts from one.
        step: u32,
    },
    /// More of what the model says came in. Only the reply counts.
    ReplyText {
        /// What was added.
        text: String,
    },
    /// More of what the model thinks came in.
    ReplyThinking {
        /// What was added.
        text: String,
    },
    /// The model is writing a call.
    ReplyCall {
        /// The tool's name.
        tool: String,
        /// How many bytes of its input there are.
        bytes: usize,
    },
    /// What came in of the reply is void: the provider is asked again.
    ReplyAgain {
        /// Why.
        why: String,
        /// After how long.
        #[serde(rename = "wait_micros", with = "crate::tool::micros")]
        wait: Duration,
    },
    /// The conversation became too long; the model reads a summary of its first part from now on.
    Compacted {
        /// How many entries the summary stands for.
        entries: usize,
        /// About how many tokens the conversation had.
        before: u64,
        /// About how many it has now.
        after: u64,
    },
    /// The host told the model something, such as that its reply was cut.
    Noticed {
        /// What.
        text: String,
    },
    /// The provider replied.
    ModelReplied {
        /// What the model said.
        text: String,
        /// How many calls it wants.
        calls: usize,
        /// What the reply cost.
        usage: Usage,
    },
    /// A call began.
    CallStarted {
        /// The call's id.
        id: String,
        /// The tool's name.
        tool: String,
        /// The input as JSON, its long parts shortened.
        input: String,
    },
    /// A call says how far it is.
    CallProgress {
        /// The call's id.
        id: String,
        /// What it says.
        message: String,
    },
    /// A call ended.
    CallFinished {
        /// The call's id.
        id: String,
        /// The tool's name.
        tool: String,
        /// The kind of failure, if it failed.
        failure: Option<FailureKind>,
        /// The first line of what the model reads, shortened.
        summary: String,
        /// How long it took.
        #[serde(rename = "micros", with = "crate::tool::micros")]
        duration: Duration,
        /// How many bytes the model reads.
        bytes: usize,
        /// The most memory it held at once, in bytes; zero if nobody knows.
        #[serde(default, skip_serializing_if = "is_zero")]
        peak_memory: u64,
        /// What was refused on the way.
        denials: Vec<String>,
        /// Where the whole output is kept, if the model reads only a part of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<String>,
    },
    /// An agent was asked by a call of this run, and begins. What it may do was worked out by the host.
    #[serde(rename = "subagent_start")]
    SubagentStarted {
        /// Names this piece of work.
        task: String,
        /// The agent.
        agent: String,
        /// Its session.
        session: String,
        /// The session of the agent that asked.
        parent_session: String,
        /// The call that asked.
        call: String,
        /// What it is to do, shortened.
        description: String,
        /// What its definition would allow and it was not given, each with the reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cut: Vec<String>,
    },
    /// Something happens in such an agent's run.
    SubagentProgress {
        /// The piece of work.
        task: String,
        /// What happens.
        #[serde(rename = "of")]
        event: Box<Event>,
    },
    /// Such a piece of work is over.
    #[serde(rename = "subagent_end")]
    SubagentEnded {
        /// The piece of work.
        task: String,
        /// The agent.
        agent: String,
        /// Its session.
        session: String,
        /// Whether it answered.
        success: bool,
        /// How it ended.
        ending: Ending,
        /// What it cost.
        usage: Usage,
    },
    /// The run is over.
    RunEnded {
        /// How it ended.
        ending: Ending,
        /// How many steps it took.
        steps: u32,
        /// What all replies cost.
        usage: Usage,
    },
}

impl Event {
    pub(crate) fn finished(id: &str, tool: &str, result: &ToolResult) -> Self {
        let failure = match result.outcome {
            ToolOutcome::Done(_) => None,
            ToolOutcome::Failed { kind, .. } => Some(kind),
        };
        Self::CallFinished {
            id: id.to_owned(),
            tool: tool.to_owned(),
            failure,
            summary: shorten(result.text().lines().next().unwrap_or_default()),
            duration: result.cost.duration,
            bytes: result.text().len(),
            peak_memory: result.cost.peak_memory,
            denials: result.denials.clone(),
            artifact: result.artifact.clone(),
        }
    }
}

/// How a run ended, in one word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With an answer.
    Answered,
    /// With nothing left of the budget.
    Spent(Spent),
    /// With a model that did nothing but repeat itself.
    Circling,
    /// From outside.
    Cancelled,
    /// The provider gave no reply.
    Failed(String),
    /// The answer does not have the form it should have.
    Unfit(String),
    /// What was done could not be written down.
    Unwritten(String),
}

/// Is told what happens in a run. Called inside the loop, so it must not block for long.
pub trait Watcher: Send + Sync {
    /// Takes one event.
    fn watch(&self, event: Event);
}

impl<F: Fn(Event) + Send + Sync> Watcher for F {
    fn watch(&self, event: Event) {
        self(event);
    }
}

/// A watcher that looks away.
#[derive(Clone, Copy, Debug)]
pub struct Quiet;

impl Watcher for Quiet {
    fn watch(&self, _: Event) {}
}

/// The input of a call as JSON with its long parts shortened, for somebody who watches.
pub(crate) fn brief(input: &Value) -> String {
    const MEMBERS: usize = 8;
    let part = |value: &Value| match value {
        Value::String(text) => Value::String(shorten(text)),
        Value::Array(_) | Value::Object(_) => Value::String(shorten(&value.to_string())),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    };
    let brief = match input {
        Value::Object(members) => {
            members.iter().take(MEMBERS).map(|(name, value)| (shorten(name), part(value))).collect()
        }
        other => part(other),
    };
    brief.to_string()
}

/// Shortens a text to what fits a line of a terminal.
pub(crate) fn shorten(text: &str) -> String {
    const LINE: usize = 120;
    let mut characters = text.chars();
    let mut line: String = characters.by_ref().take(LINE).collect();
    if characters.next().is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_brief_input_is_still_json() {
        let input = json!({ "path": "a.txt", "content": "x".repeat(1000), "lines": [1, 2], "all": true });
        let expected =
            json!({ "path": "a.txt", "content": format!("{}…", "x".repeat(120)), "lines": "[1,2]", "all": true });
        assert_eq!(brief(&input), expected.to_string());
    }
}
