//! Where packages are put: written aside, made durable, and moved into place by one rename.
//!
//! Folders that begin with a dot are nobody's plugin, so what a crash leaves behind is not loaded, and
//! the next who changes anything removes it. Who changes something holds the lock of the list of
//! plugins; this module does not.

use std::{
    collections::BTreeMap,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::{
    fs::{OFlags, RenameFlags},
    io::Errno,
};

use crate::{Limits, Package, Sha256};

/// The folder that plugins are in.
#[derive(Debug)]
pub struct Store {
    dir: Dir,
    at: PathBuf,
}

/// A package that was written and is not in place yet; afterwards, what was there before. Dropped, it is removed.
#[derive(Debug)]
pub struct Staged {
    dir: Dir,
    name: String,
}

/// Why a package is not in place, or not what it was.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Others could change what lies there.
    #[error("{} can be written by others than its owner; run `chmod 700` on it", .0.display())]
    Exposed(PathBuf),
    /// The file system cannot swap two folders.
    #[error("{} lies on a file system that cannot swap two folders; remove the plugin first, then install it", .0.display())]
    NoSwap(PathBuf),
    /// What is in place is not what was installed.
    #[error("{0}")]
    Changed(String),
    /// Something failed.
    #[error("{what} in {}: {error}", at.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// Where.
        at: PathBuf,
        /// Why it failed.
        error: io::Error,
    },
}

const STAGING: &str = ".staging-";

impl Store {
    /// Opens the folder, or makes it.
    pub fn open(at: &Path) -> Result<Self, StoreError> {
        let io = |error| StoreError::Io { what: "the folder of plugins cannot be opened", at: at.to_owned(), error };
        Dir::create_ambient_dir_all(at, cap_std::ambient_authority()).map_err(io)?;
        let dir = Dir::open_ambient_dir(at, cap_std::ambient_authority()).map_err(io)?;
        let meta = dir.dir_metadata().map_err(io)?;
        let own = rustix::process::geteuid().as_raw();
        if meta.mode() & 0o022 != 0 || ![own, 0].contains(&meta.uid()) {
            return Err(StoreError::Exposed(at.to_owned()));
        }
        Ok(Self { dir, at: at.to_owned() })
    }

    /// Writes a package aside. When this returns it will outlive a crash.
    pub fn stage(&self, package: &Package) -> Result<Staged, StoreError> {
        let staged = self.aside().map_err(|error| self.io("a package cannot be written", error))?;
        self.fill(&staged.name, package).map_err(|error| self.io("a package cannot be written", error))?;
        Ok(staged)
    }

