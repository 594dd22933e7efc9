//! What is known of a session beside what was said in it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Ceiling;

/// Who sessions belong to where there is only one person.
pub const LOCAL_TENANT: &str = "local";

/// A session by its tenant and its id. There is no way to ask for a session without saying whose.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    /// Whose it is.
    pub tenant: String,
    /// Which one.
    pub id: String,
}

impl SessionKey {
    /// A session of a tenant.
    pub fn new(tenant: impl Into<String>, id: impl Into<String>) -> Self {
        Self { tenant: tenant.into(), id: id.into() }
    }
}

/// What is known of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Whose it is.
    #[serde(skip)]
    pub tenant: String,
    /// A UUID, or what somebody chose.
    #[serde(rename = "sessionId")]
    pub id: String,
    /// The agent it is held with.
    #[serde(rename = "agentId")]
    pub agent: String,
    /// What somebody called it; no two of one agent alike, whatever their case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When it was pinned. For whoever looks at a list; it decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned_at: Option<Timestamp>,
    /// When it began.
    pub created_at: Timestamp,
    /// When something was last said or changed; no two of a tenant alike, and never going back.
    pub updated_at: Timestamp,
    /// The beginning of the last thing that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_snippet: Option<String>,
    /// What plugins and clients keep with it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Value>,
    /// How many entries it has.
    pub entries: u64,
    /// Where it came from.
    #[serde(flatten)]
    pub origin: Origin,
}

/// Where a session came from, and what holds for it for as long as it is there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The folder that is worked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The session of the agent that delegated, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The agents above it, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<String>,
    /// What every run of it may do at most, whoever starts it; absent: as much as its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
}

/// A session that is to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSession {
    /// Whose it is.
    pub tenant: String,
    /// What it is known by; absent: a UUID is made. Letters, digits, `-` and `_`, at most 128.
    pub id: Option<String>,
    /// The agent.
    pub agent: String,
    /// What somebody calls it.
    pub name: Option<String>,
    /// What is kept with it.
    pub attributes: BTreeMap<String, Value>,
    /// Where it came from.
    pub origin: Origin,
}

impl NewSession {
    /// A session with an agent.
    pub fn with(tenant: impl Into<String>, agent: impl Into<String>) -> Self {
        let (tenant, agent) = (tenant.into(), agent.into());
        Self { tenant, id: None, agent, name: None, attributes: BTreeMap::new(), origin: Origin::default() }
    }
}

/// What may be changed of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// What it is called; nothing: as its id.
    Name(Option<String>),
    /// Whether it is pinned.
    Pinned(bool),
    /// Merged into its attributes, deeply; a null takes away.
    Attributes(Value),
}

/// Which sessions are listed, and in which order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Whose.
    pub tenant: String,
    /// Only those with this agent.
    pub agent: Option<String>,
    /// Only those in this folder.
    pub workspace: Option<String>,
    /// Only those below this session; absent: only those that nobody delegated, unless `delegated`.
    pub parent: Option<String>,
    /// Those that agents began, too.
    pub delegated: bool,
    /// Only those of this name, whatever its case.
    pub name: Option<String>,
    /// Only those whose ids begin so.
    pub begins: Option<String>,
    /// Only those that were updated before this moment: the next page.
    pub before: Option<Timestamp>,
    /// First those that were pinned, the last pinned first of all; then, or without this, the most recently updated.
    pub pinned_first: bool,
    /// Leaves out so many.
    pub offset: usize,
    /// At most so many; zero means all.
    pub limit: usize,
}
