//! A folder becomes a package. It is opened once, and no link in it is followed.

use std::{io::Read as _, path::Path};

use cap_std::fs::{Dir, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;

use crate::{
    Limits, Package, PackageError, PackagePath,
    package::{Collected, MANIFEST},
};

impl Package {
    /// Reads a folder with a `plugin.json`.
    pub fn of_folder(at: &Path) -> Result<Self, PackageError> {
        Self::of_folder_within(at, Limits::PLUGIN)
    }

    pub(crate) fn of_folder_within(at: &Path, limits: Limits) -> Result<Self, PackageError> {
        let io = |error| PackageError::Io { path: at.to_owned(), error };
        let dir = Dir::open_ambient_dir(at, cap_std::ambient_authority()).map_err(io)?;
        // Before a large folder that is something else is read.
        if !dir.symlink_metadata(MANIFEST).is_ok_and(|meta| meta.is_file()) {
            return Err(PackageError::NoManifest(at.display().to_string()));
        }
        let mut walk = Walk { at, collected: Collected::new(limits), entries: 0 };
        walk.folder(&dir, "")?;
        walk.collected.finish(&at.display().to_string())
    }
}

struct Walk<'a> {
    at: &'a Path,
    collected: Collected,
    entries: usize,
}

impl Walk<'_> {
    fn folder(&mut self, dir: &Dir, below: &str) -> Result<(), PackageError> {
        let io = |error| PackageError::Io { path: self.at.join(below), error };
        let mut names = dir
            .entries()
            .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect::<Result<Vec<_>, _>>())
            .map_err(io)?;
        names.sort();
        for name in names {
            self.entries += 1;
            if self.entries > self.collected.limits().entries {
                let most = self.collected.limits().entries;
                return Err(PackageError::TooLarge(format!("more than {most} files and folders")));
            }
            let mut path = below.as_bytes().to_vec();
            if !below.is_empty() {
                path.push(b'/');
            }
            path.extend(name.as_encoded_bytes());
            let path = PackagePath::parse(&path, self.collected.limits())?;
            if path.is_left_out() {
                self.collected.leave_out(&path);
                continue;
            }
            self.entry(dir, &name, path)?;
        }
        Ok(())
    }

    fn entry(&mut self, dir: &Dir, name: &std::ffi::OsStr, path: PackagePath) -> Result<(), PackageError> {
        let io = |error| PackageError::Io { path: self.at.join(path.as_str()), error };
        let not_plain = |what| PackageError::NotPlain { path: path.to_string(), what };
        let meta = dir.symlink_metadata(name).map_err(io)?;
        if meta.is_symlink() {
            return Err(not_plain("a link"));
        }
        if meta.is_dir() {
            let flags = OFlags::NOFOLLOW | OFlags::DIRECTORY;
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(flags.bits().cast_signed());
            let folder = dir.open_with(name, &options).map_err(io)?;
            return self.folder(&Dir::from_std_file(folder.into_std()), path.as_str());
        }
        if !meta.is_file() {
            return Err(not_plain("neither a file nor a folder"));
        }
        let mut options = OpenOptions::new();
        options.read(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
        let mut file = dir.open_with(name, &options).map_err(io)?;
        // What was opened counts, not what was listed.
        let meta = file.metadata().map_err(io)?;
        if !meta.is_file() {
            return Err(not_plain("neither a file nor a folder"));
        }
        if meta.mode() & 0o6000 != 0 {
            return Err(not_plain("a file that runs as somebody else (setuid or setgid)"));
        }
        let room = self.collected.room();
        let mut bytes = Vec::new();
        file.by_ref().take(room + 1).read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() as u64 > room {
            return Err(self.collected.too_large(path.as_str()));
        }
        self.collected.add(path, bytes)
    }
}
