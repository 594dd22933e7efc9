//! Which model a run speaks to: what the flag says, else what the agent's definition asks for, else what
//! is configured; and the key for it.

use anyhow::{Context as _, bail};
use palisade_agent::{Agent, ModelName};
use palisade_model::{Asker, Choice, Connection, Route, Target};

use crate::config::{Config, key};

/// What an agent speaks to. A flag is a person's word and is honoured or refused; a definition's wish
/// that cannot be fulfilled is a warning.
pub(crate) fn choose(flag: Option<&str>, agent: &Agent, config: &Config) -> anyhow::Result<Choice> {
    let directory = &config.typed.directory;
    let is_locked = config.is_locked("model");
    match flag.and_then(ModelName::parse) {
        Some(_) if is_locked => bail!("the operator has locked `model`; leave out --model"),
        Some(name) => return Ok(Choice { target: directory.find(&name, Asker::Person)?, warning: None }),
        None => {}
    }
    let root = directory.root().with_context(|| format!("set by {}", config.origin("model")));
    let Some(asked) = directory.asked(agent) else { return root };
    if is_locked {
        let mut root = root?;
        let warning = format!("`model: {asked}` is not used: the operator has locked `model`");
        root.warning = Some(warning).filter(|_| root.target.name() != asked.to_string());
        return Ok(root);
    }
    let own = directory.find(&asked, Asker::Definition);
    match (own, root) {
        (Ok(target), Ok(root)) if lacks_key(&target) && target != root.target => {
            let warning =
                format!("there is no key for `{asked}`; {} is used in its place{}", root.target.name(), hint(&target));
            Ok(Choice { target: root.target, warning: Some(warning) })
        }
        (Ok(target), _) => Ok(Choice { target, warning: None }),
        (Err(_), Ok(root)) => Ok(directory.choose(Some(&asked), &root.target)),
        (Err(_), Err(error)) => Err(error),
    }
}

/// What an agent speaks to which another one asks: its own model; nothing if that is the other one's. A wish that
/// cannot be fulfilled is a warning.
pub(crate) fn own(agent: &Agent, config: &Config) -> (Option<Target>, Option<String>) {
    let directory = &config.typed.directory;
    let Some(asked) = directory.asked(agent) else { return (None, None) };
    let instead = |why: &str| (None, Some(format!("`model: {asked}` is not used: {why}")));
    if config.is_locked("model") {
        return instead("the operator has locked `model`");
    }
    match directory.find(&asked, Asker::Definition) {
        Ok(target) if lacks_key(&target) => instead(&format!("there is no key for it{}", hint(&target))),
        Ok(target) => (Some(target), None),
        Err(error) => instead(&error.to_string()),
    }
}

/// The way to a model with its key.
pub(crate) fn connection(route: Route) -> anyhow::Result<Connection> {
    let key = match &route.key {
        Some(source) => Some(key::fetch(source).with_context(|| format!("there is no key for `{}`", route.provider))?),
        None => None,
    };
    Ok(route.connection(key))
}

fn lacks_key(target: &Target) -> bool {
    match target {
        Target::Server(route) => route.key.as_ref().and_then(key::is_present) == Some(false),
        Target::Offline | Target::Scripted(_) | Target::Outside { .. } => false,
    }
}

fn hint(target: &Target) -> String {
    match target {
        Target::Server(route) => {
            route.key.as_ref().map(|source| format!(" (it would come from {})", source.describe())).unwrap_or_default()
        }
        _ => String::new(),
    }
}
