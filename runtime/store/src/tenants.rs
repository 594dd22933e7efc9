//! Tenants: who shares a server without knowing of each other, and the keys by which each is known.
//!
//! Nothing here decides what a tenant may do. What is stored under its id belongs to it, whether somebody made the
//! tenant or not; making one says that it may be served, and deleting it takes away all that belongs to it.

mod key;

use async_trait::async_trait;
use jiff::Timestamp;
use palisade_agent::{LOCAL_TENANT, StoreError};
use serde_json::Value;

use crate::rules::{self, invalid};

pub use key::{KeyRecord, MOST_KEYS, NewKey};
pub(crate) use key::{check_key, is_used_anew, no_key, too_many};

/// Where tenants and their keys are kept. What a method returned `Ok` for survives the process.
///
/// [`LOCAL_TENANT`] is always there, for those who work alone.
#[async_trait]
pub trait Tenants: Send + Sync {
    /// Makes a tenant. An id that another one has, or that one had which was deleted, is
    /// [`StoreError::TenantTaken`].
    async fn create_tenant(&self, tenant: NewTenant) -> Result<Tenant, StoreError>;

    /// Finds a tenant.
    async fn tenant(&self, id: &str) -> Result<Tenant, StoreError>;

    /// The tenants whose ids come after this one, sorted by id, at most `limit` of them.
    async fn tenants(&self, after: Option<&str>, limit: usize) -> Result<Vec<Tenant>, StoreError>;

    /// Changes what is known of a tenant.
    async fn change_tenant(&self, id: &str, change: TenantChange) -> Result<Tenant, StoreError>;

    /// Takes away a tenant with all that belongs to it, in one step: sessions and what was said in them, runs, calls,
    /// events, messages, audit records, usage, spaces, keys, and what is known of its requests. The id is not given
    /// out again, and what is still being written for it is refused.
    ///
    /// [`StoreError::Busy`] while a run of it is held by somebody who is alive. [`LOCAL_TENANT`] cannot be deleted.
    async fn delete_tenant(&self, id: &str) -> Result<(), StoreError>;

    /// Adds a key to a tenant. An id that another key of the tenant has, or a secret that any key has, is
    /// [`StoreError::KeyTaken`].
    async fn add_key(&self, tenant: &str, key: NewKey) -> Result<KeyRecord, StoreError>;

    /// Finds a key by the SHA-256 of its secret, whosever it is. One that was revoked or has expired is found, too:
    /// [`KeyRecord::counts_at`] says whether it counts.
    async fn key(&self, hash: &[u8; 32]) -> Result<Option<KeyRecord>, StoreError>;

    /// The keys of a tenant, the oldest first.
    async fn keys(&self, tenant: &str) -> Result<Vec<KeyRecord>, StoreError>;

    /// Revokes a key. Revoking it again changes nothing.
    async fn revoke_key(&self, tenant: &str, id: &str) -> Result<(), StoreError>;

    /// Says that a key was used just now. It is written down at most once a minute.
    async fn used_key(&self, tenant: &str, id: &str) -> Result<(), StoreError>;
}

/// What is known of a tenant.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant {
    /// What it is known by.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What whoever serves it keeps with it, such as its quotas: an object. Nothing of it is looked at here.
    pub settings: Value,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when it is not to be served; absent: it is.
    pub suspended_at: Option<Timestamp>,
}

/// A tenant that is to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTenant {
    /// What it is known by: a small letter or a digit, and up to 63 more or `_` or `-`.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What is kept with it: an object.
    pub settings: Value,
}

/// What is to be changed of a tenant; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TenantChange {
    /// What people call it.
    pub name: Option<String>,
    /// What is kept with it, in the place of what was.
    pub settings: Option<Value>,
    /// Whether it is not to be served.
    pub suspended: Option<bool>,
}

/// The largest settings in bytes.
const SETTINGS: usize = 256 * 1024;

/// Refuses a tenant that is not fit to be one. Its name as it is kept, and its settings as JSON.
pub(crate) fn check_new(new: &NewTenant) -> Result<(String, String), StoreError> {
    if !is_tenant(&new.id) {
        return Err(invalid(format!(
            "`{}` is no id of a tenant; use a small letter or a digit, then up to 63 of those, `_` and `-`",
            palisade_agent::clip(&new.id, 64)
        )));
    }
    Ok((line("the name of a tenant", &new.name)?, settings(&new.settings)?))
}

/// Changes a tenant.
pub(crate) fn apply(tenant: &mut Tenant, change: &TenantChange, at: Timestamp) -> Result<(), StoreError> {
    if let Some(name) = &change.name {
        tenant.name = line("the name of a tenant", name)?;
    }
    if let Some(new) = &change.settings {
        settings(new)?;
        tenant.settings = new.clone();
    }
    match change.suspended {
        Some(true) => tenant.suspended_at = tenant.suspended_at.or(Some(at)),
        Some(false) => tenant.suspended_at = None,
        None => {}
    }
    Ok(())
}

/// Settings as JSON.
pub(crate) fn settings(settings: &Value) -> Result<String, StoreError> {
    if !settings.is_object() {
        return Err(invalid("the settings of a tenant are an object with a member for each"));
    }
    let text = rules::json("the settings of a tenant", settings)?;
    if text.len() > SETTINGS {
        return Err(invalid(format!("the settings of a tenant may have {SETTINGS} bytes together")));
    }
    Ok(text)
}

/// Text for people: one line, trimmed.
fn line(what: &str, text: &str) -> Result<String, StoreError> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > 200 || text.chars().any(char::is_control) {
        return Err(invalid(format!("{what} is one line of at most 200 characters, and not empty")));
    }
    Ok(text.to_owned())
}

/// Whether a tenant can have this id.
pub(crate) fn is_tenant(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    id.len() <= 64
        && id.bytes().next().is_some_and(is_plain)
        && id.bytes().all(|byte| is_plain(byte) || byte == b'_' || byte == b'-')
}

/// Refuses an id that no tenant has, before a database is asked that would choke on it.
pub(crate) fn findable(id: &str) -> Result<(), StoreError> {
    if is_tenant(id) { Ok(()) } else { Err(no_tenant(id)) }
}

/// Refuses to delete the tenant of those who work alone.
pub(crate) fn deletable(id: &str) -> Result<(), StoreError> {
    findable(id)?;
    if id == LOCAL_TENANT {
        return Err(invalid(format!("tenant `{LOCAL_TENANT}` is for those who work alone and cannot be deleted")));
    }
    Ok(())
}

pub(crate) fn no_tenant(id: &str) -> StoreError {
    StoreError::NoTenant(palisade_agent::clip(id, 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_a_tenant_is_short_and_plain() {
        for id in ["a", "0", "acme", "a-b_c", &"a".repeat(64), LOCAL_TENANT] {
            assert!(is_tenant(id), "{id}");
        }
        for id in ["", "-a", "_a", "A", "aB", "a b", "a.b", "a/b", "é", "a\0", "a\n", &"a".repeat(65)] {
            assert!(!is_tenant(id), "{id:?}");
        }
    }
}
