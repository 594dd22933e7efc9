//! Something a model may call: how it is described, one call, its outcome. `palisade-catalog`
//! implements [`Tool`] with sandboxed components.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::clip;

/// Something the model may call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// How it is described; the same for as long as the tool lives.
    fn spec(&self) -> &ToolSpec;

    /// Does the work. `input` is a JSON object that fits the schema. Whatever goes wrong is a result for
    /// the model. The future may be dropped at any time.
    async fn call(&self, input: &str, progress: &Progress) -> ToolResult;
}

/// What the model and the host are told about a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// What the model calls it by.
    pub name: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// JSON Schema of the input object; kept as it is for the model to read.
    pub input_schema: Value,
    /// The capabilities it needs, such as `fs.read`.
    pub capabilities: Vec<String>,
    /// It changes nothing outside itself.
    pub read_only: bool,
    /// Calling it twice has the effect of calling it once.
    pub idempotent: bool,
}

/// One call the model wants to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Names the call; its result carries the same id.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub tool: String,
    /// The input, as the model wrote it.
    pub input: Value,
}

/// The outcome of one call and what it cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// What came of it.
    #[serde(flatten)]
    pub outcome: ToolOutcome,
    /// What it used up.
    #[serde(default)]
    pub cost: Cost,
    /// What was refused on the way, each with what would allow it. A call may succeed in spite of some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<String>,
    /// Where the whole output is kept, if the text is only a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
}

impl ToolResult {
    /// A call that worked.
    pub fn done(text: impl Into<String>) -> Self {
        Self { outcome: ToolOutcome::Done(text.into()), cost: Cost::default(), denials: Vec::new(), artifact: None }
    }

    /// A call that gave no output.
    pub fn failed(kind: FailureKind, text: impl Into<String>) -> Self {
        let outcome = ToolOutcome::Failed { kind, text: text.into() };
        Self { outcome, cost: Cost::default(), denials: Vec::new(), artifact: None }
    }

    /// What the model reads, whether it worked or not.
    pub fn text(&self) -> &str {
        match &self.outcome {
            ToolOutcome::Done(text) | ToolOutcome::Failed { text, .. } => text,
        }
    }

    /// Whether the call worked.
    pub fn is_done(&self) -> bool {
        matches!(self.outcome, ToolOutcome::Done(_))
    }

    pub(crate) fn clipped(mut self, limit: usize) -> Self {
        match &mut self.outcome {
            ToolOutcome::Done(text) | ToolOutcome::Failed { text, .. } if text.len() > limit => {
                *text = clip(text, limit);
            }
            ToolOutcome::Done(_) | ToolOutcome::Failed { .. } => {}
        }
        self
    }
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// Its output.
    Done(String),
    /// Why there is none.
    Failed {
        /// What kind of failure it was.
        kind: FailureKind,
        /// What went wrong and what would help, for the model.
        text: String,
    },
}

/// What kind of failure a call ended in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The agent has no tool of that name.
    UnknownTool,
    /// The input does not fit; the model can correct it.
    InvalidInput,
    /// Something the call needed was not granted.
    Denied,
    /// The tool tried, and it did not work.
    Failed,
    /// The tool used more time, memory or output than it may.
    Limit,
    /// The tool broke down.
    Crashed,
    /// The call was not made: the budget had none left, or it would have been the same again.
    Skipped,
    /// The run ended before the call did.
    Cancelled,
    /// The process ended while the call was under way, and nobody knows what came of it.
    Interrupted,
}

/// What one call used up. The tool says it; what it does not know is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Wall time.
    #[serde(rename = "micros", with = "crate::tool::micros")]
    pub duration: Duration,
    /// The most memory it held at once, in bytes.
    pub peak_memory: u64,
}

pub(crate) mod micros {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_micros)
    }
}

/// Where a running call says how far it is. Cheap to clone, and lossy: when nobody keeps up with a tool
/// that talks too much, its messages are dropped, not queued.
#[derive(Clone, Debug)]
pub struct Progress {
    id: String,
    sender: mpsc::Sender<Said>,
}

/// What a call said of itself.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) id: String,
    pub(crate) message: String,
}

impl Progress {
    /// The longest message that is passed on, in bytes.
    const MESSAGE_LIMIT: usize = 1024;
    /// How many messages may wait to be passed on.
    const QUEUE: usize = 64;

    /// Says how far the call is.
    pub fn report(&self, message: &str) {
        // A full queue or a run that is over: both mean that nobody needs this message.
        drop(self.sender.try_send(Said { id: self.id.clone(), message: clip(message, Self::MESSAGE_LIMIT) }));
    }

    /// The id of the call.
    pub fn call(&self) -> &str {
        &self.id
    }

    /// A progress nobody listens to.
    pub fn unheard() -> Self {
        let (sender, _) = mpsc::channel(1);
        Self { id: String::new(), sender }
    }

    /// The queue all calls of one step report into.
    pub(crate) fn queue() -> (mpsc::Sender<Said>, mpsc::Receiver<Said>) {
        mpsc::channel(Self::QUEUE)
    }

    pub(crate) fn of_call(id: &str, sender: &mpsc::Sender<Said>) -> Self {
        Self { id: id.to_owned(), sender: sender.clone() }
    }
}
