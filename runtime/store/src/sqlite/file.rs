//! The file of a database: what can be told of it without opening it, and how it comes to be.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{ErrorKind, Read},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use palisade_agent::StoreError;

use super::wal;

/// What says in the head of a file that it is one of ours: `PALI`.
pub(super) const APPLICATION: u32 = 0x5041_4c49;

/// Looks at the file of a database. Says whether there is one; refuses what is none.
#[expect(clippy::disallowed_methods, reason = "the database's own file")]
pub(super) fn look(path: &Path) -> Result<bool, StoreError> {
    let log = beside(path, "-wal");
    let log_length = length(&log);
    let facts = match fs::metadata(path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == ErrorKind::NotFound && log_length > 0 => {
            return Err(corrupt(path, "is missing, and its -wal file is there"));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(unavailable(path, &error)),
    };
    if !facts.is_file() {
        return Err(corrupt(path, "is no file"));
    }
    if facts.permissions().mode() & 0o077 != 0 {
        return Err(StoreError::Invalid(format!(
            "others may read or write {0}, and it holds what was said; run: chmod 600 {0}",
            path.display()
        )));
    }
    let head = head(path)?;
    if head.is_application != Some(true) {
        return Err(corrupt(path, "is of another program"));
    }
    // While there is a log, pages may be in there and not yet in the file.
    if log_length == 0 && facts.len() < head.length {
        return Err(corrupt(path, "was cut off"));
    }
    if log_length == 0 && length(&beside(path, "-shm")) > 0 && fs::metadata(&log).is_err() {
        // SQLite makes the log first and removes it last.
        return Err(corrupt(path, "has lost its -wal file, and with it what was stored last"));
    }
    wal::check(&log).map_err(|error| unavailable(&log, &error))?.map_or(Ok(true), |what| Err(corrupt(&log, what)))
}

/// What the head of a file says.
struct Head {
    is_application: Option<bool>,
    /// How long the file is at least; zero if it does not say.
    length: u64,
}

#[expect(clippy::disallowed_methods, reason = "the database's own file")]
fn head(path: &Path) -> Result<Head, StoreError> {
    let mut head = [0; 100];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    match read {
        Ok(()) if head.starts_with(b"SQLite format 3\0") => {}
        Ok(()) => return Err(corrupt(path, "is no database")),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(corrupt(path, "is empty or was cut off")),
        Err(error) => return Err(unavailable(path, &error)),
    }
    let number = |at: usize| head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
    let page = match head.get(16..18).and_then(|bytes| bytes.try_into().ok()).map(u16::from_be_bytes) {
        Some(1) => 65536,
        Some(page) => u64::from(page),
        None => 0,
    };
    // The number of pages counts only if whoever wrote last knew of it.
    let pages = if number(24) == number(92) { number(28).unwrap_or_default() } else { 0 };
    Ok(Head { is_application: number(68).map(|id| id == APPLICATION), length: page * u64::from(pages) })
}

/// How long a file is; nothing if there is none.
#[expect(clippy::disallowed_methods, reason = "the database's own file")]
pub(super) fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |facts| facts.len())
}

/// A file next to the database.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// A file that will be a database. Nobody but its owner may read it from the beginning on.
pub(super) struct NewFile {
    path: PathBuf,
    target: PathBuf,
}

impl NewFile {
    /// One in the same folder, which is made if there is none.
    #[expect(clippy::disallowed_methods, reason = "the database's own file")]
    pub(super) fn beside(target: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(|error| unavailable(folder, &error))?;
        }
        let path = beside(target, &format!("-new-{}", uuid::Uuid::new_v4()));
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        made.map_err(|error| unavailable(&path, &error))?;
        Ok(Self { path, target: target.to_owned() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name, unless somebody was faster.
    #[expect(clippy::disallowed_methods, reason = "the database's own file")]
    pub(super) fn keep(self) -> Result<(), StoreError> {
        let named = File::open(&self.path)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::hard_link(&self.path, &self.target));
        match named {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(unavailable(&self.target, &error)),
            Ok(()) | Err(_) => {}
        }
        let folder = self.target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| unavailable(folder, &error))
    }
}

impl Drop for NewFile {
    #[expect(clippy::disallowed_methods, reason = "the database's own file")]
    fn drop(&mut self) {
        // A file that nobody removed takes some room and does no harm.
        drop(fs::remove_file(&self.path));
    }
}

fn corrupt(path: &Path, what: &str) -> StoreError {
    StoreError::Corrupt(format!("{} {what}", path.display()))
}

fn unavailable(path: &Path, error: &std::io::Error) -> StoreError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full(format!("{}: {error}", path.display())),
        _ => StoreError::Unavailable(format!("{}: {error}", path.display())),
    }
}
