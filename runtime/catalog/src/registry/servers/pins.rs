//! What MCP servers said of their tools when they were first met.
//!
//! A model reads a description as an instruction, so whoever changes a word of it changes the tool. What was first seen
//! is kept here and is what models are told; what a server says later is compared with it. From a file that is damaged
//! nothing is taken, and no server is used.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registry::{
    lock::{tool_pin, unique},
    private::{self, Held, KeptError, Version},
};

/// What all servers said of their tools.
#[derive(Clone, Debug, Default)]
pub struct ServerPins {
    servers: BTreeMap<String, PinnedServer>,
    /// Why nothing is believed.
    damaged: Option<String>,
}

/// What one server said of its tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedServer {
    /// What it is called, for people.
    pub name: String,
    /// How it is spoken to, for people.
    pub at: String,
    /// Its tools by their names.
    #[serde(deserialize_with = "unique")]
    pub tools: BTreeMap<String, PinnedTool>,
}

/// What a server said of a tool, as it said it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedTool {
    /// What the tool does.
    pub description: String,
    /// What its input looks like.
    pub schema: Value,
}

impl PinnedTool {
    /// The digest of all that a model is told of a tool of this name.
    pub fn pin(&self, name: &str) -> String {
        tool_pin(name, &self.description, &self.schema)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: Version,
    #[serde(deserialize_with = "unique")]
    servers: BTreeMap<String, PinnedServer>,
}

/// Longer than any list; what is longer is damaged.
const LARGEST: u64 = 64 << 20;

impl ServerPins {
    /// Reads the file. One that is not there holds nothing.
    pub fn load(path: &Path) -> Self {
        match stored(path) {
            Ok(servers) => Self { servers, damaged: None },
            Err(why) => Self { servers: BTreeMap::new(), damaged: Some(format!("{} {why}", path.display())) },
        }
    }

    /// Why nothing is believed, if that is so.
    pub fn damaged(&self) -> Option<&str> {
        self.damaged.as_deref()
    }

    /// What a server said when it was met; nothing if it never was.
    pub fn get(&self, key: &str) -> Option<&PinnedServer> {
        self.servers.get(key)
    }

    /// Keeps what a server says now; what it said before is forgotten only if `anew` says so. Gives what counts from now
    /// on, which may be what somebody else kept meanwhile.
    pub fn keep(path: &Path, key: &str, server: PinnedServer, anew: bool) -> Result<PinnedServer, KeptError> {
        let held = Held::hold(path)?;
        let mut servers = stored(path).map_err(|why| held.damaged(why, "meet the servers again"))?;
        if let (Some(before), false) = (servers.get(key), anew) {
            return Ok(before.clone());
        }
        servers.insert(key.to_owned(), server.clone());
        held.replace(&Written { version: Version, servers })?;
        Ok(server)
    }
}

fn stored(path: &Path) -> Result<BTreeMap<String, PinnedServer>, String> {
    let written: Option<Written> = private::read(path, LARGEST)?;
    Ok(written.map(|written| written.servers).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server(description: &str) -> PinnedServer {
        let tool = PinnedTool { description: description.to_owned(), schema: json!({ "type": "object" }) };
        PinnedServer {
            name: "hub".to_owned(),
            at: "hub-server".to_owned(),
            tools: BTreeMap::from([("find".to_owned(), tool)]),
        }
    }

    /// INJ-04
    #[test]
    fn what_was_seen_first_stays_until_somebody_says_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data/mcp.lock");
        assert_eq!(ServerPins::load(&path).get("k"), None);
        assert_eq!(ServerPins::keep(&path, "k", server("Finds."), false).unwrap(), server("Finds."));
        assert_eq!(ServerPins::keep(&path, "k", server("Steals."), false).unwrap(), server("Finds."));
        assert_eq!(ServerPins::load(&path).get("k"), Some(&server("Finds.")));
        assert_eq!(ServerPins::keep(&path, "k", server("Steals."), true).unwrap(), server("Steals."));
        assert_eq!(ServerPins::load(&path).get("k"), Some(&server("Steals.")));
        let pin = |description: &str| server(description).tools["find"].pin("find");
        assert_ne!(pin("Finds."), pin("Finds"));
        assert_eq!(pin("Finds."), pin("Finds."));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "damages a file of its own")]
    fn a_damaged_file_is_believed_nothing_and_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.lock");
        for text in ["", "{", "{\"version\":2,\"servers\":{}}", "{\"version\":1,\"servers\":{},\"more\":1}"] {
            std::fs::write(&path, text).unwrap();
            assert!(ServerPins::load(&path).damaged().is_some(), "{text}");
            assert!(ServerPins::keep(&path, "k", server("Finds."), true).is_err(), "{text}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
