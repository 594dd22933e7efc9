//! A pair of glob lists: what is let in, and what is taken out again.

use serde::{Deserialize, Serialize};

use crate::Pattern;

/// A pair of glob lists. Deny is applied after allow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lists {
    /// Absent: everything. Empty: nothing.
    pub allow: Option<Vec<Pattern>>,
    /// Taken out again.
    pub deny: Vec<Pattern>,
}

impl Lists {
    /// Whether the lists let a name in, compared as it is written.
    pub fn permit(&self, name: &str) -> bool {
        self.allows(|pattern| pattern.matches(name)) && self.denies(|pattern| pattern.matches(name)).is_none()
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.allow.is_none() && self.deny.is_empty()
    }

    pub(crate) fn allows(&self, matches: impl Fn(&Pattern) -> bool) -> bool {
        self.allow.as_ref().is_none_or(|allow| allow.iter().any(matches))
    }

    pub(crate) fn denies(&self, matches: impl Fn(&Pattern) -> bool) -> Option<&str> {
        self.deny.iter().find(|pattern| matches(pattern)).map(Pattern::as_str)
    }
}
