//! What a `Read(…)` or `Edit(…)` rule says about one path.

use std::{cmp, fmt, hash};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::WorkspacePath;

/// A pattern for paths, read as `.gitignore` reads them.
///
/// `*` and `?` stop at `/`, `**` does not, `[…]` is a class. A pattern without a slash is looked
/// for at any depth; one with a slash, `./x` or `/x` begins at the workspace. What fits also covers
/// everything below it. `//x` is a path of the host and `~/x` one of the user's home; no path
/// inside the workspace fits those, and no other pattern allows one outside.
#[derive(Clone)]
pub struct PathPattern {
    text: String,
    body: String,
    root: Root,
    exact: GlobSet,
    any_case: GlobSet,
}

/// Where a pattern begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    AnyFolder,
    Workspace,
    Host,
    Home,
}

/// A path that a call names, brought into one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallPath {
    /// Inside the workspace; the workspace itself is empty.
    Inside(String),
    /// Goes up and out of the workspace; what is left without the leading `..`.
    Leaving(String),
    /// Begins at the host's root, without the slash.
    Absolute(String),
    /// Begins at the user's home, without `~/`.
    Home(String),
    /// No path at all.
    Unreadable,
}

/// Why a text is no path pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPathPattern {
    /// There is nothing in it.
    #[error("a path rule is empty; write a path, or `**` for all")]
    Empty,
    /// It goes up.
    #[error("`..` in a path rule fits nothing, because paths are resolved first; name the folder itself")]
    Parent,
    /// It is a negation.
    #[error("a path rule cannot begin with `!`; put it into the opposite list")]
    Negation,
    /// A class has no end, or the like.
    #[error("the path pattern cannot be read: {0}")]
    Glob(String),
}

impl PathPattern {
    /// Parses a pattern.
    pub fn parse(text: &str) -> Result<Self, BadPathPattern> {
        let written = text.trim().replace('\\', "/");
        if written.is_empty() {
            return Err(BadPathPattern::Empty);
        }
        if written.starts_with('!') {
            return Err(BadPathPattern::Negation);
        }
        let (root, rest) = if let Some(rest) = written.strip_prefix("//") {
            (Root::Host, rest)
        } else if let Some(rest) = written.strip_prefix("~/") {
            (Root::Home, rest)
        } else if written == "." || written.trim_end_matches('/').contains('/') {
            (Root::Workspace, written.as_str())
        } else {
            (Root::AnyFolder, written.as_str())
        };
        let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return Err(BadPathPattern::Parent);
        }
        let body = parts.join("/");
        let exact = globs(&body, root, Case::Counts)?;
        let any_case = globs(&body, root, Case::Ignored)?;
        Ok(Self { text: text.trim().to_owned(), body, root, exact, any_case })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a path fits, upper and lower case being different. The path is resolved first; one
    /// that leaves the workspace fits only a pattern that begins with `//` or `~/`.
    pub fn matches(&self, path: &str) -> bool {
        self.allows(&CallPath::parse(path))
    }

    /// The deepest folder of the workspace that holds everything that fits; `.` if it is the
    /// workspace itself, empty for patterns that fit nothing in it.
    pub fn literal_prefix(&self) -> String {
        match self.root {
            Root::AnyFolder => ".".to_owned(),
            Root::Host | Root::Home => String::new(),
            Root::Workspace => {
                let parts: Vec<&str> = self.body.split('/').collect();
                let plain = parts.iter().take_while(|part| !part.contains(['*', '?', '['])).count();
                // The last part may be a file.
                let folders = if plain == parts.len() && !self.text.ends_with('/') { plain - 1 } else { plain };
                match parts.get(..folders).unwrap_or_default().join("/") {
                    folder if folder.is_empty() => ".".to_owned(),
                    folder => folder,
                }
            }
        }
    }

    /// Whether the pattern says no more than "everything below [`Self::literal_prefix`]".
    pub fn is_folder_tree(&self) -> bool {
        if self.is_universal() {
            return true;
        }
        let tree = self.body.strip_suffix("/**").or(self.text.ends_with('/').then_some(self.body.as_str()));
        self.root == Root::Workspace && tree.is_some_and(|folder| !folder.contains(['*', '?', '[']))
    }

    /// The same pattern, written so that nobody takes it for the name of a folder: `Cargo.lock` becomes
    /// `**/Cargo.lock`, `docs/a.md` becomes `docs/a.md/**`.
    pub(crate) fn unlike_a_folder(self) -> Self {
        if self.text.contains(['*', '?', '[']) {
            return self;
        }
        let text = match self.root {
            Root::AnyFolder => format!("**/{}", self.body),
            Root::Workspace | Root::Host | Root::Home => format!("{}/**", self.text.trim_end_matches('/')),
        };
        Self::parse(&text).unwrap_or(self)
    }

