//! What the worker is told, and what it answers.

use std::{collections::BTreeMap, io, path::PathBuf};

use palisade_grants::{FilesGrant, WorkspacePath};
use serde::{Deserialize, Serialize};

/// What the worker is to do. It comes over a socket together with the open standard input of the
/// program and, if there is one, the open workspace.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// A name to look up, or a path in the workspace or of the system if the grant names it so.
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    /// All of the environment but where the scratch folder is.
    pub(crate) env: BTreeMap<String, String>,
    /// Whether a workspace comes along.
    pub(crate) workspace: bool,
    /// What may be done in it.
    pub(crate) files: FilesGrant,
    /// Where in it the program begins.
    pub(crate) directory: WorkspacePath,
    /// A folder of the system to begin in instead.
    pub(crate) folder: Option<PathBuf>,
    /// A folder for this run alone.
    pub(crate) scratch: PathBuf,
    /// Where a name is looked for.
    pub(crate) search: Vec<PathBuf>,
    /// Folders beside the system's that may be read.
    pub(crate) read: Vec<PathBuf>,
    pub(crate) network: bool,
    pub(crate) namespaces: bool,
    /// Seconds of processor time for each process.
    pub(crate) seconds: u64,
    /// Bytes of memory for all processes together, and for each.
    pub(crate) memory: u64,
}

/// One line from the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Word {
    /// The walls are up; the program follows.
    Walls(Walls),
    /// The program ended.
    Code(i32),
    /// A signal ended the program.
    Signal(i32),
    /// The processes had more memory than they may.
    Memory,
    /// It is not run, because a wall cannot be put up or the request is not one that may be made.
    Denied(String),
    /// It could not be run.
    Failed(String),
}

/// Which walls a program ran behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walls {
    /// The version of Landlock.
    pub landlock: u32,
    /// It had a process tree, and a network unless one was granted, of its own.
    pub processes: bool,
    /// What it may not change was mounted read-only for it.
    pub mounts: bool,
    /// It saw no other processes in `/proc`.
    pub proc: bool,
}

/// A plan larger than this is a mistake.
pub(crate) const MAX_PLAN: usize = 4 << 20;

impl Plan {
    pub(crate) fn encode(&self) -> io::Result<Vec<u8>> {
        let plan = serde_json::to_vec(self)?;
        if plan.len() > MAX_PLAN {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is too long"));
        }
        Ok(plan)
    }
}

impl Word {
    pub(crate) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}
