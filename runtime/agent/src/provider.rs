//! The trait behind which a model is spoken to. `palisade-model` implements it.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{ToolCall, ToolSpec, Transcript};

/// Speaks to one model. Implemented by the offline planner, the scripted replies and, later, by one
/// type per vendor dialect.
#[async_trait]
pub trait Provider: Send + Sync {
    /// What the provider is called in events and messages.
    fn name(&self) -> &str;

    /// Gives the next reply. The future may be dropped at any time, when the run is cancelled or out of time.
    async fn reply(&self, prompt: Prompt<'_>) -> Result<Reply, ProviderError>;
}

/// What a provider gets.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    /// Who the agent is and what holds for it.
    pub instructions: &'a str,
    /// The tools it may call.
    pub tools: &'a [ToolSpec],
    /// What was said and done so far.
    pub transcript: &'a Transcript,
}

/// What a provider gives. Without calls, the text is the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// What the model says.
    pub text: String,
    /// What it wants to be called; independent of each other.
    pub calls: Vec<ToolCall>,
    /// What the reply cost.
    pub usage: Usage,
}

impl Reply {
    /// A reply that ends the run.
    pub fn answer(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Tokens that a reply, or a whole run, cost; zero for providers that do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens the model read.
    pub input_tokens: u64,
    /// Tokens the model wrote.
    pub output_tokens: u64,
}

impl Usage {
    /// Tokens read and written.
    pub fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}

/// Why a provider gave no reply.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{provider}: {message}")]
pub struct ProviderError {
    /// The provider's name.
    pub provider: String,
    /// What was tried and what would help.
    pub message: String,
}