    /// Whether every path inside the workspace fits.
    pub fn is_universal(&self) -> bool {
        match self.root {
            Root::AnyFolder | Root::Workspace => matches!(self.body.as_str(), "" | "*" | "**" | "**/*" | "**/**"),
            Root::Host | Root::Home => false,
        }
    }

    /// Whether a path is meant, whatever its case.
    pub fn covers(&self, path: &WorkspacePath) -> bool {
        self.denies(&CallPath::Inside(path.as_str().to_owned()))
    }

    /// Whether the pattern could fit something below a folder because of where the folder lies. One
    /// that is looked for at any depth fits the same names elsewhere.
    pub fn may_cover_below(&self, folder: &WorkspacePath) -> bool {
        // Whatever its case, as in `covers`.
        let lower = |path: &str| WorkspacePath::parse(&path.to_lowercase()).unwrap_or_default();
        let (prefix, folder) = (lower(&self.literal_prefix()), lower(folder.as_str()));
        self.root == Root::Workspace && (prefix.is_within(&folder) || folder.is_within(&prefix))
    }

    pub(crate) fn allows(&self, path: &CallPath) -> bool {
        match (self.root, path) {
            (Root::AnyFolder | Root::Workspace, CallPath::Inside(path))
            | (Root::Host, CallPath::Absolute(path))
            | (Root::Home, CallPath::Home(path)) => self.is_universal() || self.exact.is_match(path),
            _ => false,
        }
    }

    /// Whether a path is meant, whatever its case: some file systems take `.ENV` for `.env`. A path
    /// from outside may well lead into the workspace, so each of its endings counts.
    pub(crate) fn denies(&self, path: &CallPath) -> bool {
        match (self.root, path) {
            (_, CallPath::Unreadable) => true,
            (Root::Host, CallPath::Absolute(path)) | (Root::Home, CallPath::Home(path)) => self.any_case.is_match(path),
            (Root::Host | Root::Home, _) => false,
            (_, CallPath::Inside(path)) => self.is_universal() || self.any_case.is_match(path),
            (_, CallPath::Leaving(path) | CallPath::Absolute(path) | CallPath::Home(path)) => {
                self.is_universal()
                    || self.any_case.is_match(path)
                    || path.match_indices('/').any(|(slash, _)| self.any_case.is_match(&path[slash + 1..]))
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Counts,
    Ignored,
}

fn globs(body: &str, root: Root, case: Case) -> Result<GlobSet, BadPathPattern> {
    let mut set = GlobSetBuilder::new();
    // `{a,b}` means itself in a `.gitignore`.
    let body = body.replace('{', "[{]").replace('}', "[}]");
    let tree = body.strip_suffix("/**").unwrap_or(&body);
    let depths: &[&str] = if root == Root::AnyFolder { &["", "**/"] } else { &[""] };
    for depth in depths {
        for glob in [format!("{depth}{tree}"), format!("{depth}{tree}/**")] {
            let glob = GlobBuilder::new(&glob)
                .literal_separator(true)
                .backslash_escape(false)
                .case_insensitive(case == Case::Ignored)
                .build()
                .map_err(|error| BadPathPattern::Glob(error.kind().to_string()))?;
            set.add(glob);
        }
    }
    set.build().map_err(|error| BadPathPattern::Glob(error.kind().to_string()))
}

/// Linux takes no longer ones.
const MAX_PATH: usize = 4096;

impl CallPath {
    /// Resolves `.`, `..` and doubled slashes in the text alone; links are the sandbox's matter.
    pub(crate) fn parse(text: &str) -> Self {
        if text.len() > MAX_PATH || text.contains('\0') {
            return Self::Unreadable;
        }
        let text = text.replace('\\', "/");
        let drive = text.as_bytes().get(1) == Some(&b':') && text.starts_with(|c: char| c.is_ascii_alphabetic());
        let (mut parts, mut leaves) = (Vec::new(), false);
        for part in text.split('/').filter(|part| !part.is_empty() && *part != ".") {
            if part != ".." {
                parts.push(part);
            } else if parts.pop().is_none() {
                leaves = true;
            }
        }
        let joined = parts.join("/");
        if text.starts_with('/') || drive {
            Self::Absolute(joined)
        } else if leaves {
            Self::Leaving(joined)
        } else if text == "~" || text.starts_with("~/") {
            Self::Home(joined.strip_prefix('~').unwrap_or(&joined).trim_start_matches('/').to_owned())
        } else if text.starts_with('~') {
            Self::Leaving(joined)
        } else {
            Self::Inside(joined)
        }
    }

    /// Whether it is no path inside the workspace.
    pub(crate) fn is_outside(&self) -> bool {
        !matches!(self, Self::Inside(_))
    }
}

impl PartialEq for PathPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PathPattern {}

impl hash::Hash for PathPattern {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialOrd for PathPattern {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PathPattern {
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PathPattern").field(&self.text).finish()
    }
}
