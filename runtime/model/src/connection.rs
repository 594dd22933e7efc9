//! What is needed to speak to one model: where, in which dialect, with which key and patience.

use std::{collections::BTreeMap, fmt, time::Duration};

use palisade_agent::Usage;
use secrecy::SecretString;

/// How one model is reached.
#[derive(Clone)]
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
    /// The proxy that requests go through; none in the environment has an effect.
    pub proxy: Option<String>,
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

/// Shows no value of a header and no address: both may hold a secret.
impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&String> = self.headers.keys().collect();
        f.debug_struct("Connection")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("dialect", &self.dialect)
            .field("key", &self.key)
            .field("headers", &headers)
            .field("tool_mode", &self.tool_mode)
            .field("context_window", &self.context_window)
            .field("max_tokens", &self.max_tokens)
            .field("price", &self.price)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
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

impl Price {
    /// What a reply costs, in millionths of a dollar.
    pub fn of(self, usage: Usage) -> u64 {
        let plain = usage.input_tokens.saturating_sub(usage.cached_tokens).saturating_sub(usage.cache_written_tokens);
        let parts = [
            (plain, self.input),
            (usage.output_tokens, self.output),
            (usage.cached_tokens, self.cached),
            (usage.cache_written_tokens, self.cache_written),
        ];
        // Dollars per million tokens are millionths of a dollar per token.
        parts.into_iter().map(|(tokens, price)| tokens as f64 * price).sum::<f64>().round() as u64
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_counts_every_token_once() {
        let price = Price { input: 3.0, output: 15.0, cached: 0.3, cache_written: 3.75 };
        let usage = Usage {
            input_tokens: 1000 + 200 + 40,
            output_tokens: 100,
            cached_tokens: 200,
            cache_written_tokens: 40,
            cost_micros: 7,
        };
        assert_eq!(price.of(usage), 3000 + 1500 + 60 + 150);
        assert_eq!(price.of(Usage::default()), 0);
        assert_eq!(Price { input: f64::NAN, ..price }.of(usage), 0);
        assert_eq!(price.of(Usage { input_tokens: u64::MAX, ..Usage::default() }), u64::MAX);
    }

    /// SEC-03
    #[test]
    fn a_connection_that_is_printed_shows_no_secret() {
        let connection = Connection {
            provider: "p".into(),
            model: "m".into(),
            dialect: Dialect::Chat,
            base_url: "http://user:canary@127.0.0.1".into(),
            proxy: Some("http://user:canary@127.0.0.1".into()),
            key: Some("canary".into()),
            headers: BTreeMap::from([("authorization".into(), "Bearer canary".into())]),
            tool_mode: ToolMode::Native,
            context_window: None,
            max_tokens: None,
            price: None,
            patience: Patience::default(),
        };
        let printed = format!("{connection:?} {connection:#?}");
        assert!(printed.contains("authorization") && !printed.contains("canary"), "{printed}");
    }
}
