//! Codex: `codex exec --json`. As version 0.166.0 speaks.

use palisade_agent::{ProviderFailure, Usage};
use serde_json::{Value, json};

use super::{
    fault::{fault, told},
    program::{Asked, Events, Finished, Sitting},
    telling::Telling,
};
use crate::dialect::{Fault, Progress, effort};

/// What is set here, and what would change how it speaks, where it works or which session it is in.
pub(super) const MANAGED: &[&str] = &[
    "exec",
    "resume",
    "fork",
    "review",
    "--json",
    "--model",
    "-m",
    "--cd",
    "-C",
    "--worktree",
    "--last",
    "--all",
    "--ephemeral",
    "--color",
    "--output-last-message",
    "-o",
    "--output-schema",
    "--help",
    "-h",
    "--version",
    "-V",
];

/// Settings that are made here.
const SETTINGS: [&str; 4] = ["model", "model_reasoning_effort", "approval_policy", "developer_instructions"];

/// The setting that an argument makes, if it is one that is made here: `-c name=value` and its spellings.
pub(super) fn setting(extra: &[String], at: usize) -> Option<&str> {
    let argument = extra.get(at)?;
    let value = match argument.as_str() {
        "-c" | "--config" => extra.get(at + 1)?,
        argument => argument.strip_prefix("--config=").or_else(|| argument.strip_prefix("-c"))?,
    };
    SETTINGS.into_iter().find(|setting| value.split('=').next().map(str::trim) == Some(*setting))
}

/// The arguments of a run; what it is asked comes in by its standard input, which is what `-` says.
pub(super) fn arguments(asked: &Asked<'_>, extra: &[String]) -> Vec<String> {
    let mut arguments: Vec<String> = ["exec", "--json"].map(str::to_owned).into();
    let mut set =
        |setting: &str, value: &str| arguments.extend(["-c".to_owned(), format!("{setting}={}", toml(value))]);
    // Nobody can answer, so what would need an approval is refused.
    set("approval_policy", "never");
    if let Some(effort) = asked.effort.and_then(effort) {
        set("model_reasoning_effort", effort);
    }
    if !asked.instructions.is_empty() {
        set("developer_instructions", asked.instructions);
    }
    if let Some(model) = asked.model {
        arguments.extend(["--model".to_owned(), model.to_owned()]);
    }
    arguments.extend_from_slice(extra);
    if let Sitting::Resumed(session) = asked.sitting {
        arguments.extend(["resume".to_owned(), session.to_string()]);
    }
    arguments.push("-".to_owned());
    arguments
}

/// A text as TOML has it: as JSON, but for one character that TOML wants escaped, too.
fn toml(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// Reads its events.
#[derive(Debug)]
pub(super) struct Reader {
    before: Usage,
    session: Option<String>,
    text: String,
    thinking: String,
    /// What it complained of last; it may have tried again and gone on.
    complaint: Option<String>,
    outcome: Option<Result<Usage, String>>,
}

impl Reader {
    pub(super) fn new(before: Usage) -> Self {
        Self { before, session: None, text: String::new(), thinking: String::new(), complaint: None, outcome: None }
    }

    fn item(&mut self, item: &Value, is_over: bool, telling: &mut Telling<'_>) {
        let text = |name: &str| item[name].as_str().unwrap_or_default();
        match (text("type"), is_over) {
            ("agent_message", true) => {
                text("text").clone_into(&mut self.text);
                telling.paragraph();
                telling.text(text("text"));
            }
            ("reasoning", true) => {
                text("text").clone_into(&mut self.thinking);
                telling.thinking(text("text"));
            }
            // Words, plans and warnings are no calls.
            ("agent_message" | "reasoning" | "todo_list" | "error", _) => {}
            (kind, _) => {
                let (tool, input) = call(kind, item);
                telling.begin(text("id"), &tool, &input);
                if is_over {
                    telling.end(text("id"), worked(item), &output(item));
                }
            }
        }
    }

    /// It counts from the beginning of the session.
    fn cost(&self, total: Usage) -> (Usage, Usage) {
        let less = |total: u64, before: u64| total.checked_sub(before);
        let since = |total: Usage, before: Usage| {
            Some(Usage {
                input_tokens: less(total.input_tokens, before.input_tokens)?,
                output_tokens: less(total.output_tokens, before.output_tokens)?,
                cached_tokens: less(total.cached_tokens, before.cached_tokens)?,
                cache_written_tokens: less(total.cache_written_tokens, before.cache_written_tokens)?,
                cost_micros: 0,
            })
        };
        // Less than before: it counts from the beginning of the run after all.
        (since(total, self.before).unwrap_or(total), total)
    }
}

/// What it calls, and with what.
fn call(kind: &str, item: &Value) -> (String, Value) {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    match kind {
        "command_execution" => (kind.to_owned(), json!({ "command": item["command"] })),
        "file_change" => (kind.to_owned(), json!({ "changes": item["changes"] })),
        "web_search" => (kind.to_owned(), json!({ "query": item["query"] })),
        "mcp_tool_call" => (format!("{}.{}", text("server"), text("tool")), item["arguments"].clone()),
        _ => (kind.to_owned(), item.clone()),
    }
}

fn worked(item: &Value) -> bool {
    item["exit_code"].as_i64().is_none_or(|code| code == 0)
        && item["status"] != "failed"
        && item["status"] != "declined"
}

fn output(item: &Value) -> String {
    let output = [&item["aggregated_output"], &item["error"]["message"], &item["result"]];
    match output.into_iter().find(|output| !output.is_null()) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

impl Events for Reader {
    fn event(&mut self, event: &Value, telling: &mut Telling<'_>) -> Result<Progress, Fault> {
        match event["type"].as_str() {
            Some("thread.started") => self.session = event["thread_id"].as_str().map(str::to_owned),
            Some("turn.started") => self.outcome = None,
            Some("item.started" | "item.updated") => self.item(&event["item"], false, telling),
            Some("item.completed") => self.item(&event["item"], true, telling),
            Some("turn.completed") => {
                let count = |name: &str| event["usage"][name].as_u64().unwrap_or_default();
                self.outcome = Some(Ok(Usage {
                    input_tokens: count("input_tokens"),
                    output_tokens: count("output_tokens"),
                    cached_tokens: count("cached_input_tokens"),
                    cache_written_tokens: count("cache_write_input_tokens"),
                    cost_micros: 0,
                }));
            }
            Some("turn.failed") => {
                let message = event["error"]["message"].as_str().unwrap_or("the turn failed");
                self.outcome = Some(Err(message.to_owned()));
            }
            Some("error") => self.complaint = event["message"].as_str().map(str::to_owned),
            _ => {}
        }
        Ok(if self.outcome.is_some() { Progress::Complete } else { Progress::More })
    }

    fn finish(self: Box<Self>) -> Result<Finished, Fault> {
        match (&self.outcome, &self.complaint) {
            (Some(Ok(total)), _) => {
                let (usage, total) = self.cost(*total);
                let Self { text, thinking, session, .. } = *self;
                Ok(Finished { text, thinking, session, usage, total, ..Finished::default() })
            }
            (Some(Err(message)), _) | (None, Some(message)) => Err(told(message, None)),
            (None, None) => Err(fault(ProviderFailure::Cut, "it ended before its turn was over")),
        }
    }
}
