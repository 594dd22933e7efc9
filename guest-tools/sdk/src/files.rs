//! Reading files in few, large steps.
//!
//! On WebAssembly this is the host's `palisade:host/files`, which reaches what the preopens reach;
//! natively it is `std::fs`, so that tools can be tested and measured as ordinary programs.

/// What kind of thing a directory entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, not followed.
    Symlink,
    /// A device, socket or pipe: it can be listed, never opened.
    Other,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the directory.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// A directory's entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Sorted by name, byte by byte.
    pub entries: Vec<Entry>,
    /// Entries left out because their name is not valid UTF-8.
    pub unnameable: u32,
}

/// What is known of a file without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Its size in bytes.
    pub size: u64,
    /// Milliseconds since 1970.
    pub modified: u64,
    /// A file that its owner may run as a program.
    pub executable: bool,
}

/// A piece of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The bytes that were read; fewer than asked for only at the end of the file.
    pub bytes: Vec<u8>,
    /// The size of the whole file when it was opened.
    pub size: u64,
}

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileError {
    /// There is nothing at that path.
    NotFound,
    /// A part of the path is not a directory.
    NotADirectory,
    /// It is a directory where a file was wanted.
    IsADirectory,
    /// A device, socket or pipe.
    NotAFile,
    /// Not granted; the text says what would allow it.
    Denied(String),
    /// The host could not do it.
    Failed(String),
}

/// The most that one [`read`] returns.
pub const MAX_READ: u32 = 8 << 20;

pub use backend::{list, read, set_executable, stat};

#[cfg(target_family = "wasm")]
mod backend {
    use super::{Chunk, Entry, FileError, Kind, Listing, Stat};
    use crate::bindings::host::files as host;

    /// Lists a directory.
    pub fn list(path: &str) -> Result<Listing, FileError> {
        let listing = host::list(path)?;
        let entries = listing.entries.into_iter().map(|entry| Entry { name: entry.name, kind: entry.kind.into() });
        Ok(Listing { entries: entries.collect(), unnameable: listing.unnameable })
    }

    /// Looks at a file without following a link in the last place.
    pub fn stat(path: &str) -> Result<Stat, FileError> {
        let stat = host::stat(path)?;
        Ok(Stat { kind: stat.kind.into(), size: stat.size, modified: stat.modified, executable: stat.executable })
    }

    /// Reads up to `length` bytes from `offset`.
    pub fn read(path: &str, offset: u64, length: u32) -> Result<Chunk, FileError> {
        let chunk = host::read(path, offset, length)?;
        Ok(Chunk { bytes: chunk.bytes, size: chunk.size })
    }

    /// Says whether a file may be run as a program.
    pub fn set_executable(path: &str, executable: bool) -> Result<(), FileError> {
        Ok(host::set_executable(path, executable)?)
    }

    impl From<host::Kind> for Kind {
        fn from(kind: host::Kind) -> Self {
            match kind {
                host::Kind::File => Self::File,
                host::Kind::Directory => Self::Directory,
                host::Kind::Symlink => Self::Symlink,
                host::Kind::Other => Self::Other,
            }
        }
    }

    impl From<host::Error> for FileError {
        fn from(error: host::Error) -> Self {
            match error {
                host::Error::NotFound => Self::NotFound,
                host::Error::NotADirectory => Self::NotADirectory,
                host::Error::IsADirectory => Self::IsADirectory,
                host::Error::NotAFile => Self::NotAFile,
                host::Error::Denied(reason) => Self::Denied(reason),
                host::Error::Failed(reason) => Self::Failed(reason),
            }
        }
    }
}

#[cfg(not(target_family = "wasm"))]
#[expect(clippy::disallowed_methods, reason = "the native twin of the host's files interface")]
mod backend {
    use std::{
        fs, io,
        os::unix::fs::{FileExt as _, PermissionsExt as _},
        time::UNIX_EPOCH,
    };

    use super::{Chunk, Entry, FileError, Kind, Listing, MAX_READ, Stat};

    /// Lists a directory.
    pub fn list(path: &str) -> Result<Listing, FileError> {
        let mut listing = Listing::default();
        for entry in fs::read_dir(here(path))? {
            let entry = entry?;
            match entry.file_name().into_string() {
                Ok(name) => listing.entries.push(Entry { name, kind: entry.file_type()?.into() }),
                Err(_) => listing.unnameable += 1,
            }
        }
        listing.entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(listing)
    }

    /// Looks at a file without following a link in the last place.
    pub fn stat(path: &str) -> Result<Stat, FileError> {
        let meta = fs::symlink_metadata(here(path))?;
        let modified = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(Stat {
            kind: meta.file_type().into(),
            size: meta.len(),
            modified: modified.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            executable: meta.is_file() && meta.permissions().mode() & 0o100 != 0,
        })
    }

    /// Reads up to `length` bytes from `offset`.
    pub fn read(path: &str, offset: u64, length: u32) -> Result<Chunk, FileError> {
        let file = fs::File::open(here(path))?;
        let meta = file.metadata()?;
        if meta.is_dir() {
            return Err(FileError::IsADirectory);
        }
        if !meta.is_file() {
            return Err(FileError::NotAFile);
        }
        let left = meta.len().saturating_sub(offset).min(u64::from(length.min(MAX_READ)));
        let mut bytes = vec![0; usize::try_from(left).unwrap_or(0)];
        let mut filled = 0;
        while filled < bytes.len() {
            match file.read_at(&mut bytes[filled..], offset + filled as u64)? {
                0 => break,
                read => filled += read,
            }
        }
        bytes.truncate(filled);
        Ok(Chunk { bytes, size: meta.len() })
    }

    /// Says whether a file may be run as a program.
    pub fn set_executable(path: &str, executable: bool) -> Result<(), FileError> {
        let mode = fs::metadata(path)?.permissions().mode();
        let mode = if executable { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
        Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
    }

    fn here(path: &str) -> &str {
        if path.is_empty() { "." } else { path }
    }

    impl From<fs::FileType> for Kind {
        fn from(kind: fs::FileType) -> Self {
            if kind.is_file() {
                Self::File
            } else if kind.is_dir() {
                Self::Directory
            } else if kind.is_symlink() {
                Self::Symlink
            } else {
                Self::Other
            }
        }
    }

    impl From<io::Error> for FileError {
        fn from(error: io::Error) -> Self {
            match error.kind() {
                io::ErrorKind::NotFound => Self::NotFound,
                io::ErrorKind::NotADirectory => Self::NotADirectory,
                io::ErrorKind::IsADirectory => Self::IsADirectory,
                io::ErrorKind::PermissionDenied => Self::Denied(error.to_string()),
                _ => Self::Failed(error.to_string()),
            }
        }
    }
}
