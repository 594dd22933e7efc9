//! Which folders of the workspace may be read, which may be changed, and what in them is kept back.
#![expect(clippy::mutable_key_type, reason = "patterns are ordered by their text, which does not change")]

mod written;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{Capability, Denial, PathPattern, WorkspacePath};

/// What may be done with a folder. Without any access a folder is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Look at it.
    Read,
    /// Look at it and change it.
    ReadWrite,
}

/// The granted folders. The longest path that a request lies in decides, so `{".": read-write,
/// "vendor": read}` protects `vendor` and `{".": read, "out": read-write}` opens `out`.
///
/// Beside them, patterns that take away wherever they fit: `{"*.lock": read}` keeps from being
/// changed, `{".env": none}` hides, as if nothing were there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilesGrant {
    folders: BTreeMap<WorkspacePath, Access>,
    frozen: BTreeSet<PathPattern>,
    hidden: BTreeSet<PathPattern>,
}

/// A place that a grant lets be changed. Only [`FilesGrant::permit_write`] and
/// [`FilesGrant::permit_move`] make one.
#[derive(Debug, PartialEq, Eq)]
pub struct PermittedWrite(WorkspacePath);

/// Names that carry authority over what runs later: version control hooks and settings, agent
/// definitions, plugins and policies. Whoever could write them could raise its own rights, so they
/// are read-only at any depth and whether or not they exist yet.
const PROTECTED: [&str; 13] = [
    ".git",
    ".palisade",
    ".claude",
    ".acai",
    ".opencode",
    ".codex",
    ".gemini",
    ".cursor",
    ".vscode",
    ".mcp.json",
    ".envrc",
    ".gitmodules",
    "plugin.json",
];

impl FilesGrant {
    /// Grants the given folders.
    pub fn new(folders: impl IntoIterator<Item = (WorkspacePath, Access)>) -> Self {
        let folders = folders.into_iter().collect();
        Self { folders, ..Self::default() }.without_repetition()
    }

    /// The same, with what fits these patterns kept from being changed.
    pub fn freezing(mut self, patterns: impl IntoIterator<Item = PathPattern>) -> Self {
        self.frozen.extend(patterns.into_iter().map(PathPattern::unlike_a_folder));
        self.without_repetition()
    }

    /// The same, with what fits these patterns hidden.
    pub fn hiding(mut self, patterns: impl IntoIterator<Item = PathPattern>) -> Self {
        self.hidden.extend(patterns);
        self.without_repetition()
    }

    /// Grants the whole workspace.
    pub fn workspace(access: Access) -> Self {
        Self::new([(WorkspacePath::ROOT, access)])
    }

    /// The granted folders and what may be done with them.
    pub fn folders(&self) -> impl Iterator<Item = (&WorkspacePath, Access)> {
        self.folders.iter().map(|(path, access)| (path, *access))
    }

    /// Whether nothing is granted.
    pub fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// Whether anything may be changed.
    pub fn writes(&self) -> bool {
        self.folders.values().any(|access| *access == Access::ReadWrite)
    }

    /// Whether anything in the granted folders is hidden. If not, what can be opened may be seen.
    pub fn hides_anything(&self) -> bool {
        !self.hidden.is_empty()
    }

    /// Whether a path is hidden. It must be the real one: symbolic links resolved.
    pub fn hides(&self, path: &WorkspacePath) -> bool {
        self.hidden.iter().any(|pattern| pattern.covers(path))
    }

    /// What may be done at a path.
    pub fn access(&self, path: &WorkspacePath) -> Option<Access> {
        let access = self.folder_access(path).filter(|_| !self.hides(path))?;
        Some(if self.frozen.iter().any(|pattern| pattern.covers(path)) { Access::Read } else { access })
    }

    /// What may be done with a folder, whatever is kept back in it.
    pub fn folder_access(&self, path: &WorkspacePath) -> Option<Access> {
        self.folders
            .iter()
            .filter(|(folder, _)| path.is_within(folder))
            .max_by_key(|(folder, _)| folder.as_str().len())
            .map(|(_, access)| *access)
    }

    /// What both allow, at every path.
    pub fn narrow(&self, other: &Self) -> Self {
        let paths = self.folders.keys().chain(other.folders.keys());
        let both = |path: &WorkspacePath| Some(self.folder_access(path)?.min(other.folder_access(path)?));
        let folders = paths.filter_map(|path| Some((path.clone(), both(path)?))).collect();
        let frozen = self.frozen.union(&other.frozen).cloned().collect();
        let hidden = self.hidden.union(&other.hidden).cloned().collect();
        Self { folders, frozen, hidden }.without_repetition()
    }

