//! The trait behind which a model is spoken to. `palisade-model` implements it.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use tokio::time::Instant;

use crate::{Agent, ReasoningEffort, ToolCall, ToolSpec, Transcript};

/// Speaks to one model.
#[async_trait]
pub trait Provider: Send + Sync {
    /// What the provider is called in events and messages.
    fn name(&self) -> &str;

    /// The model it asks, as the provider calls it; empty if there is nothing to choose.
    fn model(&self) -> &str {
        ""
    }

    /// How many tokens the model can read at once, if that is known. Without, nothing is compacted
    /// before the provider itself says that it is too much.
    fn context_window(&self) -> Option<u64> {
        None
    }

    /// Whether its replies say what they cost. Where they do not, a run with a budget for costs is not
    /// begun: a limit that nobody counts is none.
    fn counts_cost(&self) -> bool {
        false
    }

    /// Gives the next reply, and tells the listener of its parts while they come in. What a listener
    /// heard is no promise: only the reply counts, and it is given only when it came in whole. The
    /// future may be dropped at any time, when the run is cancelled or out of time.
    async fn reply(&self, prompt: Prompt<'_>, listener: &dyn Listener) -> Result<Reply, ProviderError>;
}

/// What a provider gets.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    /// Who the agent is and what holds for it.
    pub instructions: &'a str,
    /// The tools it may call.
    pub tools: &'a [ToolSpec],
    /// What was said and done so far; [`Transcript::visible`] is what the model reads.
    pub transcript: &'a Transcript,
    /// How the reply is wanted.
    pub settings: &'a ReplySettings,
    /// When the run's time is over: there is no point in trying again after it.
    pub deadline: Instant,
}

impl<'a> Prompt<'a> {
    /// A prompt that wants nothing in particular and has time.
    pub fn new(
        instructions: &'a str,
        tools: &'a [ToolSpec],
        transcript: &'a Transcript,
        settings: &'a ReplySettings,
    ) -> Self {
        let deadline = Instant::now() + Duration::from_secs(600);
        Self { instructions, tools, transcript, settings, deadline }
    }
}

/// How a reply is wanted; what is absent is left to the provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplySettings {
    /// How freely the model chooses its words, 0 to 1.
    pub temperature: Option<f64>,
    /// How long the model thinks.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// How long the reply may be, in tokens.
    pub max_tokens: Option<u32>,
    /// The JSON Schema that the final answer has to fit, for providers that can hold a model to one.
    pub answer_schema: Option<Value>,
}

impl ReplySettings {
    /// As the definition of an agent says.
    pub fn of(agent: &Agent) -> Self {
        let Agent { temperature, reasoning_effort, max_tokens, .. } = *agent;
        Self { temperature, reasoning_effort, max_tokens, answer_schema: None }
    }
}

/// Hears a reply while it comes in.
pub trait Listener: Send + Sync {
    /// Takes one part. Called while the stream is read, so it must not block for long.
    fn hear(&self, part: Part<'_>);
}

impl<F: Fn(Part<'_>) + Send + Sync> Listener for F {
    fn hear(&self, part: Part<'_>) {
        self(part);
    }
}

/// A part of a reply that is coming in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part<'a> {
    /// More of what the model says.
    Text(&'a str),
    /// More of what it thinks.
    Thinking(&'a str),
    /// It begins to write a call.
    Call {
        /// The tool's name.
        tool: &'a str,
    },
    /// More of the input of the call it writes. Not JSON until it is whole.
    Input(&'a str),
    /// What was heard so far is void: the provider is asked again.
    Again {
        /// Why.
        why: &'a str,
        /// After how long.
        wait: Duration,
    },
    /// An agent outside of the sandbox has begun a call of its own.
    ForeignCall {
        /// Names the call.
        id: &'a str,
        /// What it calls the tool.
        tool: &'a str,
        /// What it gives it.
        input: &'a Value,
    },
    /// Such a call is over.
    ForeignResult {
        /// The call's name.
        id: &'a str,
        /// What it calls the tool.
        tool: &'a str,
        /// Whether it worked.
        worked: bool,
        /// What came of it.
        text: &'a str,
    },
}

/// What a provider gives. Without calls, the text is the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// What the model says.
    pub text: String,
    /// What it thought, as far as the provider shows it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thinking: String,
    /// What it wants to be called; independent of each other. The input of a call that was written to
    /// its end but is no JSON object is the text as it was written, which no tool accepts.
    pub calls: Vec<ToolCall>,
    /// What the reply cost.
    pub usage: Usage,
    /// Why it ends.
    #[serde(default)]
    pub ended: ReplyEnd,
    /// What the provider wants back unchanged with the next prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
}

impl Reply {
    /// A reply that ends the run.
    pub fn answer(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Why a reply ends where it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyEnd {
    /// The model had said all it wanted.
    #[default]
    Complete,
    /// It reached the most tokens a reply may have. A call that it was writing then is not among the calls.
    Length,
    /// The model or its provider declined to go on.
    Refused,
}

/// What a provider wants back unchanged: signed thinking, encrypted reasoning, the session of a CLI
/// agent. Nobody else looks inside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Who understands it: the dialect, the provider and the model.
    pub by: String,
    /// What it is.
    pub value: Value,
}

/// Tokens that a reply, or a whole run, cost; zero for providers that do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens the model read, from the cache or not.
    pub input_tokens: u64,
    /// Tokens the model wrote, thinking included.
    pub output_tokens: u64,
    /// Of the tokens it read, those that came from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// Of the tokens it read, those that were written into the cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_written_tokens: u64,
    /// Millionths of a dollar; zero where no price is known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_micros: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Tokens read and written.
    pub fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let add = |own: &mut u64, other: u64| *own = own.saturating_add(other);
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.output_tokens, other.output_tokens);
        add(&mut self.cached_tokens, other.cached_tokens);
        add(&mut self.cache_written_tokens, other.cache_written_tokens);
        add(&mut self.cost_micros, other.cost_micros);
    }
}

/// Why a provider gave no reply. The transcript is as it was, so the run can be resumed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{provider}: {message}")]
pub struct ProviderError {
    /// The provider's name.
    pub provider: String,
    /// What kind of failure it was.
    pub kind: ProviderFailure,
    /// What was tried and what would help. Never holds a key.
    pub message: String,
}

impl ProviderError {
    /// Whether the conversation is longer than the model can read.
    pub fn is_too_long(&self) -> bool {
        self.kind == ProviderFailure::TooLong
    }
}

/// What kind of failure a provider ended in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderFailure {
    /// There was no connection, or it broke.
    Unreachable,
    /// It took too long.
    TimedOut,
    /// It was asked too often.
    RateLimited,
    /// It has a fault of its own.
    Broken,
    /// The key is missing or wrong.
    Unauthorized,
    /// It does not accept the request.
    Rejected,
    /// The conversation is longer than the model can read.
    TooLong,
    /// The reply broke off before its end.
    Cut,
    /// The reply cannot be understood.
    Malformed,
    /// The reply is larger than a reply may be.
    TooLarge,
    /// There is nothing more to be had from it, whoever asks: an empty script, a program that is missing.
    Exhausted,
}

impl ProviderFailure {
    /// Whether it may work when tried again.
    pub fn is_passing(self) -> bool {
        matches!(
            self,
            Self::Unreachable | Self::TimedOut | Self::RateLimited | Self::Broken | Self::Cut | Self::Malformed
        )
    }
}
