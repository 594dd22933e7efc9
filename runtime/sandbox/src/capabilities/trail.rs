//! The directories a guest listed on its way down a tree, kept open while it reads in them.
//!
//! Whoever walks a tree opens thousands of files below the same few directories. Starting each
//! time from the preopen makes the kernel walk the whole path again; starting from the directory
//! that was just listed leads to the same file.

use std::{os::fd::OwnedFd, sync::Arc};

use palisade_grants::WorkspacePath;
use rustix::{fs::OFlags, io::Errno};

use crate::workspace::open_beneath;

/// The open directories, each below the one before.
#[derive(Default)]
pub(crate) struct Trail {
    steps: Vec<(WorkspacePath, Arc<OwnedFd>)>,
}

/// As many as an ordinary tree is deep; each is an open file of the host.
const MAX_STEPS: usize = 16;

impl Trail {
    /// Remembers a directory that was listed.
    pub(crate) fn step(&mut self, path: WorkspacePath, directory: Arc<OwnedFd>) {
        self.leave(&path);
        if self.steps.len() < MAX_STEPS {
            self.steps.push((path, directory));
        }
    }

    /// Opens a path from the nearest directory above it. `None` if there is none, or if a link
    /// leads out of that directory: then the preopen decides.
    pub(crate) fn open(&mut self, path: &WorkspacePath, flags: OFlags) -> Option<Result<OwnedFd, Errno>> {
        self.leave(path);
        let (above, directory) = self.steps.last()?;
        let below = path.as_str()[above.as_str().len()..].trim_start_matches('/');
        match open_beneath(&**directory, below, flags) {
            Err(Errno::XDEV | Errno::LOOP) => None,
            opened => Some(opened),
        }
    }

    /// Closes the directories that the path does not lie in.
    fn leave(&mut self, path: &WorkspacePath) {
        while self.steps.last().is_some_and(|(above, _)| !path.is_within(above)) {
            self.steps.pop();
        }
    }
}
