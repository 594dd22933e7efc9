//! The path of a file in a package: one way to write each, and none that leads elsewhere.

use std::fmt;

use crate::Limits;

/// The path of a file in a package: relative, with `/`, of plain printable ASCII, without `.` and `..`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackagePath(String);

/// Why a path is none of a package.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// It begins with `/` or a drive.
    #[error("{0} is absolute; a package has relative paths alone")]
    Absolute(String),
    /// It has a step that leads up or nowhere.
    #[error("{0} has an empty step, `.` or `..`; write the path plainly")]
    Steps(String),
    /// It has a character that is read differently in different places.
    #[error("{0} has other characters than letters, digits, blanks and plain punctuation of ASCII; rename it")]
    Characters(String),
    /// It is too long or too deep.
    #[error("{0} is too long or lies too deep")]
    TooLong(String),
}

/// Characters that mean something to a shell or to another system.
const ODD: &[u8] = b"\\:*?\"<>|";

impl PackagePath {
    /// Reads a path.
    pub fn parse(path: &[u8], limits: &Limits) -> Result<Self, BadPath> {
        // What cannot be shown as it is, is shown escaped.
        let shown = || format!("`{}`", path.escape_ascii().to_string().chars().take(120).collect::<String>());
        if path.first() == Some(&b'/') {
            return Err(BadPath::Absolute(shown()));
        }
        if path.len() > limits.path {
            return Err(BadPath::TooLong(shown()));
        }
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !ODD.contains(byte);
        let Some(text) = std::str::from_utf8(path).ok().filter(|_| path.iter().all(is_plain)) else {
            return Err(BadPath::Characters(shown()));
        };
        let steps: Vec<&str> = text.split('/').collect();
        if steps.iter().any(|step| matches!(*step, "" | "." | "..") || step.trim() != *step) {
            return Err(BadPath::Steps(shown()));
        }
        if steps.len() > limits.depth {
            return Err(BadPath::TooLong(shown()));
        }
        Ok(Self(text.to_owned()))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same for systems that do not tell capitals from small letters.
    pub(crate) fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// The folders it lies in, the outermost first.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(at, _)| &self.0[..at])
    }

    /// Whether it is something that packages go without: what is hidden, and what is built or fetched
    /// while a plugin is written.
    pub(crate) fn is_left_out(&self) -> bool {
        self.0.split('/').any(|step| step.starts_with('.') || ["target", "node_modules", "__pycache__"].contains(&step))
    }

    /// The path below a folder, if it lies in it.
    pub(crate) fn below(&self, folder: &str) -> Option<Self> {
        Some(Self(self.0.strip_prefix(folder)?.strip_prefix('/')?.to_owned()))
    }
}

impl fmt::Display for PackagePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for PackagePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}
