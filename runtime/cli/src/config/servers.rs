//! What is configured about one MCP server.

use std::{collections::BTreeMap, time::Duration};

use palisade_catalog::Notice;
use palisade_grants::Pattern;

use super::{layers::Entry, setting::Name, value::Value};

/// `[mcp.NAME]`. One with neither `command` nor `url` says something about a server of projects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerTable {
    /// A program and its arguments.
    pub(crate) command: Vec<String>,
    /// Names of variables, or names with values.
    pub(crate) env: Vec<String>,
    /// Folders that the program may read.
    pub(crate) read: Vec<String>,
    pub(crate) network: Option<bool>,
    pub(crate) url: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    /// Patterns for tools that change nothing.
    pub(crate) read_only: Vec<String>,
    pub(crate) time: Option<Duration>,
    /// Where something is said about it.
    pub(crate) place: String,
}

impl ServerTable {
    pub(super) fn take(&mut self, name: &Name, entry: &Entry) {
        self.place = entry.origin.place();
        match (name.part(2), name.part(3), &entry.value) {
            ("command", _, Value::Texts(words)) => self.command.clone_from(words),
            ("env", _, Value::Texts(names)) => self.env.clone_from(names),
            ("read", _, Value::Texts(folders)) => self.read.clone_from(folders),
            ("network", _, Value::Flag(network)) => self.network = Some(*network),
            ("url", _, Value::Text(url)) => self.url = Some(url.clone()),
            ("headers", header, Value::Hidden(text)) => {
                self.headers.insert(header.to_ascii_lowercase(), text.clone());
            }
            ("read_only", _, Value::Texts(tools)) => self.read_only.clone_from(tools),
            ("time", _, Value::Time(time)) => self.time = Some(*time),
            _ => {}
        }
    }

    /// What no setting shows alone.
    pub(super) fn wrong(&self, name: &str) -> Option<Notice> {
        let is_program = !self.command.is_empty();
        let message = match (is_program, &self.url) {
            (true, Some(_)) => "has both `command` and `url`; keep one of the two".to_owned(),
            (true, None) if !self.headers.is_empty() => "has `headers`, which a program does not get".to_owned(),
            (false, Some(_)) if !self.env.is_empty() || !self.read.is_empty() || self.network.is_some() => {
                "has `env`, `read` or `network`, which only a program gets".to_owned()
            }
            (false, None) if !self.env.is_empty() || !self.headers.is_empty() => "needs `command` or `url`".to_owned(),
            _ => {
                let tool = self.read_only.iter().find(|tool| Pattern::parse(tool).is_err())?;
                format!("has `read_only` with `{tool}`, which is no name of a tool and no pattern")
            }
        };
        Some(Notice::error(&self.place, format!("[mcp.{name}] {message}")))
    }
}
