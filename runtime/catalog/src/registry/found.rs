//! A definition that was found, whether or not it may be used.

use std::{path::PathBuf, sync::Arc};

use palisade_agent::{Agent, Origin};

use crate::definition::{Notice, Rejected};

/// A definition that was found. It keeps its name from weaker ones even if it cannot be used:
/// whoever asks for that name expects this agent and must not get one with other rights.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) origin: Origin,
    pub(super) state: State,
    pub(super) warnings: Vec<Notice>,
    /// The file, if it belongs to the project.
    pub(super) project: Option<Arc<ProjectFile>>,
}

#[derive(Clone, Debug)]
pub(super) enum State {
    /// It can be used.
    Usable(Arc<Agent>),
    /// Its file is no definition.
    Broken(Arc<Rejected>),
    /// Nobody has trusted its file as it is.
    Untrusted(Arc<Agent>),
    /// Its layer is switched off.
    Refused(String),
}

/// A file of a project: what a decision about trust is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    /// The real path of the workspace.
    pub workspace: PathBuf,
    /// Where it is below the workspace, with `/`.
    pub relative: String,
    /// Of the bytes that were read from it.
    pub digest: blake3::Hash,
    /// Whether it was trusted when it said something else.
    pub changed: bool,
}

/// A definition that another of the same name is used instead of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shadowed {
    /// Where it was read from, as it is listed.
    pub origin: Origin,
}

impl Found {
    pub(super) fn new(agent: Agent) -> Self {
        Self {
            name: agent.name.clone(),
            origin: agent.origin.clone(),
            state: State::Usable(Arc::new(agent)),
            warnings: Vec::new(),
            project: None,
        }
    }

    pub(super) fn agent(&self) -> Option<&Agent> {
        match &self.state {
            State::Usable(agent) => Some(agent),
            State::Broken(_) | State::Untrusted(_) | State::Refused(_) => None,
        }
    }

    /// Where it stands among definitions of the same name: by layer, and among plugins the first by
    /// name is the strongest, so that the order in which they are loaded does not matter.
    pub(super) fn cmp_strength(&self, other: &Self) -> std::cmp::Ordering {
        let layers = self.origin.layer.cmp(&other.origin.layer);
        layers.then_with(|| other.origin.plugin.cmp(&self.origin.plugin))
    }

    /// Where it is from, as it is listed: what a plugin brings has no path of its own.
    pub(super) fn listed(&self) -> Origin {
        let path = match &self.origin.plugin {
            Some(plugin) => Some(format!("<plugin:{plugin}>")),
            None => self.origin.path.clone(),
        };
        Origin { path, ..self.origin.clone() }
    }
}
