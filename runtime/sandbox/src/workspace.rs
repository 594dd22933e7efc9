//! The folder an agent works in, opened once.

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    os::fd::{AsFd as _, OwnedFd},
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::fs::Dir;
use palisade_grants::{FilesGrant, WorkspacePath};
use rustix::fs::{Mode, OFlags, ResolveFlags};

use crate::{Network, Storage};

/// The folder an agent works in, and what is around it: the network, and where tools keep things. It is opened
/// once; what happens to its name afterwards does not matter. Cheap to clone.
#[derive(Clone)]
pub struct Workspace {
    root: Option<Arc<Dir>>,
    scratch_in: Option<Arc<Path>>,
    network: Option<Network>,
    storage: Option<Arc<dyn Storage>>,
    packages: Arc<Packages>,
}

/// Folders of plugins, by the plugins' names.
pub(crate) type Packages = BTreeMap<String, Arc<File>>;

/// Why a folder cannot be worked in.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// It is missing, a file, a symbolic link, or not readable.
    #[error("the workspace {path} cannot be opened: {error}")]
    Open {
        /// The folder, as it was given.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A granted folder is missing, a file, or reached through a symbolic link.
    #[error("the granted folder `{path}` cannot be opened: {error}; it must be a real directory inside the workspace")]
    Grant {
        /// The granted path.
        path: WorkspacePath,
        /// Why not.
        error: io::Error,
    },
    /// The kernel cannot confine path lookups.
    #[error("this kernel has no openat2 with RESOLVE_BENEATH (Linux 5.6 or newer is needed)")]
    Kernel,
}

impl Workspace {
    /// Opens a folder. A symbolic link in the last place is refused: resolve it first.
    pub fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let failed = |error: rustix::io::Errno| WorkspaceError::Open { path: path.to_owned(), error: error.into() };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
        match open_beneath(&root, ".", OFlags::PATH | OFlags::DIRECTORY) {
            Ok(_) => Ok(Self { root: Some(Arc::new(Dir::from_std_file(root.into()))), ..Self::none() }),
            Err(rustix::io::Errno::NOSYS) => Err(WorkspaceError::Kernel),
            Err(error) => Err(failed(error)),
        }
    }

    /// A folder that is open already, with the scratch folders of its agents below a place.
    pub(crate) fn of(root: Option<OwnedFd>, scratch_in: Option<PathBuf>, packages: Packages) -> Self {
        let root = root.map(|root| Arc::new(Dir::from_std_file(root.into())));
        Self { root, scratch_in: scratch_in.map(Into::into), packages: Arc::new(packages), ..Self::none() }
    }

    /// No folder at all: for agents that touch no files.
    pub fn none() -> Self {
        Self { root: None, scratch_in: None, network: None, storage: None, packages: Arc::default() }
    }

    /// The same, with the scratch folders of its agents below this directory in place of the
    /// system's for temporary files. It should lie in nobody's workspace; in an agent's own, that
    /// agent has no scratch folder.
    #[must_use]
    pub fn with_scratch_in(self, directory: &Path) -> Self {
        Self { scratch_in: Some(directory.into()), ..self }
    }

    /// The same with a way to reach hosts. Without, no request is made, whatever is granted.
    #[must_use]
    pub fn with_network(self, network: Network) -> Self {
        Self { network: Some(network), ..self }
    }

    /// The same with a place where tools keep what they are granted to keep. Without, nothing is kept.
    #[must_use]
    pub fn with_storage(self, storage: Arc<dyn Storage>) -> Self {
        Self { storage: Some(storage), ..self }
    }

    pub(crate) fn storage(&self) -> Option<Arc<dyn Storage>> {
        self.storage.clone()
    }

    pub(crate) fn network(&self) -> Option<Network> {
        self.network.clone()
    }

    pub(crate) fn scratch_in(&self) -> Option<Arc<Path>> {
        self.scratch_in.clone()
    }

    pub(crate) fn root(&self) -> Option<&Arc<Dir>> {
        self.root.as_ref()
    }

    /// The same with the folder of a plugin, for its own tools to look at.
    #[must_use]
    pub fn with_package(mut self, plugin: &str, folder: File) -> Self {
        Arc::make_mut(&mut self.packages).insert(plugin.to_owned(), Arc::new(folder));
        self
    }

    pub(crate) fn packages(&self) -> &Arc<Packages> {
        &self.packages
    }

    /// Opens the granted folders that need a handle of their own: those that lie in no other, and
    /// those that open more than the folder around them.
    pub(crate) fn open_granted(&self, grant: &FilesGrant) -> Result<Vec<(WorkspacePath, OwnedFd)>, WorkspaceError> {
        let Some(root) = &self.root else { return Ok(Vec::new()) };
        let opens_more = |path: &WorkspacePath| {
            let around = grant.folders().filter(|(folder, _)| *folder != path && path.is_within(folder));
            around
                .max_by_key(|(folder, _)| folder.as_str().len())
                .is_none_or(|(_, access)| Some(access) < grant.folder_access(path))
        };
        let mut opened = Vec::new();
        for (path, _) in grant.folders().filter(|(path, _)| opens_more(path)) {
            let name = if path.is_root() { "." } else { path.as_str() };
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            let fd = rustix::fs::openat2(root.as_fd(), name, flags, Mode::empty(), resolve)
                .map_err(|error| WorkspaceError::Grant { path: path.clone(), error: error.into() })?;
            opened.push((path.clone(), fd));
        }
        Ok(opened)
    }
}

/// Opens a path that stays below a directory, whatever links are in it.
pub(crate) fn open_beneath(
    directory: impl std::os::fd::AsFd,
    path: &str,
    flags: OFlags,
) -> Result<OwnedFd, rustix::io::Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let path = if path.is_empty() { "." } else { path };
    let open = || rustix::fs::openat2(&directory, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve);
    // The kernel gives up on a path with `..` when anything on the machine is renamed meanwhile.
    let last = |opened: &Result<_, _>| !matches!(opened, Err(rustix::io::Errno::AGAIN));
    std::iter::repeat_with(open).take(MAX_TRIES).find(last).unwrap_or(Err(rustix::io::Errno::AGAIN))
}

/// Somebody who renames without pause is told to stop by the answer, not served for ever.
const MAX_TRIES: usize = 128;

/// Where an open directory lies below the workspace, with every link resolved. The kernel answers,
/// so nobody can change the answer by renaming things on the way.
pub(crate) fn real_path(root: impl std::os::fd::AsFd, inside: impl std::os::fd::AsFd) -> io::Result<WorkspacePath> {
    let root = kernel_path(root)?;
    let inside = kernel_path(inside)?;
    let below = inside.strip_prefix(&root).map_err(|_| io::Error::from(io::ErrorKind::PermissionDenied))?;
    let below = below.to_str().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
    WorkspacePath::parse(below).map_err(|_| io::Error::from(io::ErrorKind::InvalidFilename))
}

pub(crate) fn kernel_path(fd: impl std::os::fd::AsFd) -> io::Result<PathBuf> {
    use std::os::{fd::AsRawFd as _, unix::ffi::OsStringExt as _};
    let link = format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd());
    let path = rustix::fs::readlink(link, Vec::new())?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}
