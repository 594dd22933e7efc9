//! From granted folders to the places that Landlock is told about.
//!
//! Landlock opens whole trees and takes nothing back below. A grant does take back: names that are
//! protected, patterns that are hidden or frozen, a folder that is read-only inside of one that is
//! not. So the tree is walked, and what is opened are the largest parts of it that hold nothing to
//! be kept back. A folder with something hidden in it cannot be listed, its other contents can be
//! read by name.
//!
//! Nothing can be said about names that are not there yet, and those that are protected must not
//! appear either. So a program changes the files that are there; it makes, moves and removes files only in
//! its scratch folder.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use palisade_grants::{Access, FilesGrant, WorkspacePath};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

/// What is opened of a workspace, by path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Carved {
    /// May be read, with all that is below.
    pub(super) read: Vec<WorkspacePath>,
    /// May be changed, with all that is below.
    pub(super) write: Vec<WorkspacePath>,
}

/// A tree with more entries is not walked for each call.
const MAX_ENTRIES: usize = 400_000;
const MAX_DEPTH: usize = 200;
const MAX_PLACES: usize = 20_000;

/// A part of the tree that was looked at.
#[derive(Clone, Copy)]
struct Whole {
    read: bool,
    write: bool,
}

struct Walk<'a> {
    grant: &'a FilesGrant,
    carved: Carved,
    left: usize,
}

/// Finds what may be opened. `Err` says in words why the tree cannot be carved.
pub(super) fn carve(root: impl AsFd, grant: &FilesGrant) -> Result<Carved, String> {
    let mut walk = Walk { grant, carved: Carved::default(), left: MAX_ENTRIES };
    let outermost = |path: &WorkspacePath| grant.folders().all(|(other, _)| other == path || !path.is_within(other));
    for (path, _) in grant.folders().filter(|(path, _)| outermost(path)) {
        if !grant.writes() && !grant.hides_anything() {
            walk.carved.read.push(path.clone());
            continue;
        }
        let folder = match open_real(root.as_fd(), path, OFlags::RDONLY | OFlags::DIRECTORY) {
            Ok(folder) => folder,
            // It is not there, so nothing of it can be had.
            Err(_) => continue,
        };
        let whole = walk.visit(folder, path, 0)?;
        walk.keep(path, whole, Whole { read: false, write: false });
    }
    Ok(walk.carved)
}

impl Walk<'_> {
    /// Looks at a folder. What is not whole in it has been kept when this returns.
    fn visit(&mut self, folder: OwnedFd, path: &WorkspacePath, depth: usize) -> Result<Whole, String> {
        let mut whole = self.alone(path);
        let Ok(entries) = rustix::fs::Dir::read_from(&folder) else {
            return Ok(Whole { read: false, write: false });
        };
        let mut inner = Vec::new();
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().to_str() else {
                // A name that no pattern can be compared with is not handed out.
                whole = Whole { read: whole.read && !self.grant.hides_anything(), write: false };
                continue;
            };
            if name == "." || name == ".." {
                continue;
            }
            self.left = self.left.checked_sub(1).ok_or_else(too_large)?;
            let Some(below) = below(path, name) else {
                whole = Whole { read: whole.read && !self.grant.hides_anything(), write: false };
                continue;
            };
            let kind = kind(&folder, &entry);
            let part = match kind {
                FileType::Directory if depth < MAX_DEPTH => {
                    match rustix::fs::openat(&folder, entry.file_name(), FOLDER, Mode::empty()) {
                        Ok(folder) => self.visit(folder, &below, depth + 1)?,
                        Err(_) => Whole { read: false, write: false },
                    }
                }
                FileType::Directory => Whole { read: false, write: false },
                // Where a link leads is decided there; with nothing to be kept back here it is no obstacle.
                FileType::Symlink => Whole { read: true, write: true },
                _ => self.alone(&below),
            };
            whole = Whole { read: whole.read && part.read, write: whole.write && part.write };
            if kind != FileType::Symlink {
                inner.push((below, part));
            }
        }
        for (path, part) in inner {
            self.keep(&path, part, whole);
        }
        if self.carved.read.len() + self.carved.write.len() > MAX_PLACES {
            return Err(too_large());
        }
        Ok(whole)
    }

    /// What a place says of itself, without what is below it.
    fn alone(&self, path: &WorkspacePath) -> Whole {
        let write = self.grant.access(path) == Some(Access::ReadWrite) && self.grant.permit_write(path).is_ok();
        Whole { read: self.grant.access(path).is_some(), write }
    }

    /// Keeps a part, as far as what is around it does not hold it already.
    fn keep(&mut self, path: &WorkspacePath, part: Whole, around: Whole) {
        if part.read && !around.read {
            self.carved.read.push(path.clone());
        }
        if part.write && !around.write {
            self.carved.write.push(path.clone());
        }
    }
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn too_large() -> String {
    "the workspace is too large to find out for each call what in it is kept back; grant smaller folders".to_owned()
}

