//! Which model a name means: what is configured goes in, what would be spoken to comes out.
//!
//! Pure: nothing is connected and no key is read here. Whoever names a model chooses among what the
//! operator and the user have configured; only a person's own word connects something else.

mod known;
mod route;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use palisade_agent::{Agent, ModelName, Runtime};
use thiserror::Error;

use crate::{Dialect, Offline, Patience, Price, ToolMode};
pub use known::{KnownProvider, OUTSIDE};
pub use route::{Headers, KeySource, Route};

/// What is configured: providers, models with names of their own, and what is spoken to if nobody says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directory {
    /// What was said of providers, by name; [`KnownProvider`] fills in the rest.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Models by the name they were given.
    pub models: BTreeMap<String, ModelSettings>,
    /// What a person chose; absent: the offline planner.
    pub default: Option<String>,
    /// What the project would rather have, from what is configured.
    pub preferred: Option<String>,
    /// The programs outside of the sandbox that may be used, such as `claude-cli`.
    pub outside: BTreeSet<String>,
}

/// What was said of one provider.
#[derive(Clone, Default, PartialEq)]
pub struct ProviderSettings {
    /// Where requests go.
    pub base_url: Option<String>,
    /// The proxy that they go through.
    pub proxy: Option<String>,
    /// How it is spoken to.
    pub dialect: Option<Dialect>,
    /// Where its key comes from.
    pub key: Option<KeySource>,
    /// Further headers.
    pub headers: Headers,
    /// How long it is waited for.
    pub patience: Patience,
}

/// Shows no address: it may hold a password.
impl fmt::Debug for ProviderSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderSettings")
            .field("dialect", &self.dialect)
            .field("key", &self.key)
            .field("headers", &self.headers)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// What was said of one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSettings {
    /// Which one it is: `provider:model`.
    pub model: String,
    /// How many tokens it can read at once.
    pub context_window: Option<u64>,
    /// The most tokens of one reply.
    pub max_tokens: Option<u32>,
    /// How it is told of tools.
    pub tool_mode: ToolMode,
    /// What its tokens cost.
    pub price: Option<Price>,
}

/// What an agent speaks to.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The planner that is no language model.
    Offline,
    /// A file of replies.
    Scripted(String),
    /// A program outside of the sandbox, and the model it is asked to use.
    Outside {
        /// Its name, such as `claude-cli`.
        program: String,
        /// What it calls the model; absent: as it likes.
        model: Option<String>,
    },
    /// A server.
    Server(Box<Route>),
}

/// What an agent speaks to in the end, and what it should be told about that.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// What it speaks to.
    pub target: Target,
    /// Why that is not what was asked for.
    pub warning: Option<String>,
}

/// Who names a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// The person who starts the program, by a flag, a variable or a file of their own.
    Person,
    /// A definition or a file of the project: it chooses among what is configured.
    Definition,
}

/// A name that means no model here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no model `{name}`: {why}")]
pub struct UnknownModel {
    /// What was asked for.
    pub name: String,
    /// What is missing, and what would help.
    pub why: String,
}

impl Directory {
    /// What is spoken to if no agent says otherwise. The project's wish counts if it is configured, and if
    /// it does not start a program with the user's rights.
    pub fn root(&self) -> Result<Choice, UnknownModel> {
        let own = self.chosen()?;
        let wish = self.preferred.as_deref().and_then(ModelName::parse);
        let choice = self.choose(wish.as_ref(), &own);
        match &choice.target {
            Target::Outside { program, .. } if choice.target != own => {
                let warning = format!(
                    "the project wants `{program}`, which runs outside of the sandbox; that is not a project's to say, \
                     so {} is used in its place",
                    own.name()
                );
                Ok(Choice { target: own, warning: Some(warning) })
            }
            _ => Ok(choice),
        }
    }

    /// What an agent speaks to: what it asks for, or else what its parent speaks to (at the root,
    /// what is configured). A name that means nothing here is no reason to fail.
    pub fn choose(&self, asked: Option<&ModelName>, otherwise: &Target) -> Choice {
        match asked.map(|name| self.find(name, Asker::Definition)) {
            None => Choice { target: otherwise.clone(), warning: None },
            Some(Ok(target)) => Choice { target, warning: None },
            Some(Err(unknown)) => {
                let warning = format!("{unknown}; {} is used in its place", otherwise.name());
                Choice { target: otherwise.clone(), warning: Some(warning) }
            }
        }
    }

