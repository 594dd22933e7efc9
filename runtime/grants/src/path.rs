//! Paths inside the workspace, as a grant or a request names them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A path relative to the workspace, without `.`, `..`, empty parts or a leading slash. The
/// workspace itself is the empty path, written `.`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkspacePath(String);

/// Why a text is no path inside the workspace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// It begins with a slash.
    #[error("`{0}` is absolute; paths are relative to the workspace")]
    Absolute(String),
    /// It goes up.
    #[error("`{0}` contains `..`; paths stay below the workspace")]
    Parent(String),
    /// It holds a byte that no path can hold.
    #[error("the path holds a NUL byte")]
    Nul,
    /// It is longer than any file system takes.
    #[error("the path has {0} bytes; at most {MAX_LENGTH} are possible")]
    TooLong(usize),
}

/// Linux refuses longer paths; refusing them here keeps messages short.
const MAX_LENGTH: usize = 4096;

impl WorkspacePath {
    /// The workspace itself.
    pub const ROOT: Self = Self(String::new());

    /// Parses a relative path; `.` and doubled slashes are dropped, `..` is refused.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        if text.len() > MAX_LENGTH {
            return Err(BadPath::TooLong(text.len()));
        }
        if text.contains('\0') {
            return Err(BadPath::Nul);
        }
        if text.starts_with('/') {
            return Err(BadPath::Absolute(text.to_owned()));
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return Err(BadPath::Parent(text.to_owned()));
        }
        Ok(Self(parts.join("/")))
    }

    /// The path as text; empty for the workspace itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the workspace itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Its parts from the top.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }

    /// Whether `self` is `above` or lies below it. `proj-secret` does not lie below `proj`.
    pub fn is_within(&self, above: &Self) -> bool {
        above.is_root() || self.0.strip_prefix(&above.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

impl TryFrom<String> for WorkspacePath {
    type Error = BadPath;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<WorkspacePath> for String {
    fn from(path: WorkspacePath) -> Self {
        path.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_and_those_that_leave_are_refused() {
        let check = |text: &str, expected: Result<&str, BadPath>| {
            assert_eq!(WorkspacePath::parse(text).map(|path| path.to_string()), expected.map(str::to_owned));
        };
        check(".", Ok("."));
        check("", Ok("."));
        check("./a//b/./c/", Ok("a/b/c"));
        check("/etc", Err(BadPath::Absolute("/etc".to_owned())));
        check("a/../b", Err(BadPath::Parent("a/../b".to_owned())));
        check("..", Err(BadPath::Parent("..".to_owned())));
        check("a\0b", Err(BadPath::Nul));
        check("..a/b..", Ok("..a/b.."));
        check(&"a".repeat(5000), Err(BadPath::TooLong(5000)));
    }

    #[test]
    fn a_sibling_with_the_same_beginning_is_not_within() {
        let path = |text| WorkspacePath::parse(text).unwrap();
        assert!(path("proj/src").is_within(&path("proj")));
        assert!(path("proj").is_within(&path("proj")));
        assert!(path("proj").is_within(&WorkspacePath::ROOT));
        assert!(!path("proj-secret").is_within(&path("proj")));
        assert!(!path("proj").is_within(&path("proj/src")));
    }
}
