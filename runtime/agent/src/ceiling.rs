//! What a run and all that it starts may do at most.

use std::collections::BTreeSet;

use palisade_grants::Grants;
use serde::{Deserialize, Serialize};

use crate::CallLimits;

/// What a run and all that it starts may do at most. It is handed down with every delegation, narrowed by what
/// the delegating agent itself may do, and there is no way to make a wider one from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ceiling {
    /// What may be touched.
    pub grants: Grants,
    /// What each call may use up; absent: what the host allows.
    #[serde(default)]
    pub limits: CallLimits,
    /// The only tools there may be, as names are compared; absent: those of each definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<BTreeSet<String>>,
}

impl Ceiling {
    /// One that lowers nothing: for whoever starts an agent with their own hands.
    pub fn open() -> Self {
        Self { grants: Grants::everything(), limits: CallLimits::default(), tools: None }
    }

    /// What both allow.
    pub fn narrow(&self, other: &Self) -> Self {
        Self {
            grants: self.grants.narrow(&other.grants),
            limits: self.limits.narrow(&other.limits),
            tools: match (&self.tools, &other.tools) {
                (Some(own), Some(other)) => Some(own.intersection(other).cloned().collect()),
                (own, other) => own.as_ref().or(other.as_ref()).cloned(),
            },
        }
    }
}

impl CallLimits {
    /// The lower of both, limit by limit.
    pub fn narrow(&self, other: &Self) -> Self {
        Self {
            memory: lower(self.memory, other.memory),
            call_time: lower(self.call_time, other.call_time),
            output: lower(self.output, other.output),
            written: lower(self.written, other.written),
            created: lower(self.created, other.created),
            open_files: lower(self.open_files, other.open_files),
        }
    }
}

fn lower<T: Ord>(own: Option<T>, other: Option<T>) -> Option<T> {
    match (own, other) {
        (Some(own), Some(other)) => Some(own.min(other)),
        (own, other) => own.or(other),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use palisade_grants::Access;

    use super::*;

    #[test]
    fn a_ceiling_is_no_higher_than_either_of_two() {
        let tools = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let reads = Ceiling {
            grants: Grants::workspace(Access::Read),
            tools: tools(&["read", "grep"]),
            limits: CallLimits::default(),
        };
        let small = CallLimits { memory: Some(1), ..CallLimits::default() };
        let small =
            Ceiling { grants: Grants::workspace(Access::ReadWrite), limits: small, tools: tools(&["read", "write"]) };
        let both = reads.narrow(&small);
        assert_eq!(both, small.narrow(&reads));
        assert_eq!(both.tools, tools(&["read"]));
        assert_eq!((both.grants.clone(), both.limits.memory), (Grants::workspace(Access::Read), Some(1)));
        assert_eq!(both.narrow(&Ceiling::open()), both);
    }

    #[test]
    fn a_ceiling_survives_being_written_and_read() {
        let limits = CallLimits { call_time: Some(Duration::from_millis(1500)), ..CallLimits::default() };
        let ceiling = Ceiling { limits, tools: Some(BTreeSet::new()), ..Ceiling::open() };
        let written = serde_json::to_string(&ceiling).unwrap();
        assert_eq!(serde_json::from_str::<Ceiling>(&written).unwrap(), ceiling);
    }
}
