//! Claude Code: `claude -p --output-format stream-json`. As version 2.1.325 speaks.

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
    "-p",
    "--print",
    "--output-format",
    "--input-format",
    "--verbose",
    "--include-partial-messages",
    "--permission-prompts",
    "--permission-prompt-tool",
    "--session-id",
    "--resume",
    "-r",
    "--continue",
    "-c",
    "--fork-session",
    "--no-session-persistence",
    "--from-pr",
    "--teleport",
    "--cloud",
    "--model",
    "--effort",
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--replay-user-messages",
    "--bg",
    "--background",
    "--tmux",
    "--worktree",
    "-w",
    "--help",
    "-h",
    "--version",
    "-v",
];

/// The arguments of a run; what it is asked comes in by its standard input.
pub(super) fn arguments(asked: &Asked<'_>, extra: &[String]) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--include-partial-messages",
        "--permission-prompts",
        "none",
    ]
    .map(str::to_owned)
    .into();
    arguments.extend(asked.options("--resume", "--effort"));
    // Files of the workspace decide nothing: its settings can hold commands that are run at once, and
    // nobody is asked whether the folder is trusted. The operator may say otherwise.
    let says = |option: &str| extra.iter().any(|own| own == option || own.starts_with(&format!("{option}=")));
    if !says("--setting-sources") {
        arguments.extend(["--setting-sources", "user"].map(str::to_owned));
    }
    if !says("--strict-mcp-config") && !says("--mcp-config") {
        arguments.push("--strict-mcp-config".to_owned());
    }
    arguments.extend_from_slice(extra);
    arguments
}

/// Reads its events.
#[derive(Debug)]
pub(super) struct Reader {
    before: Usage,
    session: Option<String>,
    thinking: String,
    /// The text of the message that is coming in was told of while it did.
    streamed: bool,
    /// The kind of failure that it named last.
    failure: Option<ProviderFailure>,
    result: Option<Value>,
}

impl Reader {
    pub(super) fn new(before: Usage) -> Self {
        Self { before, session: None, thinking: String::new(), streamed: false, failure: None, result: None }
    }

    /// A piece of a message.
    fn piece(&mut self, piece: &Value, telling: &mut Telling<'_>) {
        let delta = &piece["delta"];
        match (piece["type"].as_str(), delta["type"].as_str()) {
            (Some("message_start"), _) => {
                self.streamed = false;
                telling.paragraph();
            }
            (Some("content_block_delta"), Some("text_delta")) => {
                self.streamed = true;
                telling.text(delta["text"].as_str().unwrap_or_default());
            }
            (Some("content_block_delta"), Some("thinking_delta")) => {
                telling.thinking(delta["thinking"].as_str().unwrap_or_default());
            }
            _ => {}
        }
    }

    /// A message of its model, or of a model it has asked itself.
    fn message(&mut self, event: &Value, telling: &mut Telling<'_>) {
        let is_own = event["parent_tool_use_id"].is_null();
        if let Some(error) = event["error"].as_str() {
            self.failure = failure(error);
            return;
        }
        for block in event["message"]["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("text") if is_own && !self.streamed => {
                    telling.paragraph();
                    telling.text(block["text"].as_str().unwrap_or_default());
                }
                Some("thinking") if is_own => {
                    block["thinking"].as_str().unwrap_or_default().clone_into(&mut self.thinking);
                }
                Some("tool_use") => {
                    let text = |name: &str| block[name].as_str().unwrap_or_default();
                    telling.begin(text("id"), text("name"), &block["input"]);
                }
                _ => {}
            }
        }
    }

    fn results(event: &Value, telling: &mut Telling<'_>) {
        for block in event["message"]["content"].as_array().into_iter().flatten() {
            if block["type"] == "tool_result" {
                let worked = block["is_error"] != true;
                telling.end(block["tool_use_id"].as_str().unwrap_or_default(), worked, &text(&block["content"]));
            }
        }
    }

    /// What the run cost and what the session has cost so far. Only `usage` counts from the beginning of
    /// the run, and it leaves out models that were asked on the side.
    fn cost(&self, result: &Value) -> (Usage, Usage) {
        let mut total = self.before;
        if let Some(models) = result["model_usage_since_last_result"].as_object() {
            let names = ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"];
            let mut usage = Usage::default();
            for model in models.values() {
                usage += cost::usage(model, names, &model["costUSD"]);
            }
            total += usage;
            return (usage, total);
        }
        let names = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
        let mut usage = cost::usage(&result["usage"], names, &result["total_cost_usd"]);
        let cost = usage.cost_micros;
        usage.cost_micros = cost.checked_sub(self.before.cost_micros).unwrap_or(cost);
        total += usage;
        (usage, total)
    }
}

fn failure(error: &str) -> Option<ProviderFailure> {
    match error {
        "authentication_failed" => Some(ProviderFailure::Unauthorized),
        "rate_limit" => Some(ProviderFailure::RateLimited),
        "billing_error" | "invalid_request" => Some(ProviderFailure::Rejected),
        "server_error" => Some(ProviderFailure::Broken),
        _ => None,
    }
}

/// What a tool gave: a text, or a list of parts of which some are texts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

impl Events for Reader {
    fn event(&mut self, event: &Value, telling: &mut Telling<'_>) -> Result<Progress, Fault> {
        if let Some(session) = event["session_id"].as_str() {
            self.session.get_or_insert_with(|| session.to_owned());
        }
        match event["type"].as_str() {
            Some("stream_event") if event["parent_tool_use_id"].is_null() => self.piece(&event["event"], telling),
            Some("assistant") => {
                // There is more, after what looked like the end: something it waited for was done.
                self.result = None;
                self.message(event, telling);
            }
            Some("user") => Self::results(event, telling),
            Some("result") => self.result = Some(event.clone()),
            _ => {}
        }
        Ok(if self.result.is_some() { Progress::Complete } else { Progress::More })
    }

    fn finish(self: Box<Self>) -> Result<Finished, Fault> {
        let Some(result) = &self.result else {
            return Err(fault(ProviderFailure::Cut, "it ended without a result"));
        };
        let subtype = result["subtype"].as_str().unwrap_or_default();
        if result["is_error"] == true || subtype != "success" {
            let errors = result["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let words: Vec<&str> = result["result"].as_str().into_iter().chain(errors).collect();
            let message = if words.is_empty() { subtype.to_owned() } else { words.join("; ") };
            let mut fault = told(&message, result["api_error_status"].as_u64());
            if let Some(kind) = self.failure {
                fault.kind = kind;
            }
            return Err(fault);
        }
        let (usage, total) = self.cost(result);
        let ended = match result["stop_reason"].as_str() {
            Some("max_tokens") => ReplyEnd::Length,
            Some("refusal") => ReplyEnd::Refused,
            _ => ReplyEnd::Complete,
        };
        let text = result["result"].as_str().unwrap_or_default().to_owned();
        Ok(Finished { text, thinking: self.thinking, ended, session: self.session, usage, total })
    }
}