fn below(path: &WorkspacePath, name: &str) -> Option<WorkspacePath> {
    WorkspacePath::parse(format!("{}/{name}", path.as_str()).trim_start_matches('/')).ok()
}

/// Not every file system says what an entry is.
fn kind(folder: &OwnedFd, entry: &rustix::fs::DirEntry) -> FileType {
    match entry.file_type() {
        FileType::Unknown => {
            let stat = rustix::fs::statat(folder, entry.file_name(), rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
            stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
        }
        kind => kind,
    }
}

/// Opens what really lies at a path of the workspace: no link on the way.
pub(super) fn open_real(root: impl AsFd, path: &WorkspacePath, flags: OFlags) -> io::Result<OwnedFd> {
    let name = if path.is_root() { "." } else { path.as_str() };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(root, name, flags | OFlags::CLOEXEC, Mode::empty(), resolve)?)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test looks at its own folder")]
mod tests {
    use std::fs;

    use palisade_grants::PathPattern;

    use super::*;

    fn tree(paths: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for path in paths {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    fn carved(folder: &tempfile::TempDir, grant: &FilesGrant) -> (Vec<String>, Vec<String>) {
        let root = rustix::fs::open(folder.path(), FOLDER, Mode::empty()).unwrap();
        let Carved { read, write } = carve(root, grant).unwrap();
        let texts = |paths: Vec<WorkspacePath>| {
            let mut texts: Vec<String> = paths.iter().map(|path| path.as_str().to_owned()).collect();
            texts.sort();
            texts
        };
        (texts(read), texts(write))
    }

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::parse(text).unwrap()
    }

    #[test]
    fn a_read_only_workspace_is_opened_as_a_whole() {
        let folder = tree(&["a", ".git/config"]);
        assert_eq!(carved(&folder, &FilesGrant::workspace(Access::Read)), (vec![String::new()], vec![]));
    }

    #[test]
    fn what_is_protected_is_never_in_a_part_that_may_be_changed() {
        let folder = tree(&["a", "src/b", "src/deep/c", "lib/.envrc", "lib/d", ".git/hooks/x"]);
        let (read, write) = carved(&folder, &FilesGrant::workspace(Access::ReadWrite));
        assert_eq!(read, [""]);
        assert_eq!(write, ["a", "lib/d", "src"]);
    }

    #[test]
    fn what_is_hidden_is_never_in_a_part_that_may_be_read() {
        let folder = tree(&["a", "src/b", "src/.env", "src/deep/c"]);
        let hidden = [PathPattern::parse(".env").unwrap()];
        let (read, write) = carved(&folder, &FilesGrant::workspace(Access::Read).hiding(hidden));
        assert_eq!((read, write), (vec!["a".to_owned(), "src/b".to_owned(), "src/deep".to_owned()], vec![]));
    }

    #[test]
    fn folders_inside_of_folders_keep_their_own_access() {
        let folder = tree(&["a", "vendor/b", "out/c", "other/d"]);
        let grant = FilesGrant::new([
            (WorkspacePath::ROOT, Access::ReadWrite),
            (path("vendor"), Access::Read),
            (path("other"), Access::ReadWrite),
        ]);
        assert_eq!(carved(&folder, &grant).1, ["a", "other", "out"]);
        let grant = FilesGrant::new([(WorkspacePath::ROOT, Access::Read), (path("out"), Access::ReadWrite)]);
        assert_eq!(carved(&folder, &grant), (vec![String::new()], vec!["out".to_owned()]));
        let grant = FilesGrant::new([(path("out"), Access::ReadWrite), (path("missing"), Access::Read)]);
        assert_eq!(carved(&folder, &grant), (vec!["out".to_owned()], vec!["out".to_owned()]));
    }
}
