//! Agents as tools: a task goes in, an answer comes out, and on the way it is told what happens.

use std::sync::Arc;

use async_trait::async_trait;
use palisade_agent::{
    Cancellation, Canceller, Event, FailureKind, Progress, Tool, ToolResult, ToolSpec, Watcher, cancellation,
};
use serde::Deserialize;
use serde_json::json;

use crate::{Hints, telling::told};

/// What the name of a tool begins with that is an agent.
pub const AGENT_PREFIX: &str = "agent_";

/// Lets agents work.
#[async_trait]
pub trait Runs: Send + Sync {
    /// Lets one work until it ends. It ends soon after it is cancelled, also if nobody waits for it any more.
    async fn run(&self, work: Work, watcher: Arc<dyn Watcher>, cancellation: Cancellation) -> Answer;
}

/// What an agent is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The agent.
    pub agent: String,
    /// The task, in words.
    pub task: String,
    /// The session to go on with; none: a new one.
    pub session: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The answer, or why there is none.
    pub text: Result<String, String>,
    /// The session that it can be gone on with.
    pub session: Option<String>,
}

/// An agent that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOffer {
    /// Its name.
    pub name: String,
    /// When to ask it, as its definition says.
    pub description: String,
    /// What a run of it may do.
    pub hints: Hints,
}

/// An agent that is called as a tool.
pub struct AgentTool {
    spec: ToolSpec,
    agent: String,
    runs: Arc<dyn Runs>,
}

#[derive(Deserialize)]
struct Input {
    task: String,
    session: Option<String>,
}

impl AgentTool {
    /// The tool of an agent.
    pub fn new(offer: &AgentOffer, runs: Arc<dyn Runs>) -> Self {
        let AgentOffer { name, description, hints } = offer;
        let spec = ToolSpec {
            name: format!("{AGENT_PREFIX}{name}"),
            description: format!(
                "Lets the agent `{name}` work on a task with its own model and its own sandboxed tools, and gives its \
                 answer. {description}"
            ),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "task": { "type": "string", "minLength": 1, "description": "What to do, in words." },
                    "session": {
                        "type": "string",
                        "description": "The session of an earlier answer of this agent, to go on with; it knows what \
                                        was said in it. Leave it out to begin a new one.",
                    },
                },
                "required": ["task"],
                "additionalProperties": false,
            }),
            capabilities: Vec::new(),
            read_only: hints.read_only,
            idempotent: false,
        };
        Self { spec, agent: name.clone(), runs }
    }
}

#[async_trait]
impl Tool for AgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, input: &str, progress: &Progress) -> ToolResult {
        let Input { task, session } = match serde_json::from_str(input) {
            Ok(input) => input,
            Err(error) => return ToolResult::failed(FailureKind::InvalidInput, error.to_string()),
        };
        let (canceller, cancellation) = cancellation();
        let _whoever_drops_this_call_ends_the_run = Ends(canceller);
        let progress = progress.clone();
        let watcher = move |event: Event| {
            if let Some(text) = told(&event) {
                progress.report(&text);
            }
        };
        let work = Work { agent: self.agent.clone(), task, session };
        let Answer { text, session } = self.runs.run(work, Arc::new(watcher), cancellation).await;
        let go_on = session.map(|id| format!("\n\n[session {id}; give it as `session` to go on]")).unwrap_or_default();
        match text {
            Ok(text) => ToolResult::done(format!("{}{go_on}", text.trim_end())),
            Err(why) => ToolResult::failed(FailureKind::Failed, format!("{}{go_on}", why.trim_end())),
        }
    }
}

struct Ends(Canceller);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
