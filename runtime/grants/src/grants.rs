//! All that one agent, or one tool of it, may do.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Access, Capability, FilesGrant, StorageGrant};

/// All that one agent, or one tool of it, may do. The default is nothing.
///
/// Authority only shrinks: [`Grants::narrow`] is the one way to combine two values, and the result
/// allows what both allow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Grants {
    /// Folders of the workspace.
    pub files: FilesGrant,
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
        let storage = capabilities.contains(&Capability::Storage).then_some(StorageGrant { bytes: u64::MAX });
        Self { files, storage }
    }

    /// What both allow.
    pub fn narrow(&self, other: &Self) -> Self {
        Self {
            files: self.files.narrow(&other.files),
            storage: self.storage.zip(other.storage).map(|(a, b)| a.narrow(b)),
        }
    }

    /// The capabilities that these grants hold anything of.
    pub fn capabilities(&self) -> BTreeSet<Capability> {
        let mut capabilities = BTreeSet::from([Capability::Progress]);
        if !self.files.is_empty() {
            capabilities.insert(Capability::FsRead);
        }
        if self.files.writes() {
            capabilities.insert(Capability::FsWrite);
        }
        if self.storage.is_some() {
            capabilities.insert(Capability::Storage);
        }
        capabilities
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_tool_in_a_writing_agent_reads() {
        let agent = Grants { files: FilesGrant::workspace(Access::ReadWrite), storage: None };
        let grep = agent.narrow(&Grants::asking(&BTreeSet::from([Capability::FsRead])));
        assert_eq!(grep.files, FilesGrant::workspace(Access::Read));
        assert_eq!(grep.capabilities(), BTreeSet::from([Capability::FsRead, Capability::Progress]));
    }

    #[test]
    fn a_writing_tool_in_a_reading_agent_reads() {
        let agent = Grants { files: FilesGrant::workspace(Access::Read), storage: None };
        let write = agent.narrow(&Grants::asking(&BTreeSet::from([Capability::FsWrite])));
        assert!(!write.files.writes());
    }

    #[test]
    fn nothing_asked_is_nothing_given() {
        let agent =
            Grants { files: FilesGrant::workspace(Access::ReadWrite), storage: Some(StorageGrant { bytes: 1 }) };
        assert_eq!(agent.narrow(&Grants::asking(&BTreeSet::new())), Grants::default());
    }
}
