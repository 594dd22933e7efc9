//! One process for one session: who works in a session holds a lock on a file.
//!
//! The locked file is also what the program reads its task from, as its standard input. So the lock is
//! held for as long as the program lives, even if this one was killed and could not end it.
#![expect(clippy::disallowed_methods, reason = "this file owns the marks of sessions in use")]

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Seek as _, SeekFrom, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use palisade_agent::ProviderFailure;

use super::{SessionId, fault::fault};
use crate::dialect::Fault;

/// The right to work in a session.
#[derive(Debug)]
pub(super) struct Claim {
    file: File,
    path: PathBuf,
}

impl Claim {
    /// Takes a session, unless somebody works in it.
    pub(super) fn take(folder: &Path, session: &SessionId) -> Result<Self, Fault> {
        let cannot = |error: io::Error| {
            let message = format!("the session cannot be marked as in use in {}: {error}", folder.display());
            fault(ProviderFailure::Exhausted, message)
        };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(cannot)?;
        let path = folder.join(session.as_str());
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            let file = options.open(&path).map_err(cannot)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let message = format!("another process works in the session {session}; wait until it is done");
                    return Err(fault(ProviderFailure::Rejected, message));
                }
                Err(TryLockError::Error(error)) => return Err(cannot(error)),
            }
            // Whoever had it may have removed the file in between: then the lock is on nothing.
            if file.metadata().map_err(cannot)?.nlink() > 0 {
                return Ok(Self { file, path });
            }
        }
    }

    /// The locked file, holding a text and to be read from its start.
    pub(super) fn holding(&self, text: &str) -> Result<File, Fault> {
        let write = || {
            let mut file = self.file.try_clone()?;
            file.set_len(0)?;
            file.write_all(text.as_bytes())?;
            file.seek(SeekFrom::Start(0))?;
            Ok(file)
        };
        write()
            .map_err(|error: io::Error| fault(ProviderFailure::Exhausted, format!("the task cannot be kept: {error}")))
    }
}

/// Removed while it is locked, so that nobody else's mark is.
impl Drop for Claim {
    fn drop(&mut self) {
        // A file that stays is empty of meaning: the lock counts.
        drop(fs::remove_file(&self.path));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_session_has_one_process() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let (one, other): (SessionId, SessionId) = ("one".parse().unwrap(), "other".parse().unwrap());
        let claim = Claim::take(&state, &one).unwrap();
        let refused = Claim::take(&state, &one).unwrap_err();
        assert_eq!(refused.kind, ProviderFailure::Rejected);
        assert!(refused.message.contains("works in the session one"), "{}", refused.message);
        drop(Claim::take(&state, &other).unwrap());

        // Whoever holds the text holds the session.
        let mut held = claim.holding("task").unwrap();
        let mut text = String::new();
        held.read_to_string(&mut text).unwrap();
        assert_eq!(text, "task");
        drop(claim);
        drop(held);
        drop(Claim::take(&state, &one).unwrap());
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
    }

    #[test]
    fn a_program_that_lives_on_keeps_its_session() {
        let folder = tempfile::tempdir().unwrap();
        let session: SessionId = "one".parse().unwrap();
        // As a process leaves it that was killed: a locked file that only the program still has.
        let left = File::create(folder.path().join("one")).unwrap();
        left.lock().unwrap();
        let mut program = std::process::Command::new("sleep").arg("1000").stdin(left).spawn().unwrap();
        assert_eq!(Claim::take(folder.path(), &session).unwrap_err().kind, ProviderFailure::Rejected);
        program.kill().unwrap();
        program.wait().unwrap();
        drop(Claim::take(folder.path(), &session).unwrap());
    }
}
