//! One name becomes one agent, or a reason why it does not.

use palisade_agent::Agent;

use super::{
    Plugin, Registry, Shadowed, Status,
    found::{Found, State},
};
use crate::definition::{Notice, Rejected};

/// Names that people know from elsewhere. They count if no agent is called so.
const ALIASES: [(&str, &str); 2] = [("general-purpose", "general"), ("reviewer", "review")];

/// Why there is no agent to be used under a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// Nothing is called so.
    #[error("there is no agent `{name}`; there are {}", known.join(", "))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names there are, as far as whoever asked may see them.
        known: Vec<String>,
    },
    /// The strongest definition of that name cannot be used. A weaker one has other rights and is
    /// not used in its place.
    #[error("{0}")]
    Broken(Rejected),
    /// The definition is the project's, and nobody has trusted it as it is.
    #[error(
        "the agent `{name}` is defined by the project in {path}, {}; read the file, then allow it with `{command}`",
        if *changed { "which has changed since it was trusted" } else { "which nobody has trusted yet" }
    )]
    Untrusted {
        /// The name that was asked for.
        name: String,
        /// The file.
        path: String,
        /// Of the file as it is.
        digest: blake3::Hash,
        /// Whether it was trusted when it said something else.
        changed: bool,
        /// What allows it.
        command: String,
    },
    /// The operator does not let it be used.
    #[error("{reason}")]
    Refused {
        /// Why, and what would allow it.
        reason: String,
    },
}

/// An agent to be looked at, and what is known about its definition.
#[derive(Clone, Copy, Debug)]
pub struct Located<'a> {
    /// The agent.
    pub agent: &'a Agent,
    /// Whether it may be used: it can be untrusted.
    pub status: Status,
    /// Weaker definitions of the same name, the strongest first.
    pub shadows: &'a [Shadowed],
    /// What is worth saying about its file.
    pub notices: &'a [Notice],
}

impl Registry {
    /// Finds an agent by its name, or by `plugin/name`. Names are compared as they are written.
    pub fn find(&self, name: &str) -> Result<&Agent, FindError> {
        self.found(name).ok_or_else(|| self.missing(name))?.usable(name)
    }

    /// Finds an agent to be looked at, trusted or not: to look at it is how one decides. What is to be
    /// used comes from [`Registry::find`].
    pub fn look_up(&self, name: &str) -> Result<Located<'_>, FindError> {
        let found = self.found(name).ok_or_else(|| self.missing(name))?;
        let is_strongest = self.strongest(&found.name).is_some_and(|strongest| std::ptr::eq(strongest, found));
        let shadows = if is_strongest { self.shadows(&found.name) } else { &[] };
        let (agent, status) = match &found.state {
            State::Untrusted(agent) => (agent.as_ref(), Status::Untrusted),
            _ => (found.usable(name)?, Status::Ok),
        };
        Ok(Located { agent, status, shadows, notices: &found.warnings })
    }

    /// The agent of that name, if it can be used.
    pub fn get(&self, name: &str) -> Option<&Agent> {
        self.found(name).and_then(Found::agent)
    }

    /// Whether there is an agent of that name that can be used.
    pub fn exists(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// What stands under a name, whether or not it can be used.
    pub(super) fn found(&self, name: &str) -> Option<&Found> {
        if let Some((plugin, name)) = name.split_once('/') {
            let stack = self.stacks.get(name)?;
            return stack.found.iter().find(|found| found.origin.plugin.as_deref() == Some(plugin));
        }
        self.strongest(name).or_else(|| {
            let (_, usual) = ALIASES.into_iter().find(|(alias, _)| *alias == name)?;
            self.strongest(usual)
        })
    }

    /// Why nothing stands under a name: its plugin may be at fault.
    fn missing(&self, name: &str) -> FindError {
        let plugin = name.split_once('/').and_then(|(plugin, _)| self.plugins.iter().find(|it| it.name == plugin));
        match plugin {
            Some(Plugin { name, disabled: true, .. }) => {
                FindError::Refused { reason: format!("the plugin `{name}` is one of `disabled_plugins`") }
            }
            Some(Plugin { broken: Some(rejected), .. }) => FindError::Broken(rejected.clone()),
            _ => self.unknown(name, self.list_visible()),
        }
    }

    pub(super) fn unknown(&self, name: &str, known: Vec<&Agent>) -> FindError {
        FindError::Unknown { name: name.to_owned(), known: known.into_iter().map(|agent| agent.name.clone()).collect() }
    }
}

impl Found {
    /// The agent, if it can be used.
    pub(super) fn usable(&self, name: &str) -> Result<&Agent, FindError> {
        match (&self.state, &self.project) {
            (State::Usable(agent), _) => Ok(agent),
            (State::Broken(rejected), _) => Err(FindError::Broken(Rejected::clone(rejected))),
            (State::Refused(reason), _) => Err(FindError::Refused { reason: reason.clone() }),
            (State::Untrusted(_), Some(file)) => Err(FindError::Untrusted {
                name: name.to_owned(),
                path: self.origin.path.clone().unwrap_or_else(|| file.relative.clone()),
                digest: file.digest,
                changed: file.changed,
                command: format!("palisade agents trust {name}"),
            }),
            (State::Untrusted(_), None) => {
                Err(FindError::Refused { reason: format!("nobody has trusted the agent `{name}` yet") })
            }
        }
    }
}

impl FindError {
    /// The same for a model that asked for a kind of sub-agent.
    pub fn for_subagent(&self) -> String {
        match self {
            Self::Unknown { name, known } => {
                format!("Unknown subagent type: \"{name}\". Available: {}", known.join(", "))
            }
            Self::Broken(_) | Self::Untrusted { .. } | Self::Refused { .. } => self.to_string(),
        }
    }
}

impl Located<'_> {
    /// What is worth saying about its file, in words.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.notices.iter().map(Notice::without_severity).collect();
        if self.status == Status::Untrusted {
            let name = &self.agent.name;
            warnings
                .push(format!("the project's file is not trusted; `palisade agents trust {name}` lets the agent run"));
        }
        warnings
    }
}
