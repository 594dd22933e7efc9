//! The shell's file system: the agent's own folders, through the preopens, and no other.

use std::{
    fs::{self, File, Metadata},
    io::{self, ErrorKind, Read as _, Write as _},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use bashkit::{DirEntry, FileSystem, FileSystemExt, FileType, Result};
use palisade_tool::files::{self as sdk, FileError, Kind};

use crate::{
    links,
    place::{Device, Place, WORKSPACE},
};

/// The agent's folders. It keeps nothing: every call goes to the files themselves.
pub(crate) struct Folders;

/// What reading an endless device gives to a command that wants it whole.
const DEVICE_BYTES: u64 = 64 << 10;

#[async_trait]
impl FileSystemExt for Folders {
    fn backend_kind(&self) -> &'static str {
        "folders"
    }
}

#[async_trait]
impl FileSystem for Folders {
    async fn read_file(&self, path: &Path) -> Result<Vec<u8>> {
        Ok(read(path)?)
    }

    async fn write_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        Ok(write(path, content, fs::OpenOptions::new().write(true).create(true).truncate(true))?)
    }

    async fn append_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        Ok(write(path, content, fs::OpenOptions::new().append(true).create(true))?)
    }

    async fn mkdir(&self, path: &Path, recursive: bool) -> Result<()> {
        let real = changeable(path)?;
        if recursive && fs::metadata(&real).is_ok_and(|there| there.is_dir()) {
            return Ok(());
        }
        let made = if recursive { fs::create_dir_all(&real) } else { fs::create_dir(&real) };
        Ok(made.map_err(usual)?)
    }

    async fn remove(&self, path: &Path, recursive: bool) -> Result<()> {
        said_plainly(remove(path, recursive))
    }

    /// What is there, a link as a link: the interpreter follows it itself where a command would.
    async fn stat(&self, path: &Path) -> Result<bashkit::Metadata> {
        Ok(look(path)?)
    }

    async fn read_dir(&self, path: &Path) -> Result<Vec<DirEntry>> {
        Ok(list(path)?)
    }

    async fn exists(&self, path: &Path) -> Result<bool> {
        Ok(look(path).is_ok())
    }

    async fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        Ok(fs::rename(changeable(from)?, changeable(to)?).map_err(usual)?)
    }

    async fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        Ok(copy(from, to)?)
    }

    async fn symlink(&self, target: &Path, link: &Path) -> Result<()> {
        said_plainly(changeable(link).and_then(|link| links::symlink(target, &link).map_err(usual)))
    }

    async fn read_link(&self, path: &Path) -> Result<PathBuf> {
        Ok(fs::read_link(real(path)?).map_err(usual)?)
    }

    async fn chmod(&self, path: &Path, mode: u32) -> Result<()> {
        said_plainly(set_mode(path, mode))
    }

    async fn set_modified_time(&self, path: &Path, time: SystemTime) -> Result<()> {
        let file = File::open(changeable(path)?).map_err(usual)?;
        Ok(file.set_modified(time).map_err(usual)?)
    }
}

/// An error that a command of the interpreter shows as it is: one of reading and writing it would call an
/// `io error` first.
fn said_plainly(done: io::Result<()>) -> Result<()> {
    done.map_err(|error| bashkit::Error::CommandFailure(error.to_string()))
}

fn remove(path: &Path, recursive: bool) -> io::Result<()> {
    let real = changeable(path)?;
    let kind = fs::symlink_metadata(&real).map_err(usual)?.file_type();
    let removed = match (kind.is_dir(), recursive) {
        (false, _) => fs::remove_file(&real),
        (true, false) => fs::remove_dir(&real),
        (true, true) => remove_all(&real),
    };
    removed.map_err(usual)
}

/// Opens a file to be read, for commands that read as they go.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn io::Read + Send>> {
    match Place::of(path) {
        Place::Real(real) => Ok(Box::new(Steps::open(&real)?)),
        Place::Device(Device::Null) => Ok(Box::new(io::empty())),
        Place::Device(Device::Zero) => Ok(Box::new(io::repeat(0))),
        Place::Device(Device::Random) => Ok(Box::new(Random)),
        Place::Listed(_) => Err(io::Error::new(ErrorKind::IsADirectory, "Is a directory")),
        Place::Nowhere => Err(not_found()),
    }
}

/// A file that is read in few, large steps.
struct Steps {
    path: String,
    /// What was read last, and how much of it was handed on.
    held: Vec<u8>,
    at: usize,
    /// Where the next step begins.
    offset: u64,
}

const STEP: u32 = 1 << 20;

impl Steps {
    fn open(real: &Path) -> io::Result<Self> {
        let path = known(real).ok_or_else(not_found)?.to_owned();
        let mut file = Self { path, held: Vec::new(), at: 0, offset: 0 };
        file.step()?;
        Ok(file)
    }

