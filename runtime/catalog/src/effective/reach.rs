//! What a call or a run may come to touch, also through those that it calls or asks: what others are told of it.

use palisade_grants::{Capability, Grants};

use super::{Effective, EffectiveTool};
use crate::shell_commands::SHELL;

impl Effective {
    /// What a call of one of its tools may come to touch, with what the tools may that it calls.
    pub fn reach_of<'a>(&'a self, tool: &'a EffectiveTool) -> &'a Grants {
        let calls_others = tool.candidate.capabilities().iter().any(|word| word == Capability::Tools.name());
        let has_commands = tool.candidate.canonical() == SHELL && self.commands().next().is_some();
        if calls_others || has_commands { &self.grants } else { &tool.grants }
    }

    /// What a run may come to touch, with what those may that it asks.
    pub fn reach(&self) -> Grants {
        Grants { outside: self.handed_down().grants.outside, ..self.grants.clone() }
    }

    /// Whether programs that are run with this reach may use the network.
    pub fn programs_reach_out(&self, reach: &Grants) -> bool {
        let served = self.tools.iter().filter_map(|tool| tool.server.as_ref());
        let mut served = served.filter(|tool| tool.server.programs.as_ref().is_some_and(|programs| programs.network));
        let has_server = served.any(|tool| tool.brings().commands.iter().any(|own| reach.commands.covers(own)));
        has_server || !reach.commands.is_empty() && self.programs.as_ref().is_some_and(|programs| programs.network)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Registry, available, effective};

    use super::*;

    fn built_in(agent: &str) -> Effective {
        let registry = Registry::built_in();
        effective(registry.find(agent).unwrap(), &available(&registry), &registry)
    }

    #[test]
    fn a_tool_that_reads_in_an_agent_that_writes_reaches_no_more_than_it_declares() {
        let general = built_in("general");
        let only_reads = |name: &str| {
            let tool = general.tools.iter().find(|tool| tool.candidate.name() == name).unwrap();
            general.reach_of(tool).only_read()
        };
        assert_eq!(["read", "grep", "write", "bash"].map(only_reads), [true, true, false, false]);
        assert!(!general.reach().only_read());
        let explore = built_in("explore");
        assert!(explore.tools.iter().all(|tool| explore.reach_of(tool).only_read()));
        assert!(explore.reach().only_read());
    }

    #[test]
    fn programs_reach_out_where_they_may_be_run_and_have_a_network() {
        let mut general = built_in("general");
        let with_commands = Grants { commands: Grants::everything().commands, ..Grants::default() };
        let programs = |network| {
            let standard = palisade_sandbox::Programs::standard("palisade".into());
            Some(std::sync::Arc::new(palisade_sandbox::Programs { network, ..standard }))
        };
        for (found, reach, expected) in [
            (None, &with_commands, false),
            (programs(false), &with_commands, false),
            (programs(true), &Grants::default(), false),
            (programs(true), &with_commands, true),
        ] {
            general.programs = found;
            assert_eq!(general.programs_reach_out(reach), expected);
        }
    }

    #[test]
    fn a_tool_that_calls_others_reaches_what_they_reach() {
        let mut general = built_in("general");
        let tool = general.tools.iter_mut().find(|tool| tool.candidate.name() == "read").unwrap();
        tool.candidate = palisade_grants::Candidate::new(
            "read",
            ["fs.read".to_owned(), "tools".to_owned()],
            palisade_grants::ToolSource::Core,
        );
        let tool = tool.clone();
        assert_eq!(general.reach_of(&tool), &general.grants);
    }
}
