//! What may be done with a host: the methods of HTTP.

use std::fmt;

/// A set of methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Methods(u8);

/// Those that can be granted. CONNECT would make a tunnel and TRACE would show what was added on the way, so
/// neither can.
const WORDS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

impl Methods {
    /// GET and HEAD.
    pub(crate) const READING: Self = Self(1);
    pub(crate) const ALL: Self = Self((1 << WORDS.len()) - 1);

    /// One method, as it stands in a request.
    pub(crate) fn one(word: &str) -> Option<Self> {
        let word = if word == "HEAD" { "GET" } else { word };
        WORDS.iter().position(|known| *known == word).map(|place| Self(1 << place))
    }

    /// Words with commas between, or `*`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.trim() == "*" {
            return Some(Self::ALL);
        }
        text.split(',')
            .try_fold(Self(0), |all, word| Some(Self(all.0 | Self::one(&word.trim().to_ascii_uppercase())?.0)))
    }

    pub(crate) fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn contain(self, other: Self) -> bool {
        self.both(other) == other
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Methods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.write_str("*");
        }
        let words = WORDS.iter().enumerate().filter(|(place, _)| self.0 & (1 << place) != 0);
        f.write_str(&words.map(|(_, word)| *word).collect::<Vec<_>>().join(","))
    }
}
