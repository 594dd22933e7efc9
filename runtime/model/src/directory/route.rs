//! The way to one model, without the key.

use std::{collections::BTreeMap, fmt};

use secrecy::SecretString;

use super::{KnownProvider, ModelSettings, ProviderSettings};
use crate::{Connection, Dialect, Patience, Price, ToolMode};

/// All that is needed to speak to a model, but where its key comes from in place of the key.
#[derive(Clone, PartialEq)]
pub struct Route {
    /// What the provider is called.
    pub provider: String,
    /// What the provider calls the model.
    pub model: String,
    /// How it is spoken to.
    pub dialect: Dialect,
    /// Where requests go.
    pub base_url: String,
    /// The proxy that requests go through.
    pub proxy: Option<String>,
    /// Where the key comes from, if one is wanted.
    pub key: Option<KeySource>,
    /// Further headers.
    pub headers: Headers,
    /// How the model is told of tools.
    pub tool_mode: ToolMode,
    /// How many tokens it can read at once.
    pub context_window: Option<u64>,
    /// The most tokens of one reply.
    pub max_tokens: Option<u32>,
    /// What its tokens cost.
    pub price: Option<Price>,
    /// How long it is waited for.
    pub patience: Patience,
}

/// Shows no address: it may hold a password.
impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("dialect", &self.dialect)
            .field("key", &self.key)
            .field("headers", &self.headers)
            .field("tool_mode", &self.tool_mode)
            .field("context_window", &self.context_window)
            .field("max_tokens", &self.max_tokens)
            .field("price", &self.price)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// Headers by name. Printed, they show their names alone: a value may be meant for nobody else.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(pub BTreeMap<String, String>);

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Where a key comes from. Never the key itself: keys do not stand in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// A variable of the environment.
    Variable(String),
    /// A program that prints it, with its arguments; no shell is involved.
    Command(Vec<String>),
    /// A key of that description in the kernel's keyring.
    Keyring(String),
}

impl Route {
    /// What is known of the provider, what was said of it, and what was said of the model.
    pub(super) fn new(
        provider: &str,
        model: &str,
        known: Option<&KnownProvider>,
        said: ProviderSettings,
        own: Option<&ModelSettings>,
    ) -> Result<Self, String> {
        let base_url = said.base_url.or_else(|| known?.base_url.map(str::to_owned));
        let Some(base_url) = base_url else {
            let table = super::quoted(provider);
            return Err(format!("nobody said where `{provider}` is; add `base_url` to [providers.{table}]"));
        };
        let own = own.cloned().unwrap_or_default();
        Ok(Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            dialect: said.dialect.or(known.map(|known| known.dialect)).unwrap_or(Dialect::Chat),
            base_url,
            proxy: said.proxy,
            key: said.key.or_else(|| known?.key()),
            headers: said.headers,
            tool_mode: own.tool_mode,
            context_window: own.context_window,
            max_tokens: own.max_tokens,
            price: own.price,
            patience: said.patience,
        })
    }

    /// The way with its key.
    pub fn connection(self, key: Option<SecretString>) -> Connection {
        Connection {
            provider: self.provider,
            model: self.model,
            dialect: self.dialect,
            base_url: self.base_url,
            proxy: self.proxy,
            key,
            headers: self.headers.0,
            tool_mode: self.tool_mode,
            context_window: self.context_window,
            max_tokens: self.max_tokens,
            price: self.price,
            patience: self.patience,
        }
    }
}

impl KeySource {
    /// What people read, such as `the variable ANTHROPIC_API_KEY`.
    pub fn describe(&self) -> String {
        match self {
            Self::Variable(name) => format!("the variable {name}"),
            Self::Command(words) => {
                format!("the command {}", words.first().map(String::as_str).unwrap_or_default())
            }
            Self::Keyring(description) => format!("the key {description} of the kernel's keyring"),
        }
    }
}
