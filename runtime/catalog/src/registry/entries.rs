//! What a list of agents shows.

use palisade_agent::{Agent, Origin};

use super::{
    FindError, ProjectFile, Registry, Shadowed,
    found::{Found, State},
};
use crate::definition::Notice;

/// One line of a list of agents: what counts under a name.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The name.
    pub name: &'a str,
    /// Where its definition was read from. For a plugin's agent the path is `<plugin:NAME>`.
    pub origin: Origin,
    /// The agent, unless its file is broken or its layer is switched off. One that is untrusted is
    /// here to be looked at, not to be used.
    pub agent: Option<&'a Agent>,
    /// Whether it can be used.
    pub status: Status,
    /// Weaker definitions of the same name, the strongest first.
    pub shadows: &'a [Shadowed],
    /// What is worth saying about its file.
    pub warnings: &'a [Notice],
    found: &'a Found,
}

/// Whether an agent can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It can.
    Ok,
    /// Its file is no definition.
    Broken,
    /// Its file is the project's, and nobody has trusted it as it is.
    Untrusted,
    /// The operator switched its layer off.
    Refused,
}

impl Registry {
    /// What counts under each name, by name. Each name is there once.
    pub fn entries(&self) -> Vec<Entry<'_>> {
        let entry = |(name, found)| Entry::new(name, found, self.shadows(name));
        self.stacks.iter().filter_map(|(name, stack)| Some((name.as_str(), stack.found.first()?))).map(entry).collect()
    }

    /// The file of a project's agent, trusted or not: what a decision about it is about.
    pub fn project_file(&self, name: &str) -> Option<&ProjectFile> {
        self.found(name)?.project.as_deref()
    }
}

impl<'a> Entry<'a> {
    fn new(name: &'a str, found: &'a Found, shadows: &'a [Shadowed]) -> Self {
        let (agent, status) = match &found.state {
            State::Usable(agent) => (Some(agent), Status::Ok),
            State::Untrusted(agent) => (Some(agent), Status::Untrusted),
            State::Broken(_) => (None, Status::Broken),
            State::Refused(_) => (None, Status::Refused),
        };
        let agent = agent.map(AsRef::as_ref);
        Self { name, origin: found.listed(), agent, status, shadows, warnings: &found.warnings, found }
    }

    /// The file it was read from.
    pub fn file(&self) -> Option<&'a str> {
        self.found.origin.path.as_deref()
    }

    /// Why it cannot be used.
    pub fn refusal(&self) -> Option<FindError> {
        self.found.usable(self.name).err()
    }

    /// Why it cannot be used, and what would help; empty if it can.
    pub fn advice(&self) -> String {
        self.refusal().map(|refusal| refusal.to_string()).unwrap_or_default()
    }
}

impl Status {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Broken => "broken",
            Self::Untrusted => "untrusted",
            Self::Refused => "refused",
        }
    }
}
