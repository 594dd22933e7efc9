//! `palisade:host/shell`: where a shell is, and which commands it has beside its own.
//!
//! It carries no authority. A directory is a name that the guest could as well begin each script with;
//! programs are what the tool's grants already hold, and other tools are commands of no guest but the one
//! that was bound to them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use palisade_grants::WorkspacePath;
use rustix::fs::OFlags;
use wasmtime::component::{HasSelf, Linker};

use crate::{
    bindings::{files, process, shell},
    capabilities::commands,
    host::Host,
};

/// What one call of a tool leaves for the next one in the same scope.
#[derive(Clone, Default)]
pub(crate) struct Session(Arc<Mutex<String>>);

/// A directory is remembered by its path; longer ones the kernel would not open either.
const MAX_PATH: usize = 4096;

impl Session {
    fn directory(&self) -> MutexGuard<'_, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn link(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    shell::add_to_linker::<Host, HasSelf<Host>>(linker, |host| host)
}

impl shell::Host for Host {
    fn directory(&mut self) -> wasmtime::Result<String> {
        Ok(self.session.directory().clone())
    }

    fn enter(&mut self, directory: String) -> wasmtime::Result<Result<(), String>> {
        if directory.len() > MAX_PATH {
            return Ok(Err(format!("the path is longer than {MAX_PATH} bytes")));
        }
        if let Err(error) = WorkspacePath::parse(&directory) {
            return Ok(Err(error.to_string()));
        }
        // Opened and closed again: it must be a directory that the tool can see.
        if let Err(error) = self.open(&directory, OFlags::PATH | OFlags::DIRECTORY) {
            return Ok(Err(explain(&directory, error)));
        }
        *self.session.directory() = directory;
        Ok(Ok(()))
    }

    fn commands(&mut self) -> wasmtime::Result<Vec<String>> {
        let mut names: Vec<String> = self.commands.keys().cloned().chain(self.program_names()).collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    async fn run(&mut self, command: process::Command) -> wasmtime::Result<Result<process::Outcome, process::Error>> {
        Ok(commands::run(self, command).await)
    }
}

fn explain(directory: &str, error: files::Error) -> String {
    match error {
        files::Error::NotFound => format!("`{directory}` does not exist"),
        files::Error::Denied(reason) | files::Error::Failed(reason) => format!("`{directory}`: {reason}"),
        files::Error::NotADirectory | files::Error::IsADirectory | files::Error::NotAFile => {
            format!("`{directory}` is not a directory")
        }
    }
}
