//! An agent's scratch folder: `/tmp` to its guests, and gone with its scope.
//!
//! Writing anywhere is `fs.write`, so only an agent that was granted it has a scratch folder: in a
//! read-only agent there is no place at all that a guest could change, and a proof of that has
//! nothing to make an exception for. A tool that declares no more than `fs.read` sees the folder
//! read-only, as it sees the workspace.
//!
//! The folder is made when a guest that may write in it first asks for its folders, so a scope that
//! needs none pays for none. Its name is new and random, and only its scope has a handle on it.
//!
//! A workspace may itself lie in the system's `/tmp`, and a model may name a file there in full. That
//! must not seem to work: what the workspace lies in is not there in the scratch folder, nor can it
//! be made.

use std::{
    ffi::{CStr, CString},
    fs::{File, Permissions},
    io, mem,
    os::{
        fd::AsRawFd as _,
        unix::fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::Path,
    sync::{Arc, OnceLock},
};

use palisade_grants::{Access, FilesGrant, WorkspacePath};
use rustix::fs::{AtFlags, Mode, OFlags};
use tempfile::TempDir;

use crate::{
    capabilities::{confine::Area, preopens::Preopen},
    workspace::{Workspace, kernel_path},
};

/// What guests call it.
pub(crate) const NAME: &str = "/tmp";

/// An agent's scratch folder, which may not have been made yet.
pub(crate) struct Scratch {
    workspace: Arc<File>,
    parent: Option<Arc<Path>>,
    folder: OnceLock<Option<Folder>>,
}

/// A scratch folder that was made. It is removed when the scope and its last call are gone.
struct Folder {
    preopen: Preopen,
    area: Area,
    /// Removes the folder itself when dropped, which is after [`Folder::drop`].
    _name: TempDir,
}

impl Scratch {
    /// The scratch folder of an agent that works in this workspace. Nothing is made yet.
    pub(crate) fn new(workspace: &Workspace, root: &Arc<File>) -> Self {
        Self { workspace: Arc::clone(root), parent: workspace.scratch_in(), folder: OnceLock::new() }
    }

    /// The folder, for a guest with this access. Only one that may write in it has it made; if it
    /// cannot be made, it is not there.
    pub(crate) fn lend(&self, access: Access) -> Option<(Preopen, Area)> {
        let folder = match access {
            Access::Read => self.folder.get()?.as_ref()?,
            Access::ReadWrite => self.folder.get_or_init(|| self.make().ok()).as_ref()?,
        };
        let area = match access {
            Access::Read => Area { grant: Arc::new(folder.area.grant.read_only()), ..folder.area.clone() },
            Access::ReadWrite => folder.area.clone(),
        };
        Some((folder.preopen.with(access), area))
    }

    /// The open folder, if a path that guests would write lies in it and it was made, and the path
    /// below it.
    pub(crate) fn find(&self, path: &str) -> Option<(Arc<File>, WorkspacePath)> {
        let below = path.strip_prefix(NAME).filter(|below| below.is_empty() || below.starts_with('/'))?;
        let below = WorkspacePath::parse(below.trim_start_matches('/')).ok()?;
        let area = &self.folder.get()?.as_ref()?.area;
        (area.grant.access(&below) == Some(Access::ReadWrite)).then(|| (Arc::clone(&area.root), below))
    }

    #[expect(clippy::disallowed_methods, reason = "where nobody chose a place for them, the system's is taken")]
    fn make(&self) -> io::Result<Folder> {
        let system = std::env::temp_dir();
        let parent = self.parent.as_deref().unwrap_or(&system);
        let opened = rustix::fs::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let workspace = kernel_path(&*self.workspace)?;
        // In the workspace it would have a second name, under which other rules hold.
        if kernel_path(opened)?.starts_with(&workspace) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mode = Permissions::from_mode(0o700);
        let name = tempfile::Builder::new().prefix("palisade-scratch-").permissions(mode).tempdir_in(parent)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = rustix::fs::open(name.path(), flags, Mode::empty())?;
        let preopen = Preopen::new(NAME, root.into());
        let area = Area { root: Arc::clone(&preopen.wasi.dir), grant: Arc::new(grant(&workspace)), name: Some(NAME) };
        Ok(Folder { preopen, area, _name: name })
    }
}

/// All of the folder but what the workspace would be called in it.
fn grant(workspace: &Path) -> FilesGrant {
    let top = workspace.strip_prefix(NAME).ok().and_then(|below| below.iter().next()?.to_str());
    let top = top.and_then(|name| WorkspacePath::parse(name).ok()).map(|path| (path, Access::Read));
    FilesGrant::new([(WorkspacePath::ROOT, Access::ReadWrite)].into_iter().chain(top))
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left, and never used again.
        let _ = empty(&self.area.root);
    }
}