    fn step(&mut self) -> io::Result<()> {
        self.held = sdk::read(&self.path, self.offset, STEP).map_err(said)?.bytes;
        self.at = 0;
        self.offset += self.held.len() as u64;
        Ok(())
    }
}

impl io::Read for Steps {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A step that was not full was the last one.
        if self.at == self.held.len() && self.held.len() == STEP as usize {
            self.step()?;
        }
        let length = buffer.len().min(self.held.len() - self.at);
        buffer[..length].copy_from_slice(&self.held[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

struct Random;

impl io::Read for Random {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use std::hash::{BuildHasher as _, RandomState};
        let state = RandomState::new();
        for (count, chunk) in buffer.chunks_mut(8).enumerate() {
            chunk.copy_from_slice(&state.hash_one(count).to_le_bytes()[..chunk.len()]);
        }
        Ok(buffer.len())
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = open(path)?;
    match Place::of(path) {
        Place::Device(_) => file.take(DEVICE_BYTES).read_to_end(&mut bytes)?,
        _ => file.read_to_end(&mut bytes)?,
    };
    Ok(bytes)
}

fn write(path: &Path, content: &[u8], how: &fs::OpenOptions) -> io::Result<()> {
    if let Place::Device(_) = Place::of(path) {
        return Ok(());
    }
    let real = changeable(path)?;
    if fs::metadata(&real).is_ok_and(|there| there.is_dir()) {
        return Err(io::Error::new(ErrorKind::IsADirectory, "Is a directory"));
    }
    how.open(real).and_then(|mut file| file.write_all(content)).map_err(usual)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = open(from)?;
    let real = changeable(to)?;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).open(real).map_err(usual)?;
    io::copy(&mut source, &mut file).map(drop).map_err(usual)
}

/// Removes a directory with all that is in it, going on after what cannot be removed.
fn remove_all(directory: &Path) -> io::Result<()> {
    let mut failed = Ok(());
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        let removed = if entry.file_type()?.is_dir() { remove_all(&path) } else { fs::remove_file(&path) };
        failed = failed.and(removed);
    }
    failed.and(fs::remove_dir(directory))
}

/// What is in a directory, and of what kind each is: one call to the host, however many there are.
pub(crate) fn kinds(path: &Path) -> io::Result<Vec<(String, FileType)>> {
    let Place::Real(real) = Place::of(path) else {
        return Ok(list(path)?.into_iter().map(|entry| (entry.name, entry.metadata.file_type)).collect());
    };
    let listing = sdk::list(known(&real).ok_or_else(not_found)?).map_err(said)?;
    let kind = |kind| match kind {
        Kind::File => FileType::File,
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Other => FileType::Fifo,
    };
    Ok(listing.entries.into_iter().map(|entry| (entry.name, kind(entry.kind))).collect())
}

/// What is in a directory, with all that is known of each.
pub(crate) fn list(path: &Path) -> io::Result<Vec<DirEntry>> {
    match Place::of(path) {
        Place::Listed(names) => Ok(names
            .iter()
            .filter_map(|name| {
                let metadata = look(&path.join(name)).ok()?;
                Some(DirEntry { name: (*name).to_owned(), metadata })
            })
            .collect()),
        Place::Real(real) => {
            let mut entries = Vec::new();
            for entry in fs::read_dir(real).map_err(usual)? {
                let entry = entry.map_err(usual)?;
                // A name that is no text cannot be said in a script. What went away meanwhile is not there.
                let (Ok(name), Ok(metadata)) = (entry.file_name().into_string(), entry.metadata()) else { continue };
                let metadata = shown(&entry.path(), &metadata);
                entries.push(DirEntry { name, metadata });
            }
            Ok(entries)
        }
        Place::Device(_) => Err(io::Error::new(ErrorKind::NotADirectory, "Not a directory")),
        Place::Nowhere => Err(not_found()),
    }
}

pub(crate) fn look(path: &Path) -> io::Result<bashkit::Metadata> {
    match Place::of(path) {
        Place::Real(real) => fs::symlink_metadata(&real).map(|there| shown(&real, &there)).map_err(usual),
        Place::Device(_) => Ok(made_up(FileType::File, 0o666)),
        Place::Listed(_) => Ok(made_up(FileType::Directory, 0o555)),
        Place::Nowhere => Err(not_found()),
    }
}

/// What is known of something that was not looked at, or cannot be.
pub(crate) fn made_up(file_type: FileType, mode: u32) -> bashkit::Metadata {
    bashkit::Metadata { file_type, size: 0, mode, modified: UNIX_EPOCH, created: UNIX_EPOCH }
}

/// What the shell is told of a file. The host tells no more of its mode than whether it can be run.
fn shown(real: &Path, metadata: &Metadata) -> bashkit::Metadata {
    let kind = metadata.file_type();
    let (file_type, mode) = if kind.is_dir() {
        (FileType::Directory, 0o755)
    } else if kind.is_symlink() {
        (FileType::Symlink, 0o777)
    } else if kind.is_file() {
        let runs = known(real).and_then(|path| sdk::stat(path).ok()).is_some_and(|there| there.executable);
        (FileType::File, if runs { 0o755 } else { 0o644 })
    } else {
        (FileType::Fifo, 0o644)
    };
    let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
    bashkit::Metadata { file_type, size: metadata.len(), mode, modified, created: modified }
}

/// Changes a mode as far as there is one: whether a file can be run.
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let real = changeable(path)?;
    let there = fs::metadata(&real).map_err(usual)?;
    let shown = shown(&real, &there);
    if shown.mode & 0o100 == mode & 0o100 {
        return Ok(());
    }
    if !there.is_file() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "Permission denied"));
    }
    let known = known(&real).ok_or_else(not_found)?;
    sdk::set_executable(known, mode & 0o100 != 0).map_err(said)
}

