//! All that one agent, or one tool of it, may do.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    Access, Capability, CommandsGrant, FilesGrant, Host, HttpGrant, NamesGrant, Reach, StorageGrant, reach::Span,
};

/// All that one agent, or one tool of it, may do. The default is nothing.
///
/// Authority only shrinks: [`Grants::narrow`] is the one way to combine two values, and the result
/// allows what both allow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Grants {
    /// Folders of the workspace.
    pub files: FilesGrant,
    /// Hosts that may be asked over HTTP.
    #[serde(skip_serializing_if = "Reach::is_empty")]
    pub http: HttpGrant,
    /// Native programs that may be run, confined.
    #[serde(skip_serializing_if = "Reach::is_empty")]
    pub commands: CommandsGrant,
    /// Other agents that may be asked by a tool.
    #[serde(skip_serializing_if = "Reach::is_empty")]
    pub agents: NamesGrant,
    /// Environment variables that may be read.
    #[serde(skip_serializing_if = "Reach::is_empty")]
    pub env: NamesGrant,
    /// Secrets that the host may insert into a request to their bound host.
    #[serde(skip_serializing_if = "Reach::is_empty")]
    pub secrets: NamesGrant,
    /// Programs outside of the sandbox that those it asks may be. Nothing that was granted holds for them, so nobody
    /// hands this down who was not granted it by name.
    #[serde(skip_serializing_if = "Reach::is_empty")]
    pub outside: NamesGrant,
    /// The plugin's own key-value space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageGrant>,
}

impl Grants {
    /// The widest grants that use no more than the given capabilities: what a tool asks for.
    pub fn asking(capabilities: &BTreeSet<Capability>) -> Self {
        let files = if capabilities.contains(&Capability::FsWrite) {
            FilesGrant::workspace(Access::ReadWrite)
        } else if capabilities.contains(&Capability::FsRead) {
            FilesGrant::workspace(Access::Read)
        } else {
            FilesGrant::default()
        };
        Self {
            files,
            http: all_if(capabilities.contains(&Capability::Http)),
            commands: all_if(capabilities.contains(&Capability::Exec)),
            agents: all_if(capabilities.contains(&Capability::Agents)),
            env: all_if(capabilities.contains(&Capability::Env)),
            secrets: all_if(capabilities.contains(&Capability::Secrets)),
            outside: all_if(capabilities.contains(&Capability::Agents)),
            storage: capabilities.contains(&Capability::Storage).then_some(StorageGrant { bytes: u64::MAX }),
        }
    }

    /// Everything there is to grant: a ceiling that lowers nothing.
    pub fn everything() -> Self {
        Self::asking(&BTreeSet::from(Capability::ALL))
    }

    /// The workspace and nothing else.
    pub fn workspace(access: Access) -> Self {
        Self { files: FilesGrant::workspace(access), ..Self::default() }
    }

    /// What both allow.
    pub fn narrow(&self, other: &Self) -> Self {
        Self {
            files: self.files.narrow(&other.files),
            http: self.http.narrow(&other.http),
            commands: self.commands.narrow(&other.commands),
            agents: self.agents.narrow(&other.agents),
            env: self.env.narrow(&other.env),
            secrets: self.secrets.narrow(&other.secrets),
            outside: self.outside.narrow(&other.outside),
            storage: self.storage.zip(other.storage).map(|(a, b)| a.narrow(b)),
        }
    }

    /// Whether nothing can be changed with them: files and hosts are only read, no program is run, nothing is kept, and
    /// nobody is asked who may do more.
    pub fn only_read(&self) -> bool {
        let asks_outside = !self.agents.is_empty() && !self.outside.is_empty();
        !self.files.writes()
            && self.http.iter().all(Host::only_reads)
            && self.commands.is_empty()
            && self.storage.is_none()
            && !asks_outside
    }

    /// The capabilities that these grants hold anything of.
    pub fn capabilities(&self) -> BTreeSet<Capability> {
        let held = [
            (Capability::FsRead, !self.files.is_empty()),
            (Capability::FsWrite, self.files.writes()),
            (Capability::Http, !self.http.is_empty()),
            (Capability::Exec, !self.commands.is_empty()),
            (Capability::Agents, !self.agents.is_empty()),
            (Capability::Env, !self.env.is_empty()),
            (Capability::Secrets, !self.secrets.is_empty()),
            (Capability::Storage, self.storage.is_some()),
            (Capability::Progress, true),
        ];
        held.into_iter().filter(|(_, held)| *held).map(|(capability, _)| capability).collect()
    }
}

/// Everything, or nothing.
fn all_if<S: Span>(wanted: bool) -> Reach<S> {
    Reach::new(wanted.then(|| "*".parse().ok()).flatten())
}

#[cfg(test)]
mod tests;
