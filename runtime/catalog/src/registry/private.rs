//! Files that only their owner can have written: what was decided about others. Such a file is read whole or not at all,
//! and changed by one at a time.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use cap_std::fs::{Dir, File, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Why such a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// It is damaged, or others could have written it.
    #[error("{} {why}; look at it and remove it, then {then}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
        /// What is to be done again.
        then: &'static str,
    },
    /// It could not be replaced.
    #[error("{} cannot be written: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

/// The one version that such files have so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version;

const VERSION: u32 = 1;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        VERSION.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            VERSION => Ok(Self),
            other => Err(de::Error::custom(format!("it is of another version of this program ({other})"))),
        }
    }
}

/// What stands in a file; nothing if it is not there. What is wrong with it is said as what comes behind its name.
pub(super) fn read<T: de::DeserializeOwned>(path: &Path, most: u64) -> Result<Option<T>, String> {
    let unreadable = |error: io::Error| format!("cannot be read: {error}");
    let (folder, name) = place(path).ok_or("has no name")?;
    let dir = match Dir::open_ambient_dir(folder, cap_std::ambient_authority()) {
        Ok(dir) => dir,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let meta = match dir.symlink_metadata(name) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let own = rustix::process::geteuid().as_raw();
    if !meta.is_file() || meta.mode() & 0o022 != 0 || ![own, 0].contains(&meta.uid()) {
        return Err("can be written by others than its owner".to_owned());
    }
    let mut text = Vec::new();
    dir.open(name).and_then(|file| file.take(most).read_to_end(&mut text)).map_err(unreadable)?;
    serde_json::from_slice(&text).map(Some).map_err(|error| format!("is damaged: {error}"))
}

/// A file that nobody else changes now.
#[derive(Debug)]
pub(super) struct Held {
    path: PathBuf,
    dir: Dir,
    name: OsString,
    _lock: File,
}

impl Held {
    /// Waits until nobody else changes the file. It need not be there, nor its folder.
    pub(super) fn hold(path: &Path) -> Result<Self, KeptError> {
        let io = |error| KeptError::Io { path: path.to_owned(), error };
        let (folder, name) = place(path).ok_or_else(|| io(io::ErrorKind::InvalidFilename.into()))?;
        Dir::create_ambient_dir_all(folder, cap_std::ambient_authority()).map_err(io)?;
        let dir = Dir::open_ambient_dir(folder, cap_std::ambient_authority()).map_err(io)?;
        let lock = lock(&dir, name).map_err(io)?;
        Ok(Self { path: path.to_owned(), dir, name: name.to_owned(), _lock: lock })
    }

    /// An error about what stands in it.
    pub(super) fn damaged(&self, why: String, then: &'static str) -> KeptError {
        KeptError::Damaged { path: self.path.clone(), why, then }
    }

    /// Puts a new file in the place of the old one, so that a reader finds one or the other, and makes that durable.
    pub(super) fn replace(&self, value: &impl Serialize) -> Result<(), KeptError> {
        replace(&self.dir, &self.name, value).map_err(|error| KeptError::Io { path: self.path.clone(), error })
    }
}

fn lock(dir: &Dir, name: &OsStr) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    let file = dir.open_with(with_ending(name, ".lock"), &options)?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
    Ok(file)
}

fn replace(dir: &Dir, name: &OsStr, value: &impl Serialize) -> io::Result<()> {
    let fresh = with_ending(name, ".new");
    // Only whoever holds the lock is here, so this is what a crash left behind.
    match dir.remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = dir.open_with(&fresh, &options)?;
    serde_json::to_writer_pretty(&mut file, value)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    dir.rename(&fresh, dir, name)?;
    // A handle to look names up by cannot be made durable, so that it is opened once more.
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
    Ok(rustix::fs::fsync(rustix::fs::openat(dir, ".", flags, rustix::fs::Mode::empty())?)?)
}

fn with_ending(name: &OsStr, ending: &str) -> PathBuf {
    let mut name = name.to_owned();
    name.push(ending);
    name.into()
}

fn place(path: &Path) -> Option<(&Path, &OsStr)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some((folder, path.file_name()?))
}
