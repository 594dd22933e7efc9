//! Which agents an agent sees and may ask.

use std::fmt::Write as _;

use palisade_agent::Agent;
use palisade_grants::{Lists, Pattern};

use super::{FindError, Registry, found::Found};

/// Why an agent may not ask another one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// It is there, but not for this agent.
    #[error("Agent not accessible: {0}")]
    NotAccessible(String),
    /// There is none, or it cannot be used.
    #[error("{0}")]
    Find(FindError),
}

/// How much of a description is shown to those who choose by it.
const DESCRIPTION: usize = 1024;

impl Registry {
    /// The agents that another one is told about: those that it may ask, without itself and without
    /// those that stay in the background.
    pub fn peers_of(&self, caller: &Agent) -> Vec<&Agent> {
        self.askable_by(caller).into_iter().filter(|agent| is_listed(agent)).collect()
    }

    /// The agents that another one may ask, also those that stay in the background.
    pub fn askable_by(&self, caller: &Agent) -> Vec<&Agent> {
        let others = self.effective().filter(|found| found.agent().is_some_and(|agent| is_another(agent, caller)));
        let askable = others.filter(|found| self.permits(caller, found)).filter_map(Found::agent);
        askable.filter(|agent| agent.ui_visible && caller.scope.denies_agent(&agent.name).is_none()).collect()
    }

    /// Whether an agent may ask another one by name. A hidden agent answers whoever knows its name;
    /// one with `uiVisible: false` answers nobody.
    pub fn may_ask(&self, caller: &Agent, target: &str) -> Result<&Agent, AskError> {
        let Some(found) = self.found(target) else {
            return Err(AskError::Find(self.unknown(target, self.peers_of(caller))));
        };
        // Whether the lists allow it is decided first: what is wrong with an agent that the caller
        // may not know of is not its business.
        let denied = [target, found.name.as_str()].into_iter().find_map(|name| caller.scope.denies_agent(name));
        let answers = found.agent().is_none_or(|agent| agent.ui_visible);
        if !self.permits(caller, found) || denied.is_some() || !answers {
            return Err(AskError::NotAccessible(target.to_owned()));
        }
        found.usable(target).map_err(AskError::Find)
    }

    /// What the prompt of an agent says about others; nothing if there are none.
    pub fn peer_section(&self, caller: &Agent) -> Option<String> {
        let peers = self.peers_of(caller);
        (!peers.is_empty()).then(|| {
            format!("Available agents. Send one a message with `agents_message`, by its id:\n{}", roster(&peers))
        })
    }

    /// Whether the caller's lists let an agent in. A pattern may name a plugin's agent as `name` or
    /// as `plugin/name`; but where `name` means another agent, allowing that does not allow this.
    fn permits(&self, caller: &Agent, found: &Found) -> bool {
        let Lists { allow, deny } = &caller.peers;
        let full = found.origin.plugin.as_ref().map(|plugin| format!("{plugin}/{}", found.name));
        let is_meant_by_name = self.strongest(&found.name).is_some_and(|strongest| std::ptr::eq(strongest, found));
        let matches = |pattern: &Pattern, by_name: bool| {
            by_name && pattern.matches(&found.name) || full.as_ref().is_some_and(|full| pattern.matches(full))
        };
        allow.as_ref().is_none_or(|allow| allow.iter().any(|pattern| matches(pattern, is_meant_by_name)))
            && !deny.iter().any(|pattern| matches(pattern, true))
    }
}

/// One line for each agent: `- id: Name - description`. A description is one line of bounded length
/// here, whatever its author wrote, so that it cannot pass for another line of the prompt.
pub fn roster(agents: &[&Agent]) -> String {
    let mut text = String::new();
    for agent in agents {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let description: String = one_line(&agent.description).chars().take(DESCRIPTION).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {}: {} - {description}", agent.name, one_line(agent.display_name()));
    }
    text
}

/// Whether an agent is listed.
pub(super) fn is_listed(agent: &Agent) -> bool {
    !agent.hidden && agent.ui_visible
}

fn is_another(agent: &Agent, caller: &Agent) -> bool {
    agent.name != caller.name || agent.origin.plugin != caller.origin.plugin
}

impl AskError {
    /// The code for it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAccessible(_) | Self::Find(FindError::Refused { .. } | FindError::Untrusted { .. }) => {
                "agent_not_accessible"
            }
            Self::Find(FindError::Unknown { .. } | FindError::Broken(_)) => "agent_not_found",
        }
    }
}