/// Lets a copy be run if what it was copied from can be.
pub(crate) fn keep_mode(from: &Path, to: &Path) -> io::Result<()> {
    let (Some(from), Some(to)) = (known(from), known(to)) else { return Ok(()) };
    match sdk::stat(from) {
        Ok(there) if there.executable => sdk::set_executable(to, true).map_err(said),
        _ => Ok(()),
    }
}

/// A real path as the host's own interface for files knows it.
fn known(real: &Path) -> Option<&str> {
    real.strip_prefix(WORKSPACE).unwrap_or(real).to_str()
}

/// The real path of something that is to be looked at.
fn real(path: &Path) -> io::Result<PathBuf> {
    match Place::of(path) {
        Place::Real(real) => Ok(real),
        Place::Device(_) | Place::Listed(_) => Err(io::Error::new(ErrorKind::InvalidInput, "Invalid argument")),
        Place::Nowhere => Err(not_found()),
    }
}

/// The real path of something that is to be changed. Whether it may be is decided by the host.
pub(crate) fn changeable(path: &Path) -> io::Result<PathBuf> {
    match Place::of(path) {
        Place::Real(real) => Ok(real),
        Place::Device(_) | Place::Listed(_) => Err(io::Error::new(ErrorKind::PermissionDenied, "Permission denied")),
        Place::Nowhere => match path.parent().map(Place::of) {
            Some(Place::Listed(_)) => Err(io::Error::new(ErrorKind::PermissionDenied, "Permission denied")),
            _ => Err(not_found()),
        },
    }
}

fn not_found() -> io::Error {
    io::Error::new(ErrorKind::NotFound, "No such file or directory")
}

/// An error of the host's own interface in the same words.
fn said(error: FileError) -> io::Error {
    let (kind, words) = match error {
        FileError::NotFound => return not_found(),
        FileError::NotADirectory => (ErrorKind::NotADirectory, "Not a directory"),
        FileError::IsADirectory => (ErrorKind::IsADirectory, "Is a directory"),
        FileError::NotAFile => (ErrorKind::Unsupported, "Operation not supported"),
        FileError::Denied(_) => (ErrorKind::PermissionDenied, "Permission denied"),
        FileError::Failed(_) => (ErrorKind::Other, "Input/output error"),
    };
    io::Error::new(kind, words)
}

/// An error in the words that every command uses for it.
pub(crate) fn usual(error: io::Error) -> io::Error {
    let kind = error.kind();
    let words = match kind {
        ErrorKind::NotFound => "No such file or directory",
        ErrorKind::PermissionDenied => "Permission denied",
        ErrorKind::AlreadyExists => "File exists",
        ErrorKind::NotADirectory => "Not a directory",
        ErrorKind::IsADirectory => "Is a directory",
        ErrorKind::DirectoryNotEmpty => "Directory not empty",
        ErrorKind::ReadOnlyFilesystem => "Read-only file system",
        ErrorKind::StorageFull => "No space left on device",
        ErrorKind::QuotaExceeded => "Disk quota exceeded",
        ErrorKind::FileTooLarge => "File too large",
        ErrorKind::CrossesDevices => "Invalid cross-device link",
        ErrorKind::TooManyLinks => "Too many links",
        ErrorKind::InvalidFilename => "File name too long",
        ErrorKind::InvalidInput => "Invalid argument",
        ErrorKind::Unsupported => "Operation not supported",
        ErrorKind::ResourceBusy => "Device or resource busy",
        _ => return error,
    };
    io::Error::new(kind, words)
}
