//! The tools with which an agent asks others. The host carries them out; none of them reaches anything that the
//! agent's seat does not.

mod ask;
mod background;
mod list;
mod message;
mod parallel;
mod task;

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    Delegation,
    order::{Engaged, Order},
    place::Place,
    refusal::Refusal,
};
use crate::{OUTPUT_LIMIT, Peer, Progress, Session, Tool, ToolResult, ToolSpec};

/// What these tools are called.
pub const DELEGATION_TOOLS: [&str; 7] =
    ["task", "parallel_task", "agents_message", "agents_list", "agent_ask", "task_cancel", "task_result"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Task,
    Parallel,
    Message,
    List,
    Ask,
    Cancel,
    Result,
}

const KINDS: [Kind; 7] = [Kind::Task, Kind::Parallel, Kind::Message, Kind::List, Kind::Ask, Kind::Cancel, Kind::Result];

/// How the tools are described, without the agents that there are.
pub(super) fn specs() -> Vec<ToolSpec> {
    KINDS.map(|kind| kind.spec(&[])).to_vec()
}

impl Delegation {
    /// The tools of the agent in a place; those that could only be refused are left out.
    pub(super) fn tools_at(self: &Arc<Self>, place: &Arc<Place>, depth: u32, messages: u32) -> Vec<Arc<dyn Tool>> {
        let peers = self.crew.peers(&place.agent, false);
        let fits = |kind: &Kind| match kind {
            Kind::Message => depth > 0 && messages < self.limits.messages,
            _ => depth > 0,
        };
        let bind = |kind: Kind| -> Arc<dyn Tool> {
            Arc::new(Bound { kind, spec: kind.spec(&peers), hub: Arc::clone(self), place: Arc::clone(place) })
        };
        KINDS.into_iter().filter(fits).map(bind).collect()
    }
}

/// One of the tools, for one agent at work.
struct Bound {
    kind: Kind,
    spec: ToolSpec,
    hub: Arc<Delegation>,
    place: Arc<Place>,
}

#[async_trait]
impl Tool for Bound {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, input: &str, progress: &Progress) -> ToolResult {
        let since = Instant::now();
        let mut result = self.carry_out(input, progress.call()).await;
        result.cost.duration = since.elapsed();
        result
    }
}

/// Who asks, and by which call.
#[derive(Clone, Copy)]
struct Asking<'a> {
    hub: &'a Arc<Delegation>,
    place: &'a Arc<Place>,
    call: &'a str,
}

impl Asking<'_> {
    /// Has an agent read something in a session, by this call.
    fn order(&self, name: &str, engaged: Engaged, session: Session, text: &str) -> Order {
        Order { call: self.call.to_owned(), ..Order::new(self.place, name, engaged, session, text.to_owned()) }
    }
}