    fn aside(&self) -> io::Result<Staged> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        let name = format!("{STAGING}{:032x}", u128::from_le_bytes(bytes));
        self.dir.create_dir_with(&name, DirBuilder::new().mode(0o700))?;
        Ok(Staged { dir: self.dir.try_clone()?, name })
    }

    fn fill(&self, name: &str, package: &Package) -> io::Result<()> {
        let root = self.dir.open_dir(name)?;
        let mut folders: Vec<&str> = Vec::new();
        for (path, bytes) in package.files() {
            for folder in path.folders() {
                if !folders.contains(&folder) {
                    root.create_dir_with(folder, DirBuilder::new().mode(0o700))?;
                    folders.push(folder);
                }
            }
            // A script can be run by whoever may run programs; nothing else can be run at all.
            let mode = if bytes.starts_with(b"#!") { 0o700 } else { 0o600 };
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(mode);
            let mut file = root.open_with(path.as_str(), &options)?;
            file.write_all(bytes)?;
            file.sync_all()?;
        }
        for folder in folders {
            sync(&root.open_dir(folder)?)?;
        }
        sync(&root)
    }

    /// Whether something is called so.
    pub fn has(&self, name: &str) -> bool {
        self.dir.symlink_metadata(name).is_ok()
    }

    /// Puts a package in its place. What was there is handed back and removed when it is dropped: until then nothing
    /// of it is lost.
    pub fn put(&self, staged: Staged, name: &str) -> Result<Staged, StoreError> {
        let flags = if self.has(name) { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        match rustix::fs::renameat_with(&self.dir, &staged.name, &self.dir, name, flags) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS) => return Err(StoreError::NoSwap(self.at.clone())),
            Err(error) => return Err(self.io("a package cannot be put in its place", error.into())),
        }
        sync(&self.dir).map_err(|error| self.io("a package cannot be made durable", error))?;
        Ok(staged)
    }

    /// Takes a plugin away; it is removed when what is handed back is dropped.
    pub fn take_away(&self, name: &str) -> Result<Staged, StoreError> {
        let failed = |error| self.io("a plugin cannot be removed", error);
        let staged = self.aside().map_err(failed)?;
        // An empty folder gives way to another one.
        self.dir.rename(name, &self.dir, &staged.name).map_err(failed)?;
        sync(&self.dir).map_err(failed)?;
        Ok(staged)
    }

    /// Removes what a crash left behind.
    pub fn sweep(&self) {
        let names = self.dir.entries().into_iter().flatten().flatten();
        for name in names.filter_map(|entry| entry.file_name().into_string().ok()) {
            if name.starts_with(STAGING) {
                // It is nobody's plugin, so that it is still there harms nobody.
                drop(self.dir.remove_dir_all(&name));
            }
        }
    }

    /// Compares what is in place with what was installed: every file, whole, and no other.
    pub fn verify(&self, name: &str, pins: &BTreeMap<String, Sha256>) -> Result<(), StoreError> {
        let failed = |error| self.io("a plugin cannot be read", error);
        let root = open_folder(&self.dir, name).map_err(failed)?;
        let mut found = Vec::new();
        list(&root, "", &mut found, 0).map_err(failed)?;
        for path in &found {
            let changed = |what: &str| StoreError::Changed(format!("{name}/{path} {what}"));
            let Some(pin) = pins.get(path) else { return Err(changed("was not installed with it")) };
            let bytes = read(&root, path).map_err(|_| changed("cannot be read"))?;
            if Sha256::of(&bytes) != *pin {
                return Err(changed("is not what was installed"));
            }
        }
        match pins.keys().find(|path| !found.contains(path)) {
            Some(path) => Err(StoreError::Changed(format!("{name}/{path} is no longer there"))),
            None => Ok(()),
        }
    }

    /// What is in place, as a package: for what is said about it, not to be believed.
    pub fn open_package(&self, name: &str) -> Result<Package, crate::PackageError> {
        Package::of_folder(&self.at.join(name))
    }

    fn io(&self, what: &'static str, error: io::Error) -> StoreError {
        StoreError::Io { what, at: self.at.clone(), error }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        drop(self.dir.remove_dir_all(&self.name));
    }
}

/// Every file below a folder; a link is listed as if it were one, so that it is noticed.
fn list(dir: &Dir, below: &str, found: &mut Vec<String>, depth: usize) -> io::Result<()> {
    for entry in dir.entries()? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|_| io::Error::other("a name is no text"))?;
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if found.len() > Limits::PLUGIN.entries || depth > Limits::PLUGIN.depth {
            return Err(io::Error::other("there is more in it than a package holds"));
        }
        match entry.file_type()?.is_dir() {
            true => list(&open_folder(dir, &name)?, &path, found, depth + 1)?,
            false => found.push(path),
        }
    }
    Ok(())
}

fn open_folder(dir: &Dir, name: &str) -> io::Result<Dir> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((OFlags::NOFOLLOW | OFlags::DIRECTORY).bits().cast_signed());
    Ok(Dir::from_std_file(dir.open_with(name, &options)?.into_std()))
}

fn read(dir: &Dir, path: &str) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    let mut bytes = Vec::new();
    dir.open_with(path, &options)?.take(Limits::PLUGIN.file + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A handle to look names up by cannot be made durable, so that it is opened once more.
fn sync(dir: &Dir) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::fsync(rustix::fs::openat(dir, ".", flags, rustix::fs::Mode::empty())?)?)
}
