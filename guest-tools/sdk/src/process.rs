//! Native programs that the host runs, if they were granted. Natively there is no host, so none is run.

#[cfg(target_family = "wasm")]
pub use crate::bindings::host::process::{Command, Error, Outcome, run};

#[cfg(not(target_family = "wasm"))]
pub use outside::{Command, Error, Outcome, run};

#[cfg(not(target_family = "wasm"))]
mod outside {
    /// A program and what it is called with.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Command {
        /// The program.
        pub program: String,
        /// Its arguments.
        pub arguments: Vec<String>,
        /// Where it begins, relative to the workspace.
        pub directory: String,
        /// What it reads.
        pub input: Vec<u8>,
    }

    /// What it came to.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Outcome {
        /// Absent when a signal ended it.
        pub code: Option<i32>,
        /// What it printed.
        pub stdout: Vec<u8>,
        /// What it printed as errors.
        pub stderr: Vec<u8>,
        /// Bytes of output that were dropped.
        pub omitted: u64,
    }

    /// Why it did not come to an end.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum Error {
        /// It is not granted, or it cannot be confined here.
        Denied(String),
        /// It took too long and was ended.
        OutOfTime,
        /// It could not be run.
        Failed(String),
    }

    /// Runs a program.
    pub fn run(command: &Command) -> Result<Outcome, Error> {
        Err(Error::Failed(format!("`{}` can be run by a host alone", command.program)))
    }
}
