//! What else lies in the folder of a skill.

use cap_std::fs::Dir;

use super::{FoundSkill, SKILL_FILE};
use crate::registry::read::{self, ReadError};

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFile {
    /// Below the skill's folder, with `/`.
    pub path: String,
    /// In bytes.
    pub size: u64,
}

/// How many files of a skill are listed.
const MAX_FILES: usize = 200;

/// How deep they are looked for.
const MAX_DEPTH: usize = 4;

/// How many entries are looked at: a skill that brings thousands is no text about how something is done.
const MAX_ENTRIES: usize = 2000;

impl FoundSkill {
    /// The files beside its `SKILL.md`, by path; hidden ones and links are none.
    pub fn files(&self) -> Vec<SkillFile> {
        let mut listing = Listing { files: Vec::new(), entries: 0 };
        if let Some(folder) = &self.folder {
            listing.visit(folder, "", 0);
        }
        listing.files.sort_by(|a, b| a.path.cmp(&b.path));
        listing.files.truncate(MAX_FILES);
        listing.files
    }

    /// The text of one of them. No link is followed on the way to it.
    pub(crate) fn file(&self, path: &str) -> Result<String, String> {
        let unreadable = |error: ReadError| match error {
            error if error.is_missing() => format!("the skill `{}` has no file `{path}`", self.name),
            error => format!("the file `{path}` of the skill `{}` cannot be read: {error}", self.name),
        };
        let folder = self.folder.as_ref().ok_or_else(|| format!("the folder of `{}` cannot be opened", self.name))?;
        let inside = read::inside(path).map_err(unreadable)?;
        let contents = read::read_unlinked(folder, &inside).map_err(unreadable)?;
        String::from_utf8(contents.bytes).map_err(|_| format!("`{path}` is no text"))
    }
}

struct Listing {
    files: Vec<SkillFile>,
    entries: usize,
}

impl Listing {
    /// What cannot be listed is left out: it could not be read either.
    fn visit(&mut self, dir: &Dir, prefix: &str, depth: usize) {
        for entry in dir.entries().into_iter().flatten().flatten() {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return;
            }
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with('.') || depth == 0 && name == SKILL_FILE {
                continue;
            }
            let path = format!("{prefix}{name}");
            match entry.metadata() {
                Ok(meta) if meta.is_file() => self.files.push(SkillFile { path, size: meta.len() }),
                Ok(meta) if meta.is_dir() && depth < MAX_DEPTH => {
                    if let Ok(dir) = entry.open_dir() {
                        self.visit(&dir, &format!("{path}/"), depth + 1);
                    }
                }
                _ => {}
            }
        }
    }
}
