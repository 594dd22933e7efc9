//! What the worker is to do: a model that follows a plan, and tools whose effects can be counted.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use palisade_agent::{
    Entry, Listener, Progress, Prompt, Provider, ProviderError, Reply, Tool, ToolCall, ToolResult, ToolSpec, Toolbox,
    Usage, passing,
};
use serde_json::{Value, json};

/// How many tasks a conversation has.
pub(crate) const TASKS: usize = 3;

/// How many steps with calls come before the answer to a task.
const STEPS: usize = 3;

/// Where each effect leaves a line.
pub(crate) const LEDGER: &str = "ledger";

/// Follows the plan from what it reads: the same conversation gives the same reply. After a call of which nobody
/// knows the outcome it does what is right: it goes on and does not repeat it.
pub(crate) struct Planner;

#[async_trait]
impl Provider for Planner {
    fn name(&self) -> &str {
        "planner"
    }

    async fn reply(&self, prompt: Prompt<'_>, _: &dyn Listener) -> Result<Reply, ProviderError> {
        passing("model.before_reply");
        let entries = prompt.transcript.entries();
        let task = entries.iter().filter(|entry| matches!(entry, Entry::User { .. })).count();
        let since = entries.iter().rposition(|entry| matches!(entry, Entry::User { .. })).unwrap_or(0);
        let step = entries.iter().skip(since).filter(|entry| matches!(entry, Entry::Reply { .. })).count();
        let usage = Usage { input_tokens: 10, output_tokens: 1, ..Usage::default() };
        if step >= STEPS {
            return Ok(Reply { usage, ..Reply::answer(format!("answer {task}")) });
        }
        let call = |tool: &str, number: usize| ToolCall {
            id: format!("{task}-{step}-{number}"),
            tool: tool.to_owned(),
            input: json!({ "mark": format!("{task}-{step}-{number}") }),
        };
        Ok(Reply { calls: vec![call("add", 0), call("put", 1), call("add", 2)], usage, ..Reply::default() })
    }
}

/// A tool that leaves a mark: `add` one more each time, `put` the same one.
struct Marker {
    spec: ToolSpec,
    folder: PathBuf,
}

pub(crate) fn toolbox(folder: &Path) -> anyhow::Result<Toolbox> {
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
    Ok(Toolbox::new(vec![tool("add", false), tool("put", true)])?)
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
