//! One way to read a small file from a folder that somebody else may have filled.

use std::{
    io::{self, Read as _},
    path::{Component, Path},
};

use cap_std::fs::{Dir, File, Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::{
    fs::{Mode, OFlags, ResolveFlags},
    io::Errno,
};

use crate::definition::MAX_FILE;

/// What the file system says of a file without opening it. The time of the last change is in it
/// because, other than the time of modification, no program can set it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    file: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A file's bytes, and what the file system said of it before they were read.
pub(super) struct Contents {
    pub(super) bytes: Vec<u8>,
    pub(super) stamp: Stamp,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("it is not a file")]
    NotAFile,
    #[error("it has {size} bytes; {most} is the most that is read")]
    TooLong { size: u64, most: usize },
    #[error("it leads out of its folder")]
    Outside,
    #[error("a link leads there, and none is followed; put a file or folder in its place")]
    Linked,
    #[error("{0}")]
    Io(io::Error),
}

/// Reads a file below a folder. The path may pass through links, but none that leaves the folder;
/// pipes and devices are neither waited for nor read, and no more than [`MAX_FILE`] bytes are.
pub(super) fn read(dir: &Dir, path: impl AsRef<Path>) -> Result<Contents, ReadError> {
    contents(dir.open_with(path, &options())?, MAX_FILE)
}

/// The same of a file that may be larger.
pub(super) fn read_large(dir: &Dir, path: impl AsRef<Path>, most: usize) -> Result<Vec<u8>, ReadError> {
    contents(dir.open_with(path, &options())?, most).map(|contents| contents.bytes)
}

/// The bytes of a file below a folder, if there is one that may be read.
pub(crate) fn read_below(dir: &Dir, path: impl AsRef<Path>) -> Option<Vec<u8>> {
    read(dir, path).ok().map(|contents| contents.bytes)
}

/// Reads a file below a folder without passing through any link: what a path says is then where the file is.
pub(super) fn read_unlinked(dir: &Dir, path: &str) -> Result<Contents, ReadError> {
    contents(File::from_std(open_unlinked(dir, path, OFlags::NONBLOCK)?), MAX_FILE)
}

/// Opens a folder in the same way.
pub(super) fn open_dir_unlinked(dir: &Dir, path: &str) -> Result<Dir, ReadError> {
    Ok(Dir::from_std_file(open_unlinked(dir, path, OFlags::DIRECTORY)?))
}

fn open_unlinked(dir: &Dir, path: &str, flags: OFlags) -> Result<std::fs::File, ReadError> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(dir, path, OFlags::RDONLY | OFlags::CLOEXEC | flags, Mode::empty(), resolve) {
        Ok(file) => Ok(file.into()),
        Err(Errno::LOOP) => Err(ReadError::Linked),
        Err(Errno::XDEV) => Err(ReadError::Outside),
        Err(error) => Err(ReadError::Io(error.into())),
    }
}

/// Reads a file that the operator named, wherever it is.
pub(super) fn read_named(path: &Path) -> Result<Contents, ReadError> {
    contents(File::open_ambient_with(path, &options(), cap_std::ambient_authority())?, MAX_FILE)
}

/// Opening a pipe waits for its other end, unless it is asked not to.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    options
}

fn contents(mut file: File, most: usize) -> Result<Contents, ReadError> {
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(ReadError::NotAFile);
    }
    let size = meta.len();
    if size > most as u64 {
        return Err(ReadError::TooLong { size, most });
    }
    // One byte more than allowed, because a file can grow while it is read.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    file.by_ref().take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(ReadError::TooLong { size: bytes.len() as u64, most });
    }
    Ok(Contents { bytes, stamp: Stamp::of(&meta) })
}

impl Stamp {
    pub(super) fn of(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            file: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// When anything about the file last changed, in seconds since 1970.
    pub(super) fn last_change(&self) -> i64 {
        self.modified.0.max(self.changed.0)
    }
}

/// A path below a folder as it is written in a file: relative, and without `..`. Steps that lead
/// nowhere are dropped, so that equal places are equal texts.
pub(super) fn inside(path: &str) -> Result<String, ReadError> {
    let mut parts = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str().ok_or(ReadError::Outside)?),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(ReadError::Outside),
        }
    }
    if parts.is_empty() || path.contains(['\\', '\0']) {
        return Err(ReadError::Outside);
    }
    Ok(parts.join("/"))
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        // A path that leaves its folder is refused without asking the operating system for it, so
        // this refusal alone has no number.
        match error.kind() {
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => Self::Outside,
            _ => Self::Io(error),
        }
    }
}

impl ReadError {
    /// Whether there is nothing at that path.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}
