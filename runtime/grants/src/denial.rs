//! A refused request, with what would allow it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Capability;

/// A refused request. It is shown to the model, to the user and to the audit log, so it holds
/// names and rules, never contents and never a path of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The kind of power that was asked for.
    pub capability: Capability,
    /// What was tried, such as `write src/main.rs`.
    pub asked: String,
    /// The rule that refused it.
    pub rule: String,
    /// What would allow it.
    pub remedy: String,
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capability, asked, rule, remedy } = self;
        write!(f, "{capability}: {asked} is refused: {rule}; {remedy}")
    }
}