impl Bound {
    async fn carry_out(&self, input: &str, call: &str) -> ToolResult {
        let (hub, place) = (&self.hub, &self.place);
        let asking = Asking { hub, place, call };
        let answer = match self.kind {
            Kind::Task => task::call(asking, input).await,
            Kind::Parallel => parallel::call(asking, input).await,
            Kind::Message => message::call(asking, input).await,
            Kind::List => list::call(hub, place, input),
            Kind::Ask => ask::call(asking, input).await,
            Kind::Cancel => background::cancel(hub, place, input).await,
            Kind::Result => background::result(hub, place, input).await,
        };
        let refusal = match answer {
            Ok(result) => return result,
            Err(refusal) => refusal,
        };
        hub.audit_refusal(place, self.kind.name(), &refusal).await;
        match self.kind {
            Kind::Message | Kind::List => refusal.as_coded(),
            Kind::Task | Kind::Parallel | Kind::Ask | Kind::Cancel | Kind::Result => refusal.as_envelope(),
        }
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Parallel => "parallel_task",
            Self::Message => "agents_message",
            Self::List => "agents_list",
            Self::Ask => "agent_ask",
            Self::Cancel => "task_cancel",
            Self::Result => "task_result",
        }
    }

    /// What it is for. The agents that there are are named once, where a task is handed on.
    fn description(self, peers: &[Peer]) -> String {
        match self {
            Self::Task => {
                let text = "Hands a task to another agent and gives its answer. It knows only what the prompt says.";
                format!("{text}{}", roster(peers))
            }
            Self::Parallel => "Hands several independent tasks to other agents at the same time.".to_owned(),
            Self::Message => "Sends a message to another agent, in a session that goes on.".to_owned(),
            Self::List => "Lists the agents that can be asked.".to_owned(),
            Self::Ask => "Asks an agent again that `task` gave an agent_id of; it remembers.".to_owned(),
            Self::Cancel => "Ends a task that runs in the background.".to_owned(),
            Self::Result => "Gives the result of a task that runs in the background, if it is over.".to_owned(),
        }
    }

    fn schema(self) -> Value {
        let text = json!({ "type": "string" });
        match self {
            Self::Task => object(&task::properties(), &[]),
            Self::Parallel => {
                let tasks = json!({ "type": "array", "minItems": 1, "items": object(&task::properties(), &[]) });
                let on_failure = json!({ "enum": ["continue", "stop"] });
                object(&json!({ "tasks": tasks, "on_failure": on_failure }), &["tasks"])
            }
            Self::Message => object(&message::properties(), &["agentId", "content"]),
            Self::List => object(&json!({ "includeAll": { "type": "boolean" } }), &[]),
            Self::Ask => object(&json!({ "agent_id": text, "message": text }), &["agent_id", "message"]),
            Self::Cancel => object(&json!({ "task_id": text }), &["task_id"]),
            Self::Result => {
                let timeout = json!({ "type": "number", "description": "seconds to wait for it" });
                object(&json!({ "task_id": text, "timeout": timeout }), &["task_id"])
            }
        }
    }

    fn spec(self, peers: &[Peer]) -> ToolSpec {
        ToolSpec {
            name: self.name().to_owned(),
            description: self.description(peers),
            input_schema: self.schema(),
            capabilities: vec!["agents".to_owned()],
            read_only: self == Self::List,
            idempotent: matches!(self, Self::List | Self::Cancel),
        }
    }
}

fn object(properties: &Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties });
    if let (Some(schema), false) = (schema.as_object_mut(), required.is_empty()) {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

/// The agents by name and what they are for. A schema is read with every request, so each gets a line at most.
fn roster(peers: &[Peer]) -> String {
    const SHOWN: usize = 24;
    let line = |peer: &Peer| format!("\n- {}: {}", peer.name, crate::event::shorten(peer.description.trim()));
    let mut text: String = peers.iter().take(SHOWN).map(line).collect();
    if peers.len() > SHOWN {
        text.push_str("\n- … `agents_list` shows the others");
    }
    if text.is_empty() { text } else { format!(" Agents:{text}") }
}

/// Reads the input of a call.
fn read<T: DeserializeOwned>(input: &str) -> Result<T, Refusal> {
    serde_json::from_str(input).map_err(|error| Refusal::invalid(format!("Invalid arguments: {error}")))
}

/// Seconds, which are a positive number; parts of one do not count.
fn seconds(number: f64) -> Result<std::time::Duration, Refusal> {
    const DAY: f64 = 86_400.0;
    if !number.is_finite() || number.floor() < 1.0 {
        return Err(Refusal::invalid("timeout must be a positive number of seconds"));
    }
    Ok(std::time::Duration::from_secs_f64(number.floor().min(DAY)))
}

/// Gives an answer as much room as there is, when it is shown inside of something else.
fn fitted(most: usize, show: impl Fn(usize) -> String) -> String {
    let mut room = most;
    loop {
        let text = show(room);
        if text.len() <= OUTPUT_LIMIT || room < 256 {
            return text;
        }
        room = room / 4 * 3;
    }
}
