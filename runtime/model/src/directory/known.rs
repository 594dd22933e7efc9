//! The providers that need no configuration but a key: where they are and how they are spoken to.

use crate::{Dialect, KeySource};

/// A provider this program knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownProvider {
    /// What it is called.
    pub name: &'static str,
    /// How it is spoken to.
    pub dialect: Dialect,
    /// Where it is; absent: only the user knows.
    pub base_url: Option<&'static str>,
    /// The variable its key is in; absent: it wants none.
    pub key_variable: Option<&'static str>,
}

/// Programs outside of the sandbox that speak to a model of their own.
pub const OUTSIDE: [&str; 3] = ["claude-cli", "codex-cli", "pi-cli"];

impl KnownProvider {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::hosted("anthropic", Dialect::Anthropic, "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        Self::hosted("openai", Dialect::Chat, "https://api.openai.com/v1", "OPENAI_API_KEY"),
        Self::hosted("openai-responses", Dialect::Responses, "https://api.openai.com/v1", "OPENAI_API_KEY"),
        Self::hosted("openrouter", Dialect::Chat, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        Self::local("ollama", "http://127.0.0.1:11434/v1"),
        Self::local("vllm", "http://127.0.0.1:8000/v1"),
        Self::local("llamacpp", "http://127.0.0.1:8080/v1"),
        Self { name: "openai-compatible", dialect: Dialect::Chat, base_url: None, key_variable: None },
    ];

    const fn hosted(name: &'static str, dialect: Dialect, base_url: &'static str, key: &'static str) -> Self {
        Self { name, dialect, base_url: Some(base_url), key_variable: Some(key) }
    }

    const fn local(name: &'static str, base_url: &'static str) -> Self {
        Self { name, dialect: Dialect::Chat, base_url: Some(base_url), key_variable: None }
    }

    /// The one of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|known| known.name == name)
    }

    /// Where its key comes from, if nothing else is said.
    pub fn key(&self) -> Option<KeySource> {
        self.key_variable.map(|name| KeySource::Variable(name.to_owned()))
    }

    /// Whose model has a name like this. Only the two whose names are unmistakable.
    pub(super) fn of_family(model: &str) -> Option<&'static str> {
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| model.starts_with(prefix));
        if begins(&["claude-"]) {
            return Some("anthropic");
        }
        // Open weights are served by others.
        let is_theirs = begins(&["gpt-", "chatgpt-", "o1", "o3", "o4-"]) && !begins(&["gpt-oss"]);
        is_theirs.then_some("openai")
    }

    /// Whether it serves no models but its own.
    pub(super) fn is_choosy(provider: &str) -> bool {
        matches!(provider, "anthropic" | "openai" | "openai-responses")
    }
}
