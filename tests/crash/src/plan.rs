//! What the worker is to do: a model that follows a plan, and tools whose effects can be counted.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use palisade_agent::{
    DuplicateTool, Entry, Listener, Progress, Prompt, Provider, ProviderError, Reply, Tool, ToolCall, ToolResult,
    ToolSpec, Toolbox, Usage, passing,
};
use serde_json::{Value, json};

use crate::crew::ASKED;

/// How many tasks a conversation has.
pub(crate) const TASKS: usize = 3;

/// What a task begins with; anything else is an answer that has come.
pub(crate) const TASK: &str = "task ";

/// What an answer begins with that was not waited for.
pub(crate) const ANSWER: &str = "[Async response, responseId=";

/// The outermost agent.
pub(crate) const WORKER: &str = "worker";

/// Where each effect leaves a line.
pub(crate) const LEDGER: &str = "ledger";

/// Follows the plan from what it reads: the same conversation gives the same reply. After a call of which nobody
/// knows the outcome it does what is right: it goes on and does not repeat it.
pub(crate) struct Planner(String);

impl Planner {
    /// The plan of an agent. Those that are asked have a short one.
    pub(crate) fn of(agent: &str) -> Self {
        Self(agent.to_owned())
    }

    /// The calls of a step; none before the answer. Their ids are found in nobody else's plan.
    fn calls(&self, turn: usize, step: usize) -> Vec<ToolCall> {
        let id = |number: usize| match self.0.as_str() {
            WORKER => format!("{turn}-{step}-{number}"),
            name => format!("{name}-{turn}-{step}-{number}"),
        };
        let mark = |tool: &str, number: usize| ToolCall {
            id: id(number),
            tool: tool.to_owned(),
            input: json!({ "mark": id(number) }),
        };
        let ask = |agent: &str, mode: &str, number: usize| ToolCall {
            id: id(number),
            tool: "agents_message".to_owned(),
            input: json!({ "agentId": agent, "content": format!("for {}", id(number)), "mode": mode }),
        };
        match (self.0.as_str(), step) {
            (_, 0) => vec![mark("add", 0), mark("put", 1), mark("add", 2)],
            (WORKER, 1) => vec![mark("add", 0), ask(ASKED[0], "sync", 1)],
            (WORKER, 2) => vec![ask(ASKED[1], "async", 0), mark("put", 1)],
            _ => Vec::new(),
        }
    }
}

#[async_trait]
impl Provider for Planner {
    fn name(&self) -> &str {
        "planner"
    }

    async fn reply(&self, prompt: Prompt<'_>, _: &dyn Listener) -> Result<Reply, ProviderError> {
        passing("model.before_reply");
        let entries = prompt.transcript.entries();
        let turn = entries.iter().filter(|entry| matches!(entry, Entry::User { .. })).count();
        let since = entries.iter().rposition(|entry| matches!(entry, Entry::User { .. })).unwrap_or(0);
        let step = entries.iter().skip(since).filter(|entry| matches!(entry, Entry::Reply { .. })).count();
        let usage = Usage { input_tokens: 10, output_tokens: 1, ..Usage::default() };
        // What is to be done about an answer that has come is to know it.
        let is_answer = matches!(entries.get(since), Some(Entry::User { text }) if text.starts_with(ANSWER));
        let calls = if is_answer { Vec::new() } else { self.calls(turn, step) };
        let text = if calls.is_empty() { answer(&self.0, turn) } else { String::new() };
        Ok(Reply { text, calls, usage, ..Reply::default() })
    }
}

/// What an agent answers in a turn.
pub(crate) fn answer(agent: &str, turn: usize) -> String {
    format!("answer {turn} of {agent}")
}

/// A tool that leaves a mark: `add` one more each time, `put` the same one.
struct Marker {
    spec: ToolSpec,
    folder: PathBuf,
}

/// The tools that leave marks, and others.
pub(crate) fn markers(folder: &Path, others: Vec<Arc<dyn Tool>>) -> Result<Toolbox, DuplicateTool> {
    let tool = |name: &str, idempotent: bool| {
        let spec = ToolSpec {
            name: name.to_owned(),
            description: "Leaves a mark.".to_owned(),
            input_schema: json!({"type": "object", "properties": {"mark": {"type": "string"}}, "required": ["mark"]}),
            capabilities: Vec::new(),
            read_only: false,
            idempotent,
        };
        Arc::new(Marker { spec, folder: folder.to_owned() }) as Arc<dyn Tool>
    };
    Toolbox::new([tool("add", false), tool("put", true)].into_iter().chain(others).collect())
}

#[async_trait]
impl Tool for Marker {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, input: &str, _: &Progress) -> ToolResult {
        let input: Value = serde_json::from_str(input).unwrap_or_default();
        let mark = input["mark"].as_str().unwrap_or_default().to_owned();
        passing("tool.before_effect");
        let done = match self.spec.idempotent {
            true => fs::write(self.folder.join(format!("put-{mark}")), &mark),
            // One write of one line to the end: it is there whole or not at all.
            false => OpenOptions::new()
                .append(true)
                .create(true)
                .open(self.folder.join(LEDGER))
                .and_then(|mut ledger| ledger.write_all(format!("{mark}\n").as_bytes())),
        };
        passing("tool.after_effect");
        match done {
            Ok(()) => ToolResult::done(format!("left {mark}")),
            Err(error) => ToolResult::failed(palisade_agent::FailureKind::Failed, error.to_string()),
        }
    }
}
