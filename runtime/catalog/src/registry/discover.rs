//! Which files of a folder might be definitions. Nothing is opened but folders.

use std::{ffi::OsString, io, path::Path};

use cap_std::fs::{Dir, DirEntry};

use super::read::{ReadError, Stamp};
use crate::definition::Notice;

/// How deep folders are followed.
const MAX_DEPTH: usize = 8;

/// How many entries a tree of definitions may have. Somebody's whole disk is no such tree, and
/// looking through it would only keep us busy.
const MAX_ENTRIES: usize = 20_000;

/// A file that might be a definition.
pub(super) struct Seen {
    /// Below the folder, with `/`.
    pub(super) relative: String,
    pub(super) format: Format,
    pub(super) stamp: Stamp,
}

/// How a definition is written, by the ending of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Markdown,
    Yaml,
}

/// Lists the files of a tree that might be definitions, by path.
///
/// Hidden files and folders, other endings and whatever is not a file are passed over in silence. A
/// link to a file counts if it stays inside the tree. A link to a folder never does: inside the tree
/// the folder is visited anyway, by its real name and once.
pub(super) fn walk(root: &Dir, at: &Path, notices: &mut Vec<Notice>) -> Vec<Seen> {
    let mut walk = Walk { root, at, notices, seen: Vec::new(), entries: 0 };
    match walk.visit(root, "", 0) {
        Ok(()) => {
            let mut seen = walk.seen;
            seen.sort_by(|a, b| a.relative.cmp(&b.relative));
            seen
        }
        // Which part of a listing comes first is chance, so a part of the tree is not loaded either.
        Err(TooMany) => {
            let message = format!(
                "Failed to read agent directory: it has more than {MAX_ENTRIES} entries; nothing of it was loaded"
            );
            notices.push(Notice::error(at.display().to_string(), message));
            Vec::new()
        }
    }
}

struct TooMany;

struct Walk<'a> {
    root: &'a Dir,
    at: &'a Path,
    notices: &'a mut Vec<Notice>,
    seen: Vec<Seen>,
    entries: usize,
}

impl Walk<'_> {
    fn visit(&mut self, dir: &Dir, prefix: &str, depth: usize) -> Result<(), TooMany> {
        let entries = match dir.entries() {
            Ok(entries) => entries,
            Err(error) => {
                self.warn(prefix, format!("Failed to read agent directory: {error}"));
                return Ok(());
            }
        };
        let mut folders: Vec<(String, DirEntry)> = Vec::new();
        for entry in entries {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(TooMany);
            }
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.warn(prefix, format!("Failed to read agent directory: {error}"));
                    return Ok(());
                }
            };
            let Some(relative) = self.relative(prefix, entry.file_name()) else { continue };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push((relative, entry)),
                Ok(kind) if kind.is_symlink() => self.see_link(relative),
                Ok(kind) if kind.is_file() => self.see(relative, entry.metadata()),
                Ok(_) => {}
                Err(error) => self.see(relative, Err(error)),
            }
        }
        folders.sort_by(|a, b| a.0.cmp(&b.0));
        for (relative, entry) in folders {
            if depth == MAX_DEPTH {
                let message = format!("Failed to read agent directory: it lies more than {MAX_DEPTH} folders deep");
                self.warn(&relative, message);
                continue;
            }
            match entry.open_dir() {
                Ok(dir) => self.visit(&dir, &relative, depth + 1)?,
                Err(error) => {
                    self.warn(&relative, format!("Failed to read agent directory: {}", ReadError::from(error)));
                }
            }
        }
        Ok(())
    }

    /// The path below the tree, unless the name is hidden or not text.
    fn relative(&mut self, prefix: &str, name: OsString) -> Option<String> {
        if name.as_encoded_bytes().starts_with(b".") {
            return None;
        }
        match name.into_string() {
            Ok(name) if prefix.is_empty() => Some(name),
            Ok(name) => Some(format!("{prefix}/{name}")),
            Err(name) => {
                let message = format!("Failed to read agent file: the name {name:?} is not valid text");
                self.warn(prefix, message);
                None
            }
        }
    }

    fn see(&mut self, relative: String, meta: io::Result<cap_std::fs::Metadata>) {
        let Some(format) = Format::of(&relative) else { return };
        match meta {
            Ok(meta) => self.seen.push(Seen { relative, format, stamp: Stamp::of(&meta) }),
            Err(error) => self.warn(&relative, format!("Failed to read agent file: {error}")),
        }
    }

    /// Asks where a link leads, from the root of the tree, so that it may go up inside of it.
    fn see_link(&mut self, relative: String) {
        match self.root.metadata(&relative) {
            Ok(meta) if meta.is_file() => self.see(relative, Ok(meta)),
            Ok(_) => {}
            Err(error) => match ReadError::from(error) {
                error if error.is_missing() && Format::of(&relative).is_none() => {}
                error => self.warn(&relative, format!("Failed to read agent file: the link was not followed: {error}")),
            },
        }
    }

    fn warn(&mut self, relative: &str, message: String) {
        let file = self.at.join(relative).display().to_string();
        self.notices.push(Notice::warning(file, message));
    }
}

impl Format {
    pub(super) fn of(path: &str) -> Option<Self> {
        match Path::new(path).extension()?.to_str()? {
            "md" => Some(Self::Markdown),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }
}
