//! Agents that are made in code.

use palisade_agent::{Agent, Layer, Origin};

use super::{Registry, found::Found};
use crate::definition::is_valid_name;

/// Why an agent was not registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// Nothing can be called so.
    #[error("`{0}` is no name: it begins with a letter or digit, then up to 99 letters, digits, `_` and `-`")]
    BadName(String),
    /// A plugin's agent without its plugin.
    #[error("Cannot register plugin agent without _pluginName")]
    NoPlugin,
    /// An agent that says it is a plugin's.
    #[error("`{name}` says that the plugin `{plugin}` brought it; register it as that plugin's")]
    OfPlugin {
        /// The agent.
        name: String,
        /// The plugin.
        plugin: String,
    },
}

impl Registry {
    /// Adds an agent to the layer that it says it is from. It takes the place of one that was there
    /// before, in that layer and under that name.
    pub fn register(&mut self, agent: Agent) -> Result<(), RegisterError> {
        check(&agent.name)?;
        match &agent.origin.plugin {
            Some(plugin) => Err(RegisterError::OfPlugin { name: agent.name.clone(), plugin: plugin.clone() }),
            None if agent.origin.layer == Layer::Plugin => Err(RegisterError::NoPlugin),
            None => {
                self.replace(agent);
                Ok(())
            }
        }
    }

    /// Adds an agent of a plugin, in the place of one of the same plugin and name.
    pub fn register_plugin_agent(&mut self, mut agent: Agent) -> Result<(), RegisterError> {
        check(&agent.name)?;
        check(agent.origin.plugin.as_deref().ok_or(RegisterError::NoPlugin)?)?;
        agent.origin.layer = Layer::Plugin;
        self.replace(agent);
        Ok(())
    }

    /// Adds agents of plugins. Those before one that cannot be added stay.
    pub fn register_plugin_agents(&mut self, agents: impl IntoIterator<Item = Agent>) -> Result<(), RegisterError> {
        agents.into_iter().try_for_each(|agent| self.register_plugin_agent(agent))
    }

    /// Removes everything of that name, so that no weaker agent takes its place; `plugin/name`
    /// removes that plugin's alone. Files are not touched, and a refresh finds them again. Says
    /// whether there was anything.
    pub fn unregister(&mut self, name: &str) -> bool {
        match name.split_once('/') {
            Some((plugin, name)) => self.unregister_plugin_agent(plugin, name),
            None => {
                self.registered.retain(|agent| agent.name != name);
                self.stacks.remove(name).is_some()
            }
        }
    }

    /// Removes an agent of a plugin. Another plugin's agent of that name stays.
    pub fn unregister_plugin_agent(&mut self, plugin: &str, name: &str) -> bool {
        self.remove(name, |origin| origin.plugin.as_deref() == Some(plugin))
    }

    fn replace(&mut self, agent: Agent) {
        let origin = agent.origin.clone();
        self.remove(&agent.name, |other| other.layer == origin.layer && other.plugin == origin.plugin);
        self.registered.push(agent.clone());
        self.insert(Found::new(agent));
    }

    fn remove(&mut self, name: &str, is_meant: impl Fn(&Origin) -> bool) -> bool {
        self.registered.retain(|agent| agent.name != name || !is_meant(&agent.origin));
        let Some(stack) = self.stacks.get_mut(name) else { return false };
        let before = stack.found.len();
        stack.found.retain(|found| !is_meant(&found.origin));
        let is_removed = stack.found.len() < before;
        stack.renew_shadows();
        if stack.found.is_empty() {
            self.stacks.remove(name);
        }
        is_removed
    }
}

fn check(name: &str) -> Result<(), RegisterError> {
    if is_valid_name(name) { Ok(()) } else { Err(RegisterError::BadName(name.to_owned())) }
}
