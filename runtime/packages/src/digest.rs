//! What a package or a file is known by.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::Digest as _;

/// The SHA-256 of some bytes, written as `sha256:` and 64 digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256([u8; 32]);

const PREFIX: &str = "sha256:";

impl Sha256 {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The digits alone.
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.hex())
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no digest; write `sha256:` and 64 small hexadecimal digits")]
pub struct BadDigest;

impl FromStr for Sha256 {
    type Err = BadDigest;

    fn from_str(text: &str) -> Result<Self, BadDigest> {
        let hex = text.strip_prefix(PREFIX).filter(|hex| hex.len() == 64).ok_or(BadDigest)?;
        let is_plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if !hex.bytes().all(is_plain) {
            return Err(BadDigest);
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&hex[at..at + 2], 16).map_err(|_| BadDigest)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
