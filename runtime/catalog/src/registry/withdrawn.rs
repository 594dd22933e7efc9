//! What is taken back from agents that are at work. A run keeps the definition it began with, whatever becomes of the
//! file; but not the trust in it, nor what its layer or its plugin was allowed.

use palisade_agent::Agent;
use palisade_grants::Grants;

use super::{
    Registry,
    found::{Found, State},
};

impl Registry {
    /// Why an agent that is at work may not go on, if it may not.
    pub fn withdrawn(&self, agent: &Agent) -> Option<String> {
        let is_it = |found: &&Found| {
            let (one, other) = (&found.origin, &agent.origin);
            one.layer == other.layer && one.plugin == other.plugin && one.path == other.path
        };
        let found = self.stacks.get(&agent.name).and_then(|stack| stack.found.iter().find(is_it));
        match (found, &agent.origin.plugin, &agent.origin.path) {
            (Some(found), ..) => found.withdrawn(),
            (None, Some(plugin), _) => Some(format!("the plugin `{plugin}` does not bring it any more")),
            // A file that was moved or is being written says nothing about what was trusted.
            (None, None, Some(_)) => None,
            (None, None, None) => Some("it was taken out of the registry".to_owned()),
        }
    }

    /// From now on no agent exceeds this either, whatever its definition says.
    pub fn lower_ceiling(&mut self, most: &Grants) {
        let ceiling = self.settings.ceiling.take().unwrap_or_else(Grants::everything);
        self.settings.ceiling = Some(ceiling.narrow(most));
    }
}

impl Found {
    fn withdrawn(&self) -> Option<String> {
        match (&self.state, &self.project) {
            (State::Refused(reason), _) => Some(reason.clone()),
            // One that was only changed was trusted as it was, and that is what works.
            (State::Untrusted(_), Some(file)) if !file.changed => Some(format!(
                "{} is not trusted any more; `palisade agents trust {}` lets it begin again",
                file.relative, self.name
            )),
            (State::Usable(_) | State::Broken(_) | State::Untrusted(_), _) => None,
        }
    }
}
