//! Native programs, confined.
//!
//! What must run outside of WebAssembly, such as `cargo test`, runs behind walls that the kernel
//! keeps: Landlock for files and sockets, a list of system calls, no privileges, limits, an empty
//! environment, and namespaces where there are some. This program starts itself once more
//! ([`confine_worker`]); that process receives a [`Plan`](plan::Plan), puts the walls up around
//! itself and becomes the program. Where the walls cannot be put up nothing is run.
//!
//! | file | what |
//! |---|---|
//! | `plan.rs` | what the worker is told, and what it answers |
//! | `start.rs`, `pump.rs` | this side: start a worker, feed it, hear it, end it |
//! | `kept.rs` | the same for a program that is spoken to for a while |
//! | `worker.rs`, `tend.rs` | the other side: put up walls, wait, leave nobody behind |
//! | `carve.rs`, `walls.rs` | from granted folders to Landlock rules |
//! | `system_calls.rs` | which system calls there are |
//! | `apart.rs` | namespaces: processes, mounts, network of its own |
//! | `sys.rs` | the calls that have no safe wrapper |

mod kept;
pub(crate) mod plan;
mod pump;
mod start;

#[cfg(target_os = "linux")]
mod apart;
#[cfg(target_os = "linux")]
mod carve;
#[cfg(target_os = "linux")]
mod find;
#[cfg(target_os = "linux")]
pub(crate) mod sys;
#[cfg(target_os = "linux")]
mod system_calls;
#[cfg(target_os = "linux")]
mod tend;
#[cfg(target_os = "linux")]
pub(crate) mod walls;
#[cfg(target_os = "linux")]
pub(crate) mod worker;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

pub use kept::KeptProgram;
pub(crate) use kept::{ToKeep, keep};
pub use plan::Walls;
pub(crate) use start::{Asked, run};
#[cfg(target_os = "linux")]
pub use worker::confine_worker;

/// What an operator lets native programs have. Which of them may be run is a grant; this is what
/// they find when they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// This program, which is also the worker.
    pub worker: PathBuf,
    /// Folders beside the system's that programs are looked for in; they may be read.
    pub path: Vec<PathBuf>,
    /// Further folders that may be read.
    pub read: Vec<PathBuf>,
    /// Variables of the environment that may be passed on.
    pub env: BTreeMap<String, String>,
    /// Whether the network may be used: all of it or nothing.
    pub network: bool,
    /// How long a program may take.
    pub time: Duration,
    /// What all processes of a run may have in memory, in bytes.
    pub memory: u64,
    /// Whether namespaces are used where there are some. Without them the other walls stand alone.
    pub namespaces: bool,
    /// Where scratch folders are made; the system's place for temporary files if nobody says.
    pub scratch_in: Option<PathBuf>,
}

/// Where programs are looked for behind what the operator names.
const SYSTEM: [&str; 6] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];

impl Programs {
    /// No network.
    pub const STANDARD_NETWORK: bool = false;
    /// Two minutes.
    pub const STANDARD_TIME: Duration = Duration::from_secs(120);
    /// Four gibibytes.
    pub const STANDARD_MEMORY: u64 = 4 << 30;

    /// What programs have where nobody says more.
    pub fn standard(worker: PathBuf) -> Self {
        Self {
            worker,
            path: Vec::new(),
            read: Vec::new(),
            env: BTreeMap::new(),
            network: Self::STANDARD_NETWORK,
            time: Self::STANDARD_TIME,
            memory: Self::STANDARD_MEMORY,
            namespaces: true,
            scratch_in: None,
        }
    }

    /// The folders that programs are looked for in. The environment has no say.
    pub fn search(&self) -> Vec<PathBuf> {
        self.path.iter().cloned().chain(SYSTEM.iter().map(PathBuf::from)).collect()
    }

    /// The names of all programs there are.
    #[expect(clippy::disallowed_methods, reason = "looks where programs are looked for")]
    pub fn names(&self) -> Vec<String> {
        let entries = self.search().into_iter().filter_map(|folder| std::fs::read_dir(folder).ok());
        let names = entries.flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }

    /// Whether the walls stand on this machine: runs a program that does nothing behind them.
    pub fn try_walls(&self) -> Result<Walls, String> {
        start::try_walls(self)
    }
}

/// What a program came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ran {
    /// How it ended by itself; nothing if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Bytes of output that were dropped.
    pub(crate) omitted: u64,
}

/// Why a program did not come to an end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotRun {
    #[error("{0}")]
    Denied(String),
    #[error("it took longer than {0:?}")]
    OutOfTime(Duration),
    #[error("it was cancelled")]
    Cancelled,
    #[error("{0}")]
    Failed(String),
}

/// Elsewhere there are no such walls, so nothing is run.
#[cfg(not(target_os = "linux"))]
pub fn confine_worker() -> u8 {
    1
}