    /// The same folders, none of them to be changed.
    pub fn read_only(&self) -> Self {
        let folders = self.folders.keys().map(|path| (path.clone(), Access::Read)).collect();
        Self { folders, ..self.clone() }.without_repetition()
    }

    /// Decides whether what lies at `path` may be created, changed or removed. The path must be
    /// the real one: symbolic links resolved.
    pub fn permit_write(&self, path: &WorkspacePath) -> Result<PermittedWrite, Denial> {
        if let Some(name) = path.parts().find(|part| is_protected(part)) {
            return Err(Self::denial(
                path,
                format!("`{name}` decides what runs with the user's rights and is always read-only"),
                "change it yourself, outside of an agent".to_owned(),
            ));
        }
        let kept_back = self.frozen.iter().chain(&self.hidden).find(|pattern| pattern.covers(path));
        if let Some(pattern) = kept_back {
            let rule = format!("`{pattern}` is kept back from this agent");
            return Err(Self::denial(path, rule, "change the rule or the grant that says so".to_owned()));
        }
        match self.folder_access(path) {
            Some(Access::ReadWrite) => Ok(PermittedWrite(path.clone())),
            Some(Access::Read) => Err(Self::denial(
                path,
                "the folder is granted read-only".to_owned(),
                format!(
                    "`grants: {{ files: {{ \"{}\": read-write }} }}` in the agent's definition would allow it",
                    folder_of(path)
                ),
            )),
            None => Err(Self::denial(
                path,
                "the folder is not granted".to_owned(),
                format!(
                    "`grants: {{ files: {{ \"{}\": read-write }} }}` in the agent's definition would allow it",
                    folder_of(path)
                ),
            )),
        }
    }

    /// Decides whether a file, or a folder with all that is in it, may be moved or removed:
    /// everything granted below a folder must be writable too, and no pattern may fit only because
    /// of where the folder lies, or moving the top would open what is inside.
    pub fn permit_move(&self, path: &WorkspacePath, is_folder: bool) -> Result<PermittedWrite, Denial> {
        let permitted = self.permit_write(path)?;
        let mut kept_back = self.frozen.iter().chain(&self.hidden).filter(|_| is_folder);
        if let Some(pattern) = kept_back.find(|pattern| pattern.may_cover_below(path)) {
            let rule = format!("`{pattern}` keeps back what may be inside");
            return Err(Self::denial(path, rule, "move its other contents one by one".to_owned()));
        }
        match self.folders.iter().find(|(folder, access)| folder.is_within(path) && **access == Access::Read) {
            None => Ok(permitted),
            Some((folder, _)) => Err(Self::denial(
                path,
                format!("`{folder}` inside it is granted read-only"),
                "move its other contents one by one".to_owned(),
            )),
        }
    }

    fn denial(path: &WorkspacePath, rule: String, remedy: String) -> Denial {
        Denial { capability: Capability::FsWrite, asked: format!("writing {path}"), rule, remedy }
    }

    /// Drops folders that say no more than the folder around them, so that equal rights are equal
    /// values.
    fn without_repetition(self) -> Self {
        let says_more = |path: &WorkspacePath, access: Access| {
            self.folders
                .iter()
                .filter(|(folder, _)| *folder != path && path.is_within(folder))
                .max_by_key(|(folder, _)| folder.as_str().len())
                .is_none_or(|(_, around)| *around != access)
        };
        let folders = self.folders.iter().filter(|(path, access)| says_more(path, **access) && !self.hides(path));
        let folders: BTreeMap<_, _> = folders.map(|(path, access)| (path.clone(), *access)).collect();
        // Where nothing is granted nothing is kept back, and what is hidden need not be frozen.
        let hidden = if folders.is_empty() { BTreeSet::new() } else { self.hidden };
        let writes = folders.values().any(|access| *access == Access::ReadWrite);
        let frozen = if writes { self.frozen.difference(&hidden).cloned().collect() } else { BTreeSet::new() };
        Self { folders, frozen, hidden }
    }
}

impl PermittedWrite {
    /// The real path, relative to the workspace.
    pub fn path(&self) -> &WorkspacePath {
        &self.0
    }
}

/// Compares without case, because some file systems do.
fn is_protected(name: &str) -> bool {
    PROTECTED.iter().any(|protected| name.eq_ignore_ascii_case(protected))
}

fn folder_of(path: &WorkspacePath) -> &str {
    path.as_str().rsplit_once('/').map_or(".", |(folder, _)| folder)
}

#[cfg(test)]
mod tests;
