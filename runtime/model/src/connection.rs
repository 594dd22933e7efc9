//! What is needed to speak to one model: where, in which dialect, with which key and patience.

use std::{collections::BTreeMap, time::Duration};

use secrecy::SecretString;

/// How one model is reached.
#[derive(Clone, Debug)]
pub struct Connection {
    /// What the provider is called in events and messages, such as `anthropic` or `ollama`.
    pub provider: String,
    /// What the provider calls the model.
    pub model: String,
    /// How it is spoken to.
    pub dialect: Dialect,
    /// Where requests go: `https://api.anthropic.com`, `http://127.0.0.1:11434/v1`. The dialect adds
    /// its own path to it.
    pub base_url: String,
    /// The key, if the server wants one. Never printed: its `Debug` shows nothing.
    pub key: Option<SecretString>,
    /// Further headers, such as a project or an organisation.
    pub headers: BTreeMap<String, String>,
    /// How the model is told of tools.
    pub tool_mode: ToolMode,
    /// How many tokens the model can read at once, if that is known.
    pub context_window: Option<u64>,
    /// The most tokens of one reply, for dialects that must be told and definitions that do not say.
    pub max_tokens: Option<u32>,
    /// What its tokens cost, if somebody said so.
    pub price: Option<Price>,
    /// How long it is waited for, and how often it is tried.
    pub patience: Patience,
}

/// A way to write requests and to read replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Anthropic Messages: `POST /v1/messages`.
    Anthropic,
    /// OpenAI Chat Completions: `POST /chat/completions`. Also Ollama, vLLM, llama.cpp, OpenRouter.
    Chat,
    /// OpenAI Responses: `POST /responses`.
    Responses,
}

/// How a model is told of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolMode {
    /// By the dialect's own means.
    #[default]
    Native,
    /// For models that do not call tools: every reply is held to a JSON schema whose value is either a
    /// call or an answer.
    Json,
}

/// What tokens cost, in dollars per million.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Tokens read.
    pub input: f64,
    /// Tokens written.
    pub output: f64,
    /// Tokens read from the cache.
    pub cached: f64,
    /// Tokens written into the cache.
    pub cache_written: f64,
}

/// How long a provider is waited for, how much it may say, how often it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until the first byte of the reply.
    pub first_byte: Duration,
    /// Between two pieces of the reply.
    pub idle: Duration,
    /// For the whole reply.
    pub total: Duration,
    /// The most bytes of one reply.
    pub bytes: usize,
    /// How often a request is repeated after a failure that may pass.
    pub retries: u32,
    /// The longest wait between two tries, whatever the provider asks for.
    pub longest_wait: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(600),
            bytes: 16 << 20,
            retries: 4,
            longest_wait: Duration::from_secs(60),
        }
    }
}