    /// What a name means.
    pub fn find(&self, name: &ModelName, asker: Asker) -> Result<Target, UnknownModel> {
        let unknown = |why: String| UnknownModel { name: name.to_string(), why };
        match &name.provider {
            Some(provider) => self.named(provider, &name.model, asker).map_err(unknown),
            None => self.bare(&name.model, asker).map_err(unknown),
        }
    }

    /// What a definition asks for. A provider that stands apart from the model, as in `type: chat`, is put
    /// before it; `type: chat` without one means `openai`, where that is configured.
    pub fn asked(&self, agent: &Agent) -> Option<ModelName> {
        let Runtime::Chat { provider, settings } = &agent.runtime else {
            return agent.model.clone();
        };
        let of_chat = || {
            let first = settings.get("models").and_then(|models| models.get(0));
            settings.get("model").or(first).and_then(|model| model.as_str()).and_then(ModelName::parse)
        };
        let name = agent.model.clone().or_else(of_chat);
        let usual = || Some("openai".to_owned()).filter(|usual| self.is_connected(usual));
        match (name, provider) {
            (Some(ModelName { provider: None, model }), None) if !self.models.contains_key(&model) => {
                Some(ModelName { provider: usual(), model })
            }
            (Some(ModelName { provider: None, model }), Some(provider)) => {
                Some(ModelName { provider: Some(provider.clone()), model })
            }
            // Programs choose a model themselves; a server is told one.
            (None, Some(program)) if OUTSIDE.contains(&program.as_str()) => {
                Some(ModelName { provider: None, model: program.clone() })
            }
            (name, _) => name,
        }
    }

    /// The names of all providers there are.
    pub fn provider_names(&self) -> BTreeSet<&str> {
        let known = KnownProvider::ALL.iter().map(|known| known.name);
        known.chain(self.providers.keys().map(String::as_str)).collect()
    }

    /// Whether somebody has configured it, or a model of it.
    pub fn is_connected(&self, provider: &str) -> bool {
        let serves = |text: &str| self.split(text).is_some_and(|(other, _)| other == provider);
        self.providers.contains_key(provider)
            || self.default.as_deref().is_some_and(serves)
            || self.models.values().any(|settings| serves(&settings.model))
    }

    fn chosen(&self) -> Result<Target, UnknownModel> {
        match self.default.as_deref().and_then(ModelName::parse) {
            Some(name) => self.find(&name, Asker::Person),
            None => Ok(Target::Offline),
        }
    }

    /// A provider and what it calls the model.
    fn named(&self, provider: &str, model: &str, asker: Asker) -> Result<Target, String> {
        match provider {
            Offline::NAME => return Ok(Target::Offline),
            "scripted" if asker == Asker::Person => return Ok(Target::Scripted(model.to_owned())),
            "scripted" => return Err("a script is chosen by whoever starts the program, with --model".to_owned()),
            _ if OUTSIDE.contains(&provider) => return self.outside(provider, Some(model)),
            _ => {}
        }
        let own = self.models.get(model).filter(|own| self.split(&own.model).is_some_and(|(of, _)| of == provider));
        if let Some(own) = own {
            return self.model(own, asker);
        }
        let same = |own: &&ModelSettings| self.split(&own.model) == Some((provider, model));
        self.route(provider, model, self.models.values().find(same), asker)
    }

