//! Keys by which a tenant is known. What is stored of a key's secret is its SHA-256, by which it is looked up; of a
//! secret of 256 random bits nothing can be learned from that.

use jiff::Timestamp;
use palisade_agent::StoreError;

use super::line;
use crate::rules::{self, invalid};

/// How many keys a tenant may have, also revoked ones.
pub const MOST_KEYS: u64 = 10_000;
/// How many scopes a key may have.
const SCOPES: usize = 64;
/// The longest scope in bytes.
const SCOPE: usize = 128;
/// How long nothing is written down of a key that was used, in microseconds.
const MINUTE: u64 = 60 * 1_000_000;

/// What is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// Whose it is.
    pub tenant: String,
    /// What it is known by; its secret is another matter.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// What it is good for. Nothing of it is looked at here.
    pub scopes: Vec<String>,
    /// When it was added.
    pub created_at: Timestamp,
    /// From when on it does not count; absent: it always does.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
}

impl KeyRecord {
    /// Whether it counts: it was not revoked and has not expired.
    pub fn counts_at(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expires_at| now < expires_at)
    }
}

/// A key that is to be added.
#[derive(Clone, PartialEq, Eq)]
pub struct NewKey {
    /// What it is known by: letters, digits, `-` and `_`, at most 128.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// The SHA-256 of its secret.
    pub hash: [u8; 32],
    /// What it is good for.
    pub scopes: Vec<String>,
    /// From when on it does not count; absent: it always does.
    pub expires_at: Option<Timestamp>,
}

impl std::fmt::Debug for NewKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Whoever has the hash finds the key.
        f.debug_struct("NewKey").field("id", &self.id).field("label", &self.label).finish_non_exhaustive()
    }
}

/// Refuses a key that is not fit to be one. Its label as it is kept, and its scopes as JSON.
pub(crate) fn check_key(key: &NewKey) -> Result<(String, String), StoreError> {
    if !rules::is_id(&key.id) {
        return Err(invalid("the id of a key has letters, digits, `-` and `_`, at most 128"));
    }
    let is_scope = |scope: &String| !scope.is_empty() && scope.len() <= SCOPE && !scope.chars().any(char::is_control);
    if key.scopes.len() > SCOPES || !key.scopes.iter().all(is_scope) {
        return Err(invalid(format!("a key has at most {SCOPES} scopes, each of 1 to {SCOPE} bytes")));
    }
    Ok((line("the label of a key", &key.label)?, rules::json("the scopes of a key", &key.scopes)?))
}

/// Whether it is written down that a key was used. A clock that was set back does not stop that.
pub(crate) fn is_used_anew(last: Option<i64>, now: i64) -> bool {
    last.is_none_or(|last| now.abs_diff(last) >= MINUTE)
}

pub(crate) fn no_key(id: &str) -> StoreError {
    StoreError::NoKey(palisade_agent::clip(id, 128))
}

pub(crate) fn too_many() -> StoreError {
    invalid(format!("a tenant has at most {MOST_KEYS} keys, also revoked ones"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_key_counts_until_it_expires_or_is_revoked() {
        let key = KeyRecord {
            tenant: "a".into(),
            id: "k".into(),
            label: "laptop".into(),
            scopes: vec![],
            created_at: at(0),
            expires_at: Some(at(10)),
            revoked_at: None,
            last_used_at: None,
        };
        assert!(key.counts_at(at(9)) && !key.counts_at(at(10)));
        assert!(KeyRecord { expires_at: None, ..key.clone() }.counts_at(at(1_000_000)));
        assert!(!KeyRecord { revoked_at: Some(at(99)), ..key }.counts_at(at(9)), "whenever that was");
    }

    #[test]
    fn nothing_that_is_printed_holds_the_hash() {
        let key = NewKey { id: "k".into(), label: "l".into(), hash: [0xab; 32], scopes: vec![], expires_at: None };
        let text = format!("{key:?}");
        assert!(!text.contains("171") && !text.contains("ab, ab"), "{text}");
    }

    #[test]
    fn a_use_is_written_down_once_a_minute_by_any_clock() {
        assert!(is_used_anew(None, 0));
        assert!(!is_used_anew(Some(0), 59_999_999) && is_used_anew(Some(0), 60_000_000));
        assert!(!is_used_anew(Some(60_000_000), 1) && is_used_anew(Some(60_000_000), 0));
    }
}