/// Removes what is in a directory. A guest's tree can be deeper than a stack or a process's open
/// files allow, so there is one open directory, which goes down by names and up by `..`.
pub(crate) fn empty(top: &File) -> io::Result<()> {
    let mut here = top.try_clone()?;
    let mut left = names(&here)?;
    let mut above = Vec::new();
    loop {
        match left.pop() {
            Some(name) if remove(&here, &name) => {}
            Some(name) => {
                let Ok(inner) = open(&here, &name) else { continue };
                let left_here = mem::replace(&mut left, names(&inner)?);
                above.push((identity(&here)?, name, left_here));
                here = inner;
            }
            None => {
                let Some((expected, name, left_there)) = above.pop() else { return Ok(()) };
                here = open(&here, c"..")?;
                // Somebody else moved it: what is above now is not ours to remove.
                if identity(&here)? != expected {
                    return Err(io::ErrorKind::PermissionDenied.into());
                }
                remove(&here, &name);
                left = left_there;
            }
        }
    }
}

fn names(directory: &File) -> io::Result<Vec<CString>> {
    let entries = rustix::fs::Dir::read_from(directory)?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_owned()));
    names.filter(|name| !matches!(name, Ok(name) if [c".", c".."].contains(&name.as_c_str()))).collect()
}

/// Removes a file, a link or an empty directory.
fn remove(directory: &File, name: &CStr) -> bool {
    [AtFlags::empty(), AtFlags::REMOVEDIR].into_iter().any(|flags| rustix::fs::unlinkat(directory, name, flags).is_ok())
}

fn open(directory: &File, name: &CStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || rustix::fs::openat(directory, name, flags, Mode::empty());
    // A native program can close its own directories to everybody.
    let opened = open().or_else(|_| {
        let found = rustix::fs::openat(directory, name, flags | OFlags::PATH, Mode::empty())?;
        rustix::fs::chmod(format!("/proc/self/fd/{}", found.as_raw_fd()), Mode::RWXU)?;
        open()
    });
    Ok(opened?.into())
}

fn identity(directory: &File) -> io::Result<(u64, u64)> {
    let metadata = directory.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test looks at its own folder")]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_folder_is_emptied_however_deep_and_nothing_around_it() {
        let around = tempfile::tempdir().unwrap();
        fs::write(around.path().join("kept"), "kept").unwrap();
        let folder = around.path().join("folder");
        fs::create_dir(&folder).unwrap();
        symlink("..", folder.join("up")).unwrap();
        fs::create_dir(folder.join("wide")).unwrap();
        for number in 0..10 {
            fs::create_dir(folder.join(format!("wide/{number}"))).unwrap();
            fs::write(folder.join(format!("wide/{number}/file")), "x").unwrap();
        }
        let mut directory = File::open(&folder).unwrap();
        for depth in 0..1100 {
            let inner = format!("d{depth}");
            rustix::fs::mkdirat(&directory, &inner, Mode::RWXU).unwrap();
            rustix::fs::symlinkat("../kept", &directory, "link").unwrap();
            directory = rustix::fs::openat(&directory, &inner, OFlags::DIRECTORY, Mode::empty()).unwrap().into();
        }
        empty(&File::open(&folder).unwrap()).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(around.path().join("kept")).unwrap(), "kept");
    }
}
