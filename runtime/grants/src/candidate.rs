//! A tool an agent might have, and who an agent is when a tool asks.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::canonical_tool;

/// A tool an agent might have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    name: String,
    canonical: String,
    capabilities: Vec<String>,
    /// Where it comes from.
    pub source: ToolSource,
    /// Whom it works for.
    pub binding: Binding,
}

/// Where a tool comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolSource {
    /// Part of this program.
    Core,
    /// Brought by a plugin.
    Plugin(String),
    /// Offered by an MCP server.
    Server(String),
}

/// Who an agent is. Names alone do not tell: anybody can write a file that says `database-agent`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The plugin that brought it.
    pub plugin: Option<String>,
    /// Its name.
    pub name: String,
}

/// Whom a tool works for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    /// Everybody who has it in scope.
    #[default]
    Anyone,
    /// `required_agent`: one agent of its own plugin.
    Requires(Identity),
    /// `visible_to`: some agents of its own plugin.
    VisibleTo(Vec<Identity>),
}

impl Candidate {
    /// A tool that works for everybody.
    pub fn new(name: impl Into<String>, capabilities: impl IntoIterator<Item = String>, source: ToolSource) -> Self {
        let name = name.into();
        let canonical = canonical_tool(&name);
        Self { name, canonical, capabilities: capabilities.into_iter().collect(), source, binding: Binding::Anyone }
    }

    /// The same tool, for those alone.
    pub fn bound(mut self, binding: Binding) -> Self {
        self.binding = binding;
        self
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What all ways to write its name have in common.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// What it needs: the host's capabilities, from its imports, and its plugin's own.
    pub fn capabilities(&self) -> &[String] {
        &self.capabilities
    }
}

impl Identity {
    /// An agent that no plugin brought.
    pub fn of(name: impl Into<String>) -> Self {
        Self { plugin: None, name: name.into() }
    }

    /// An agent of a plugin.
    pub fn of_plugin(plugin: impl Into<String>, name: impl Into<String>) -> Self {
        Self { plugin: Some(plugin.into()), name: name.into() }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.plugin {
            Some(plugin) => write!(f, "{plugin}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl Binding {
    /// Decides whether a tool works for an agent. An agent of the same name from elsewhere counts
    /// only if the operator says so.
    pub fn permits(&self, tool: &str, agent: &Identity, overrides: &[Identity]) -> Result<(), String> {
        let is = |bound: &Identity| bound == agent || overrides.contains(bound) && bound.name == agent.name;
        match self {
            Self::Anyone => Ok(()),
            Self::Requires(bound) if is(bound) => Ok(()),
            Self::VisibleTo(bound) if bound.is_empty() || bound.iter().any(is) => Ok(()),
            Self::Requires(bound) => {
                let mut text =
                    format!("Tool '{tool}' requires agent '{}' but current agent is '{}'", bound.name, agent.name);
                if bound.name == agent.name {
                    text += &format!(
                        "; only the agent of that name in `{bound}` is meant, unless `binding_overrides` lists it"
                    );
                }
                Err(text)
            }
            Self::VisibleTo(bound) => {
                let names: Vec<&str> = bound.iter().map(|agent| agent.name.as_str()).collect();
                Err(format!(
                    "Tool '{tool}' is only visible to agents: [{}]. Current agent is '{}'",
                    names.join(", "),
                    agent.name
                ))
            }
        }
    }
}
