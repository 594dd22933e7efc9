//! Where untrusted code runs.
//!
//! The only crate that names wasmtime. One [`Engine`] per process; a [`Compiled`] component is
//! machine code with the list of what it needs; a [`Scope`] is an agent's linker, built from its
//! grants: what was not granted is not there. A call runs in a fresh store that is dropped after
//! it ([`sandbox`](Scope::call)), inside [`Limits`], and ends in a [`Report`].

mod artifact;
mod bindings;
mod cache;
mod compiler;
mod component;
mod engine;
mod failure;
mod functions;
mod give_way;
mod host;
mod limits;
mod meter;
mod needs;
mod network;
mod offers;
mod output;
mod process;
mod runner;
mod sandbox;
mod scope;
mod scratch;
mod services;
mod workspace;
mod capabilities {
    //! One host interface each: permit, then act.
    pub(crate) mod absent;
    pub(crate) mod base;
    pub(crate) mod commands;
    pub(crate) mod confine;
    pub(crate) mod files;
    pub(crate) mod http;
    pub(crate) mod preopens;
    pub(crate) mod process;
    pub(crate) mod progress;
    pub(crate) mod settings;
    pub(crate) mod shell;
    pub(crate) mod storage;
    pub(crate) mod toolbox;
    pub(crate) mod trail;
    pub(crate) mod wasi_files;
}

pub use artifact::{Artifact, ArtifactError, digest, precompile, precompile_for};
pub use cache::{ArtifactCache, CacheError, RefusedEntry, WrongEntry};
pub use capabilities::commands::{CommandTool, Printed, ReadArguments, ShellCommand};
pub use capabilities::process::ProgramCall;
pub use capabilities::progress::Progress;
pub use capabilities::storage::{Storage, StorageError};
pub use compiler::{CompileError, Compiler, compile_worker};
pub use component::{Compiled, Description};
pub use engine::{Engine, EngineError, Settings};
pub use failure::{Blame, Failure};
pub use limits::Limits;
pub use needs::{Import, Needs, NeedsError};
pub use network::{Binding, Connection, Connector, Network, Resolver, Vault};
pub use offers::{Entry, NotOffered, Offer};
pub use output::Captured;
pub use process::{KeptProgram, Programs, Walls, confine_worker};
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub use runner::raise_walls;
pub use runner::tool_runner;
pub use sandbox::{Call, Cost, Report};
pub use scope::{Bounds, Gate, LinkRefusal, Scope};
pub use secrecy::SecretString;
pub use services::{Outlet, OutletAnswer, OutletRequest, ServiceProgram};
pub use workspace::{Workspace, WorkspaceError};
