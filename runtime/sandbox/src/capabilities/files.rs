//! `palisade:host/files`: reading in few, large steps, through the guest's own preopens.

use std::{fs::File, io::Read as _, os::unix::fs::FileExt as _, sync::Arc, time::UNIX_EPOCH};

use cap_std::fs::{Dir, FileType};
use palisade_grants::{BadPath, WorkspacePath};
use rustix::fs::OFlags;
use wasmtime::component::{HasSelf, Linker};

use crate::{bindings::files, host::Host, workspace::open_beneath};

/// The most that one `read` returns; the guest's memory pays for it, and so does the host's.
const MAX_READ: u32 = 8 << 20;

/// The most entries that one `list` returns: a directory is listed in the host's memory first.
const MAX_ENTRIES: usize = 200_000;

pub(crate) fn link(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    files::add_to_linker::<Host, HasSelf<Host>>(linker, |host| host)
}

type Answer<T> = wasmtime::Result<Result<T, files::Error>>;

impl files::Host for Host {
    fn list(&mut self, path: String) -> Answer<files::Listing> {
        Ok(self.find(&path).and_then(|(dir, path)| list(&dir, &path)))
    }

    fn stat(&mut self, path: String) -> Answer<files::Status> {
        Ok(self.find(&path).and_then(|(dir, path)| stat(&dir, &path)))
    }

    fn read(&mut self, path: String, offset: u64, length: u32) -> Answer<files::Chunk> {
        Ok(self.find(&path).and_then(|(dir, path)| read(&dir, &path, offset, length.min(MAX_READ))))
    }
}

impl Host {
    /// Finds the preopen that a path lies in, and the path below it.
    fn find(&self, path: &str) -> Result<(Arc<Dir>, String), files::Error> {
        let path = match WorkspacePath::parse(path) {
            Ok(path) => path,
            // The kernel decides where `..` leads; it must stay below the preopen.
            Err(BadPath::Parent(_)) => {
                return self
                    .files
                    .preopen(&WorkspacePath::ROOT)
                    .map(|(dir, _)| (dir, path.to_owned()))
                    .ok_or_else(outside);
            }
            Err(error) => return Err(files::Error::Denied(error.to_string())),
        };
        let (dir, below) = self.files.preopen(&path).ok_or_else(outside)?;
        Ok((dir, if below.is_empty() { ".".to_owned() } else { below }))
    }
}

fn list(dir: &Dir, path: &str) -> Result<files::Listing, files::Error> {
    let mut listing = files::Listing { entries: Vec::new(), unnameable: 0 };
    for entry in dir.read_dir(path)? {
        let entry = entry?;
        if listing.entries.len() >= MAX_ENTRIES {
            return Err(files::Error::Failed(format!("the directory has more than {MAX_ENTRIES} entries")));
        }
        match entry.file_name().into_string() {
            Ok(name) => listing.entries.push(files::Entry { name, kind: entry.file_type()?.into() }),
            Err(_) => listing.unnameable += 1,
        }
    }
    listing.entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(listing)
}

fn stat(dir: &Dir, path: &str) -> Result<files::Status, files::Error> {
    let meta = dir.symlink_metadata(path)?;
    let modified = meta.modified().ok().and_then(|time| time.into_std().duration_since(UNIX_EPOCH).ok());
    Ok(files::Status {
        kind: meta.file_type().into(),
        size: meta.len(),
        modified: modified.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
    })
}

fn read(dir: &Dir, path: &str, offset: u64, length: u32) -> Result<files::Chunk, files::Error> {
    // Opening a pipe waits for its writer unless told not to.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(open_beneath(dir, path, flags).map_err(std::io::Error::from)?);
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(files::Error::IsADirectory);
    }
    if !meta.is_file() {
        return Err(files::Error::NotAFile);
    }
    let size = meta.len();
    let left = size.saturating_sub(offset).min(u64::from(length));
    let wanted = usize::try_from(left).unwrap_or(0);
    let mut bytes = Vec::with_capacity(wanted);
    if offset == 0 {
        (&file).take(left).read_to_end(&mut bytes)?;
    } else {
        bytes.resize(wanted, 0);
        let mut filled = 0;
        while filled < bytes.len() {
            match file.read_at(&mut bytes[filled..], offset + filled as u64)? {
                0 => break,
                read => filled += read,
            }
        }
        bytes.truncate(filled);
    }
    Ok(files::Chunk { bytes, size })
}

fn outside() -> files::Error {
    files::Error::Denied("this folder is not granted to the agent".to_owned())
}

impl From<FileType> for files::Kind {
    fn from(kind: FileType) -> Self {
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

/// What lies outside gives the same answer whether it exists or not.
impl From<std::io::Error> for files::Error {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::NotADirectory => Self::NotADirectory,
            ErrorKind::IsADirectory => Self::IsADirectory,
            ErrorKind::PermissionDenied | ErrorKind::CrossesDevices => {
                Self::Denied("the path leads out of the granted folders, or the file is not readable".to_owned())
            }
            ErrorKind::InvalidInput | ErrorKind::InvalidFilename => Self::Failed("not a valid file name".to_owned()),
            _ if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => Self::NotAFile,
            kind => Self::Failed(kind.to_string()),
        }
    }
}
