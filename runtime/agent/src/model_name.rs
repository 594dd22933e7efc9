//! Which model an agent speaks to, in all the ways people write it.

use std::fmt;

/// A model, and the provider if it was named.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelName {
    /// Who serves it; absent: the configured provider.
    pub provider: Option<String>,
    /// What the provider calls it.
    pub model: String,
}

/// Prefixes that are providers. A model's own name may hold `:` or `/` (`qwen2.5-coder:32b`,
/// `meta-llama/llama-4`), so a text is split only after one of these.
pub const PROVIDERS: [&str; 13] = [
    "anthropic",
    "openai",
    "openai-compatible",
    "openai-responses",
    "openrouter",
    "ollama",
    "vllm",
    "llamacpp",
    "claude-cli",
    "codex-cli",
    "pi-cli",
    "scripted",
    "offline",
];

impl ModelName {
    /// Reads `model`, `provider:model` or `provider/model`. `None` for `inherit` and for nothing.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || text.eq_ignore_ascii_case("inherit") {
            return None;
        }
        let split = text.split_once([':', '/']).filter(|(provider, model)| {
            !model.trim().is_empty() && PROVIDERS.iter().any(|known| known.eq_ignore_ascii_case(provider))
        });
        Some(match split {
            Some((provider, model)) => {
                Self { provider: Some(provider.to_ascii_lowercase()), model: model.trim().to_owned() }
            }
            None => Self { provider: None, model: text.to_owned() },
        })
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.provider {
            Some(provider) => write!(f, "{provider}:{}", self.model),
            None => f.write_str(&self.model),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B6, CF-8
    #[test]
    fn a_model_is_split_only_after_a_known_provider() {
        let check = |text: &str, provider: Option<&str>, model: &str| {
            let expected = ModelName { provider: provider.map(str::to_owned), model: model.to_owned() };
            assert_eq!(ModelName::parse(text), Some(expected), "{text}");
        };
        check("claude-3-5-sonnet-20241022", None, "claude-3-5-sonnet-20241022");
        check("anthropic:sonnet", Some("anthropic"), "sonnet");
        check("openai/gpt-4o", Some("openai"), "gpt-4o");
        check("qwen2.5-coder:32b", None, "qwen2.5-coder:32b");
        check("ollama:qwen2.5-coder:32b", Some("ollama"), "qwen2.5-coder:32b");
        check("meta-llama/llama-4", None, "meta-llama/llama-4");
        check("openai:", None, "openai:");
        assert_eq!(ModelName::parse("inherit"), None);
        assert_eq!(ModelName::parse("  "), None);
    }
}
