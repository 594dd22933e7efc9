//! `palisade:host/files`: reading in few, large steps, through the guest's own preopens.

use std::{fs::File, io::Read as _, os::fd::OwnedFd, sync::Arc};

use palisade_grants::{BadPath, WorkspacePath};
use rustix::{
    fs::{AtFlags, FileType, OFlags, SeekFrom},
    io::Errno,
};
use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use crate::{
    bindings::files,
    capabilities::{
        confine::{Change, LastLink, NoPlace, PermittedPlace, Place},
        preopens::Shown,
    },
    host::Host,
    workspace::open_beneath,
};

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
        Ok(self.open(&path, OFlags::RDONLY | OFlags::DIRECTORY).and_then(|directory| {
            let directory = Arc::new(directory);
            if let Ok(path) = WorkspacePath::parse(&path) {
                self.trail.step(path, Arc::clone(&directory));
            }
            let shown = if is_beside(&path) { Shown::All } else { self.files.shown_in(&*directory) };
            list(&directory, &shown)
        }))
    }

    fn stat(&mut self, path: String) -> Answer<files::Status> {
        Ok(self.open(&path, OFlags::PATH | OFlags::NOFOLLOW).and_then(|file| stat(&file)))
    }

    fn set_executable(&mut self, path: String, executable: bool) -> Answer<()> {
        Ok(self.permit_file(&path).and_then(|place| Ok(place.set_executable(executable)?)))
    }

    fn read(&mut self, path: String, offset: u64, length: u32) -> Answer<files::Chunk> {
        // Opening a pipe waits for its writer unless told not to.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        Ok(self.open(&path, flags).and_then(|file| read(&File::from(file), offset, length.min(MAX_READ))))
    }
}

impl Host {
    /// Finds a file that is to be changed and asks the grant, as `wasi:filesystem` does.
    fn permit_file(&mut self, text: &str) -> Result<PermittedPlace, files::Error> {
        let path = WorkspacePath::parse(text).map_err(|error| files::Error::Denied(error.to_string()));
        let (directory, below) = match &path {
            Ok(path) => self.files.preopen(path).map(|(directory, below)| (directory, below.to_owned())),
            Err(_) => self.files.beside(text).map(|(folder, below)| (folder, below.as_str().to_owned())),
        }
        .ok_or_else(|| path.err().unwrap_or_else(outside))?;
        let denial = match Place::find(self.files.areas(), &directory, &below, LastLink::Follow) {
            Ok(place) => match place.permit(Change::Write) {
                Ok(place) => return Ok(place),
                Err(denial) => denial,
            },
            Err(NoPlace::NotFound(code)) => return Err(code.into()),
            Err(NoPlace::Denied(denial)) => denial,
        };
        let text = denial.to_string();
        Self::deny(&mut self.denials, denial);
        Err(files::Error::Denied(text))
    }

    /// Opens what a path means, unless that is hidden.
    pub(crate) fn open(&mut self, text: &str, flags: OFlags) -> Result<OwnedFd, files::Error> {
        let opened = self.open_wherever(text, flags);
        if is_beside(text) || !self.files.hides_anything() {
            return opened;
        }
        let last = if flags.contains(OFlags::NOFOLLOW) { LastLink::Keep } else { LastLink::Follow };
        let path = WorkspacePath::parse(text);
        let way = match &path {
            Ok(path) => self.files.preopen(path),
            Err(_) => self.files.preopen(&WorkspacePath::ROOT).map(|(directory, _)| (directory, text)),
        };
        let is_hidden = way.is_some_and(|(directory, below)| self.files.hides_way(&directory, below, last))
            || opened.as_ref().is_ok_and(|opened| self.files.hides(opened));
        if is_hidden { Err(files::Error::NotFound) } else { opened }
    }

    /// Opens what a path means, from the nearest directory on the trail or from its preopen. The
    /// kernel keeps it below either.
    fn open_wherever(&mut self, text: &str, flags: OFlags) -> Result<OwnedFd, files::Error> {
        let path = match WorkspacePath::parse(text) {
            Ok(path) => path,
            // The kernel decides where `..` leads; it must stay below the workspace's preopen.
            Err(BadPath::Parent(_)) => {
                let (directory, _) = self.files.preopen(&WorkspacePath::ROOT).ok_or_else(outside)?;
                return Ok(open_beneath(&*directory, text, flags)?);
            }
            Err(error) => {
                let denied = || files::Error::Denied(error.to_string());
                let (folder, below) = self.files.beside(text).ok_or_else(denied)?;
                return Ok(open_beneath(&*folder, below.as_str(), flags)?);
            }
        };
        let (directory, below) = self.files.preopen(&path).ok_or_else(outside)?;
        let opened = self.trail.open(&path, flags).unwrap_or_else(|| open_beneath(&*directory, below, flags));
        Ok(opened?)
    }
}

fn list(directory: &OwnedFd, shown: &Shown) -> Result<files::Listing, files::Error> {
    let mut listing = files::Listing { entries: Vec::new(), unnameable: 0 };
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        if listing.entries.len() >= MAX_ENTRIES {
            return Err(files::Error::Failed(format!("the directory has more than {MAX_ENTRIES} entries")));
        }
        match entry.file_name().to_str() {
            Ok("." | "..") => {}
            Ok(name) if !shown.has(name) => {}
            Ok(name) => {
                let kind = match entry.file_type() {
                    FileType::Unknown => look(directory, name)?,
                    known => known,
                };
                listing.entries.push(files::Entry { name: name.to_owned(), kind: kind.into() });
            }
            Err(_) => listing.unnameable += 1,
        }
    }
    listing.entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(listing)
}

/// Some file systems do not tell the kind of an entry with its name.
fn look(directory: &OwnedFd, name: &str) -> Result<FileType, Errno> {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}

fn stat(file: &OwnedFd) -> Result<files::Status, files::Error> {
    let stat = rustix::fs::fstat(file)?;
    let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
    let kind = FileType::from_raw_mode(stat.st_mode);
    Ok(files::Status {
        kind: kind.into(),
        executable: kind.is_file() && stat.st_mode & 0o100 != 0,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: seconds.saturating_mul(1000).saturating_add(stat.st_mtime_nsec / 1_000_000),
    })
}

fn read(file: &File, offset: u64, length: u32) -> Result<files::Chunk, files::Error> {
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(files::Error::IsADirectory);
    }
    if !meta.is_file() {
        return Err(files::Error::NotAFile);
    }
    let size = meta.len();
    let left = size.saturating_sub(offset).min(u64::from(length));
    let mut bytes = Vec::with_capacity(usize::try_from(left).unwrap_or(0));
    if offset > 0 {
        rustix::fs::seek(file, SeekFrom::Start(offset))?;
    }
    file.take(left).read_to_end(&mut bytes)?;
    Ok(files::Chunk { bytes, size })
}

/// Whether a path lies beside the workspace, if anywhere: nothing is hidden there, and a guest may
/// look into it before it has a handle on it.
fn is_beside(path: &str) -> bool {
    path.starts_with('/')
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

impl From<ErrorCode> for files::Error {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::NoEntry => Self::NotFound,
            ErrorCode::NotDirectory => Self::NotADirectory,
            ErrorCode::NotPermitted | ErrorCode::Access => outside(),
            _ => Self::Failed("not a file that can be changed".to_owned()),
        }
    }
}

impl From<Errno> for files::Error {
    fn from(error: Errno) -> Self {
        std::io::Error::from(error).into()
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
            _ if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => Self::NotAFile,
            kind => Self::Failed(kind.to_string()),
        }
    }
}