    /// A name without a provider: one that was given here, one with a provider of the user's own, or
    /// one that the provider it belongs to will know.
    fn bare(&self, text: &str, asker: Asker) -> Result<Target, String> {
        if let Some(own) = self.models.get(text) {
            return self.model(own, asker);
        }
        match text {
            Offline::NAME => return Ok(Target::Offline),
            "scripted" => return Err("say which file of replies: scripted:FILE".to_owned()),
            _ if OUTSIDE.contains(&text) => return self.outside(text, None),
            _ => {}
        }
        if let Some((provider, model)) = self.split(text) {
            return self.named(provider, model, asker);
        }
        if let Some(own) = self.models.values().find(|own| self.split(&own.model).is_some_and(|(_, m)| m == text)) {
            return self.model(own, asker);
        }
        let default = self.default.as_deref().filter(|default| *default != text);
        let default = default.and_then(|default| Some(self.split_own(default)?.0));
        match KnownProvider::of_family(text) {
            Some(family) if asker == Asker::Person || self.is_connected(family) => self.named(family, text, asker),
            None if default.is_some_and(|provider| !KnownProvider::is_choosy(provider)) => {
                self.named(default.unwrap_or_default(), text, asker)
            }
            _ => Err(match text.split_once([':', '/']) {
                Some((provider, _)) if !provider.is_empty() => format!(
                    "there is no provider {}; `palisade models` lists them, [providers] adds one, [models.{}] gives the name a meaning",
                    quoted(provider),
                    quoted(text)
                ),
                _ => format!("write `provider:model`, or give it a name with [models.{}]", quoted(text)),
            }),
        }
    }

    fn model(&self, own: &ModelSettings, asker: Asker) -> Result<Target, String> {
        match self.split(&own.model) {
            Some((provider, model)) if OUTSIDE.contains(&provider) => self.outside(provider, Some(model)),
            Some((provider, model)) => self.route(provider, model, Some(own), asker),
            None => match own.model.as_str() {
                Offline::NAME => Ok(Target::Offline),
                text if OUTSIDE.contains(&text) => self.outside(text, None),
                text => Err(format!("`{text}` names no provider; write `provider:model`")),
            },
        }
    }

    fn outside(&self, program: &str, model: Option<&str>) -> Result<Target, String> {
        if !self.outside.contains(program) {
            return Err(format!(
                "it runs outside of the sandbox; allow it with `allow = [\"{program}\"]` in [outside] of your own \
                 configuration"
            ));
        }
        Ok(Target::Outside { program: program.to_owned(), model: model.map(str::to_owned) })
    }

    fn route(&self, provider: &str, model: &str, own: Option<&ModelSettings>, asker: Asker) -> Result<Target, String> {
        let (known, settings) = (KnownProvider::find(provider), self.providers.get(provider));
        if known.is_none() && settings.is_none() {
            let names: Vec<&str> = self.provider_names().into_iter().collect();
            return Err(format!("there is no provider `{provider}`; there are {}", names.join(", ")));
        }
        if asker == Asker::Definition && !self.is_connected(provider) {
            return Err(format!(
                "the provider `{provider}` is not configured; add [providers.{}] to your own configuration",
                quoted(provider)
            ));
        }
        let route = Route::new(provider, model, known, settings.cloned().unwrap_or_default(), own);
        Ok(Target::Server(Box::new(route?)))
    }

    /// `provider:model` or `provider/model`, if there is such a provider.
    fn split<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str)> {
        let (provider, model) = text.trim().split_once([':', '/'])?;
        let exists = self.providers.contains_key(provider)
            || KnownProvider::find(provider).is_some()
            || OUTSIDE.contains(&provider);
        (exists && !model.trim().is_empty()).then_some((provider, model.trim()))
    }

    /// The same for a name that was given here.
    fn split_own<'t>(&'t self, text: &'t str) -> Option<(&'t str, &'t str)> {
        self.split(self.models.get(text).map_or(text, |own| own.model.as_str()))
    }
}

impl Target {
    /// What people call it: `offline`, `anthropic:claude-sonnet-4-5`.
    pub fn name(&self) -> String {
        match self {
            Self::Offline => Offline::NAME.to_owned(),
            Self::Scripted(file) => format!("scripted:{file}"),
            Self::Outside { program, model: None } => program.clone(),
            Self::Outside { program, model: Some(model) } => format!("{program}:{model}"),
            Self::Server(route) => format!("{}:{}", route.provider, route.model),
        }
    }
}

/// A name as a table's header has it.
fn quoted(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_bare { name.to_owned() } else { format!("{name:?}") }
}

#[cfg(test)]
mod tests;
