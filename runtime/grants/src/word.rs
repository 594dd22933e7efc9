//! Names with an open end: agents that may be asked, variables and secrets that may be used.

use std::{fmt, str::FromStr};

use crate::reach::{BadSpan, Reach, Span};

/// Names that may be used.
pub type NamesGrant = Reach<Word>;

/// A name, or with `*` at its end every name that begins so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word {
    text: String,
    open: bool,
}

const SHAPE: &str = "is no name; write `name`, `beginning*` or `*`, of letters, digits, `_`, `-`, `.` and `/`";

impl Word {
    /// Whether a name is covered.
    pub fn matches(&self, name: &str) -> bool {
        if self.open { name.starts_with(&self.text) } else { name == self.text }
    }
}

impl Span for Word {
    fn meet(&self, other: &Self) -> Option<Self> {
        let (longer, shorter) = if self.text.len() >= other.text.len() { (self, other) } else { (other, self) };
        if longer.text == shorter.text {
            return Some(Self { text: longer.text.clone(), open: longer.open && shorter.open });
        }
        shorter.matches(&longer.text).then(|| longer.clone())
    }
}

impl FromStr for Word {
    type Err = BadSpan;

    fn from_str(text: &str) -> Result<Self, BadSpan> {
        let trimmed = text.trim();
        let (name, open) = trimmed.strip_suffix('*').map_or((trimmed, false), |name| (name, true));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/');
        if name.is_empty() && !open || name.len() > 256 || !name.bytes().all(plain) {
            return Err(BadSpan { text: text.to_owned(), problem: SHAPE });
        }
        Ok(Self { text: name.to_owned(), open })
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.text, if self.open { "*" } else { "" })
    }
}
