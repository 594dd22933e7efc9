//! The name of a session with an agent outside.

use std::{fmt, str::FromStr};

use palisade_agent::ProviderFailure;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::dialect::Fault;

/// Names a session: 1 to 128 of `A`–`Z`, `a`–`z`, `0`–`9`, `_` and `-`, so that it can be part of a path
/// and of an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

/// A name that no session can have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a session is named by 1 to 128 letters, digits, `_` and `-`")]
pub struct BadSessionId;

impl SessionId {
    /// A name nobody can guess, in the form of a random UUID, which is the form programs demand.
    pub fn random() -> Result<Self, NoRandomness> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let mut name = String::with_capacity(36);
        for (at, byte) in bytes.iter().enumerate() {
            if [4, 6, 8, 10].contains(&at) {
                name.push('-');
            }
            name += &format!("{byte:02x}");
        }
        Ok(Self(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The system gave no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the system gives no random bytes, which a session's name is made of")]
pub struct NoRandomness;

impl From<NoRandomness> for Fault {
    fn from(error: NoRandomness) -> Self {
        Self { kind: ProviderFailure::Exhausted, message: error.to_string() }
    }
}

impl FromStr for SessionId {
    type Err = BadSessionId;

    fn from_str(text: &str) -> Result<Self, BadSessionId> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        match (1..=128).contains(&text.len()) && text.bytes().all(fits) {
            true => Ok(Self(text.to_owned())),
            false => Err(BadSessionId),
        }
    }
}

impl TryFrom<String> for SessionId {
    type Error = BadSessionId;

    fn try_from(text: String) -> Result<Self, BadSessionId> {
        text.parse()
    }
}

impl From<SessionId> for String {
    fn from(session: SessionId) -> Self {
        session.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// O5
    #[test]
    fn a_name_is_letters_digits_and_two_marks() {
        for name in ["a", "EXTERNAL-123", "a_b", &"x".repeat(128)] {
            assert_eq!(name.parse::<SessionId>().unwrap().as_str(), name);
        }
        for name in ["", "a b", "a/b", "..", "ä", "a\n", &"x".repeat(129)] {
            assert_eq!(name.parse::<SessionId>(), Err(BadSessionId), "{name}");
        }
    }

    #[test]
    fn random_names_are_uuids_and_differ() {
        let (one, other) = (SessionId::random().unwrap(), SessionId::random().unwrap());
        assert_ne!(one, other);
        let parts: Vec<&str> = one.as_str().split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(parts[2].starts_with('4') && ["8", "9", "a", "b"].contains(&&parts[3][..1]), "{one}");
    }
}
