//! A database as a file: what lies beside it, and whether it changed since.

use std::{
    fs,
    io::{self, Read as _},
    time::SystemTime,
};

use palisade_tool::{Failure, files::FileError};

/// A path that names a database.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseFile {
    shown: String,
    path: String,
}

/// What a database looks like from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    length: u64,
    modified: Option<SystemTime>,
    /// The file's own count of its changes, and its other settings.
    header: Vec<u8>,
    journal: Option<u64>,
    /// The journal holds what is needed to undo a transaction that was not finished.
    pub(crate) unfinished: bool,
    /// It is written through a log beside it, which readers have to read, too.
    pub(crate) logged: bool,
    /// Bytes of that log.
    pub(crate) log: u64,
    /// A program has it open together with its log.
    pub(crate) shared: bool,
}

/// What a journal begins with that was not finished.
const JOURNAL: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
const HEADER: u64 = 100;
/// Where the header says how the file is written, and what it says where that is through a log.
const WRITE_VERSION: usize = 18;
const LOGGED: u8 = 2;

impl DatabaseFile {
    /// A file of the workspace. SQLite reads more than paths; what begins with `./` is one to it in any case.
    pub(crate) fn named(path: &str) -> Result<Self, Failure> {
        let shown = path.trim().to_owned();
        if shown.is_empty() || shown.contains('\0') || shown.ends_with('/') {
            return Err(Failure::InvalidInput(format!("`database` is {path:?}; give the path of a database file")));
        }
        let path = if shown.starts_with('/') { shown.clone() } else { format!("./{shown}") };
        Ok(Self { shown, path })
    }

    /// The path as it was given.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// The path for SQLite.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The path as an address that promises that nobody changes the file.
    pub(crate) fn unchanging(&self) -> String {
        let escape = |byte: u8| match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        };
        format!("file:{}?immutable=1", self.path.bytes().map(escape).collect::<String>())
    }

    /// The path of a file that belongs to it.
    pub(crate) fn beside(&self, ending: &str) -> String {
        format!("{}{ending}", self.path)
    }

    /// Looks at it, if it is there.
    pub(crate) fn look(&self) -> Result<Option<Look>, Failure> {
        let metadata = match fs::symlink_metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.unreachable(&error)),
        };
        if metadata.is_dir() {
            return Err(Failure::Failed(format!("{} is a directory; give the path of a database file", self.shown)));
        }
        if metadata.is_symlink() {
            // What belongs to a database lies beside the file itself.
            let link = fs::read_link(&self.path).map_or_else(|_| "?".to_owned(), |link| link.display().to_string());
            return Err(Failure::Failed(format!("{} is a symbolic link to {link}; use that file instead", self.shown)));
        }
        if !metadata.is_file() {
            return Err(Failure::on_path(&self.shown, FileError::NotAFile));
        }
        let header = start(&self.path, HEADER).map_err(|error| self.unreachable(&error))?;
        let length = |ending: &str| fs::symlink_metadata(self.beside(ending)).map(|beside| beside.len()).ok();
        let journal = length("-journal");
        let unfinished = journal.is_some_and(|length| length > 0)
            && start(&self.beside("-journal"), 8).is_ok_and(|start| start == JOURNAL);
        Ok(Some(Look {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            logged: header.get(WRITE_VERSION) == Some(&LOGGED),
            header,
            journal,
            unfinished,
            log: length("-wal").unwrap_or(0),
            shared: length("-shm").is_some(),
        }))
    }

    fn unreachable(&self, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::PermissionDenied => {
                Failure::Denied(format!("{}: not permitted; only files of the workspace are reached", self.shown))
            }
            _ => Failure::Failed(format!("{}: {error}", self.shown)),
        }
    }

    /// There is no such file.
    pub(crate) fn missing(&self) -> Failure {
        Failure::on_path(&self.shown, FileError::NotFound)
    }

    /// A transaction was begun and not finished, and here it cannot be undone.
    pub(crate) fn unfinished(&self) -> Failure {
        Failure::Failed(format!(
            "{} has the journal of a transaction that is not finished ({}-journal): somebody is writing, or was stopped \
             while writing. Try again; if it stays, `execute_sql` undoes what it left half done, and for other \
             programs opening the database with them does",
            self.shown, self.shown
        ))
    }
}

fn start(path: &str, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
