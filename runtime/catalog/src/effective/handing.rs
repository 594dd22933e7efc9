//! What an agent hands down to those it asks.

use palisade_agent::{CallLimits, Ceiling};
use palisade_grants::{Candidate, NamesGrant};
use palisade_sandbox::Limits;

use super::Effective;

impl Effective {
    /// What the agent may do: the ceiling that it works under itself.
    pub fn ceiling(&self) -> Ceiling {
        let size = |size: usize| Some(size as u64);
        let Limits { memory, call_time, output, written, created, open_files, .. } = self.limits;
        let limits = CallLimits {
            memory: size(memory),
            call_time: Some(call_time),
            output: size(output),
            written: Some(written),
            created: Some(created),
            open_files: size(open_files),
        };
        Ceiling { grants: self.grants.clone(), limits, tools: self.only.clone() }
    }

    /// What those it asks may do at most: what it may do itself, without what its own rules keep from it. A program
    /// outside of the sandbox may do everything, so it is asked only by one whose definition says so.
    pub fn handed_down(&self) -> Ceiling {
        let tools: Vec<&Candidate> = self.tools.iter().map(|tool| &tool.candidate).collect();
        let mut grants = self.agent.scope.handed_down(&self.grants, &tools);
        if self.agent.grants.is_none() {
            grants.outside = NamesGrant::default();
        }
        Ceiling { grants, ..self.ceiling() }
    }

    /// The same, and no other tools than its own.
    pub fn handed_down_with_tools(&self) -> Ceiling {
        let tools = self.tools.iter().map(|tool| tool.candidate.canonical().to_owned()).collect();
        Ceiling { tools: Some(tools), ..self.handed_down() }
    }
}

/// The limits of a call, none above those of a ceiling.
pub(super) fn lower(own: Limits, ceiling: &CallLimits) -> Limits {
    let size = |own: usize, most: Option<u64>| match most {
        Some(most) => own.min(usize::try_from(most).unwrap_or(usize::MAX)),
        None => own,
    };
    Limits {
        memory: size(own.memory, ceiling.memory),
        call_time: ceiling.call_time.map_or(own.call_time, |most| own.call_time.min(most)),
        output: size(own.output, ceiling.output),
        written: ceiling.written.map_or(own.written, |most| own.written.min(most)),
        created: ceiling.created.map_or(own.created, |most| own.created.min(most)),
        open_files: size(own.open_files, ceiling.open_files),
        ..own
    }
}
