//! Pi: `pi --mode json`. As version 0.87.1 speaks.

use palisade_agent::{ProviderFailure, ReplyEnd, Usage};
use serde_json::Value;

use super::{
    cost,
    fault::{fault, told},
    program::{Asked, Events, Finished},
    telling::Telling,
};
use crate::dialect::{Fault, Progress};

/// What is set here, and what would change how it speaks, where it works or which session it is in.
pub(super) const MANAGED: &[&str] = &[
    "--mode",
    "--print",
    "-p",
    "--session",
    "--session-id",
    "--no-session",
    "--continue",
    "-c",
    "--resume",
    "-r",
    "--fork",
    "--model",
    "--thinking",
    "--append-system-prompt",
    "--export",
    "--list-models",
    "--help",
    "-h",
    "--version",
    "-v",
];

/// What says whether files of the workspace may decide anything.
const APPROVAL: [&str; 4] = ["--approve", "-a", "--no-approve", "-na"];

/// The arguments of a run; what it is asked comes in by its standard input.
pub(super) fn arguments(asked: &Asked<'_>, extra: &[String]) -> Vec<String> {
    let mut arguments: Vec<String> = ["--mode", "json", "--print"].map(str::to_owned).into();
    // The option that begins a session would begin it anew if it is gone; this one says that it is.
    arguments.extend(asked.options("--session", "--thinking"));
    // Files of the workspace decide nothing, unless the operator says so.
    if !extra.iter().any(|own| APPROVAL.contains(&own.as_str())) {
        arguments.push("--no-approve".to_owned());
    }
    arguments.extend_from_slice(extra);
    arguments
}

/// Reads its events.
#[derive(Debug)]
pub(super) struct Reader {
    before: Usage,
    session: Option<String>,
    /// The text of the message that is coming in was told of while it did.
    streamed: bool,
    usage: Usage,
    last: Option<Value>,
    settled: bool,
}

impl Reader {
    pub(super) fn new(before: Usage) -> Self {
        Self { before, session: None, streamed: false, usage: Usage::default(), last: None, settled: false }
    }

    fn piece(&mut self, piece: &Value, telling: &mut Telling<'_>) {
        let delta = piece["delta"].as_str().unwrap_or_default();
        match piece["type"].as_str() {
            Some("text_delta") => {
                self.streamed = true;
                telling.text(delta);
            }
            Some("thinking_delta") => telling.thinking(delta),
            _ => {}
        }
    }

    fn message(&mut self, message: &Value, telling: &mut Telling<'_>) {
        let usage = &message["usage"];
        let names = ["input", "output", "cacheRead", "cacheWrite"];
        self.usage += cost::usage(usage, names, &usage["cost"]["total"]);
        if !self.streamed {
            telling.text(&blocks(message, "text"));
        }
        self.last = Some(message.clone());
    }
}

/// The blocks of one kind of a message, joined.
fn blocks(message: &Value, kind: &str) -> String {
    let blocks = message["content"].as_array().into_iter().flatten().filter(|block| block["type"] == kind);
    blocks.filter_map(|block| block[kind].as_str()).collect::<Vec<_>>().join("\n\n")
}

impl Events for Reader {
    fn event(&mut self, event: &Value, telling: &mut Telling<'_>) -> Result<Progress, Fault> {
        let text = |name: &str| event[name].as_str().unwrap_or_default();
        let message = &event["message"];
        match text("type") {
            "session" => self.session = event["id"].as_str().map(str::to_owned),
            "agent_start" => self.settled = false,
            "message_start" if message["role"] == "assistant" => {
                self.streamed = false;
                telling.paragraph();
            }
            "message_update" => self.piece(&event["assistantMessageEvent"], telling),
            "message_end" if message["role"] == "assistant" => self.message(message, telling),
            "tool_execution_start" => telling.begin(text("toolCallId"), text("toolName"), &event["args"]),
            "tool_execution_end" => {
                let worked = event["isError"] != true;
                telling.end(text("toolCallId"), worked, &blocks(&event["result"], "text"));
            }
            // An `agent_end` may be followed by another try.
            "agent_settled" => self.settled = true,
            _ => {}
        }
        Ok(if self.settled { Progress::Complete } else { Progress::More })
    }

    /// It exits with success even if its model failed, so the last message decides.
    fn finish(self: Box<Self>) -> Result<Finished, Fault> {
        let Some(last) = &self.last else {
            return Err(fault(ProviderFailure::Cut, "it ended without an answer"));
        };
        let ended = match last["stopReason"].as_str() {
            Some("error" | "aborted") => {
                return Err(told(last["errorMessage"].as_str().unwrap_or("it gives no reason"), None));
            }
            Some("length") => ReplyEnd::Length,
            Some("toolUse" | "pending") => {
                return Err(fault(ProviderFailure::Cut, "it ended in the middle of its work"));
            }
            _ => ReplyEnd::Complete,
        };
        let mut total = self.before;
        total += self.usage;
        Ok(Finished {
            text: blocks(last, "text"),
            thinking: blocks(last, "thinking"),
            ended,
            session: self.session,
            usage: self.usage,
            total,
        })
    }
}
