//! A plugin's own key-value space.

use serde::{Deserialize, Serialize};

use crate::{Capability, Denial};

/// How much a plugin may keep in its own space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageGrant {
    /// Keys and values together, in bytes.
    pub bytes: u64,
}

/// A key that fits the rules. Only [`StorageGrant::permit`] makes one.
#[derive(Debug, PartialEq, Eq)]
pub struct PermittedKey(String);

/// Long enough for any name, short enough that a flood of keys stays small.
const MAX_KEY: usize = 256;

impl StorageGrant {
    /// Decides whether a key may be used. Keys are opaque: `..` and `/` in them mean nothing.
    pub fn permit(&self, key: &str) -> Result<PermittedKey, Denial> {
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(Denial {
                capability: Capability::Storage,
                asked: format!("a key of {} bytes", key.len()),
                rule: format!("keys have 1 to {MAX_KEY} bytes"),
                remedy: "use a shorter key".to_owned(),
            });
        }
        Ok(PermittedKey(key.to_owned()))
    }

    /// What both allow.
    pub fn narrow(self, other: Self) -> Self {
        Self { bytes: self.bytes.min(other.bytes) }
    }
}

impl PermittedKey {
    /// The key.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_opaque_and_bounded() {
        let grant = StorageGrant { bytes: 10 };
        assert_eq!(grant.permit("../a/b").unwrap().as_str(), "../a/b");
        assert!(grant.permit("").is_err());
        assert!(grant.permit(&"k".repeat(257)).is_err());
    }
}
