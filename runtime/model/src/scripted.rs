//! A provider that replays replies from a text, for tests, demonstrations and recorded runs.

mod recording;
mod script;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use palisade_agent::{Listener, Prompt, Provider, ProviderError, ProviderFailure, Reply};

pub use recording::Recording;
pub use script::ScriptError;
use script::ScriptedReply;

/// Replays replies, one per step. Each is heard in pieces before it is there, as if it came in.
#[derive(Debug)]
pub struct Scripted {
    replies: Mutex<VecDeque<ScriptedReply>>,
}

impl Scripted {
    /// What it is known by.
    pub const NAME: &str = "scripted";

    /// Reads a script: a JSON list of replies, or one reply on each line, as [`Recording`] writes them.
    ///
    /// A reply is an object of which every field is optional, but not all of them:
    ///
    /// - `text`, `thinking`: a text, or a list of texts that are heard one after the other;
    /// - `calls`: `[{"tool": …, "input": {…}, "id": …}]`, of which only `tool` is needed;
    /// - `usage`: `{"input_tokens": …, "output_tokens": …}`;
    /// - `ended`: `complete`, `length` or `refused`;
    /// - `kept`: what the provider wants back;
    /// - `wait`: how many milliseconds pass before anything of it is heard;
    /// - `error`: `{"kind": "rate_limited", "message": …}`: the reply fails after its parts were heard.
    pub fn parse(script: impl AsRef<[u8]>) -> Result<Self, ScriptError> {
        Ok(Self { replies: Mutex::new(script::parse(script.as_ref())?.into()) })
    }

    /// Replays these replies.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: Mutex::new(replies.into_iter().map(|reply| ScriptedReply::of(&reply)).collect()) }
    }
}

#[async_trait]
impl Provider for Scripted {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn counts_cost(&self) -> bool {
        true
    }

    async fn reply(&self, _: Prompt<'_>, listener: &dyn Listener) -> Result<Reply, ProviderError> {
        let next = self.replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(reply) = next else {
            return Err(ProviderError {
                provider: Self::NAME.to_owned(),
                kind: ProviderFailure::Exhausted,
                message: "the script has no reply left; end it with one that has no calls".to_owned(),
            });
        };
        // A timer takes a while even for nothing.
        if let Some(wait) = reply.wait() {
            tokio::time::sleep(wait).await;
        }
        reply.tell(listener);
        reply.outcome(Self::NAME)
    }
}

#[cfg(test)]
mod tests;
