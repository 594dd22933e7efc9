//! Spaces: what tools keep from one call to the next. A space is named by the host and holds values by their keys,
//! up to a number of bytes.
//!
//! What is in one is data of untrusted programs: nothing of it is looked at, and keys are bytes like values.

use std::sync::Arc;

use async_trait::async_trait;
use palisade_agent::StoreError;

use crate::{Memory, Postgres, Sqlite};

/// Where spaces are kept. What a method returned `Ok` for survives the process; what several processes do at the
/// same time happens one after the other.
#[async_trait]
pub trait Spaces: Send + Sync {
    /// Reads a value.
    async fn value(&self, space: &Space, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Keeps a value, unless the space would then hold more than `most` bytes of keys and values.
    async fn keep(&self, space: &Space, key: &str, value: &[u8], most: u64) -> Result<Kept, StoreError>;

    /// Takes a value away; taking nothing away is fine.
    async fn forget(&self, space: &Space, key: &str) -> Result<(), StoreError>;

    /// The keys that begin with `prefix`, sorted by their bytes.
    async fn keys(&self, space: &Space, prefix: &str) -> Result<Vec<String>, StoreError>;
}

/// Which space.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Space {
    /// Whose it is.
    pub tenant: String,
    /// What it is called: the name of the plugin whose tools have it.
    pub name: String,
}

/// Whether a value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Kept {
    /// It is.
    Yes,
    /// The space would hold too much, and is as it was.
    Full,
}

/// The longest name of a tenant or a space.
const LONGEST_NAME: usize = 256;
/// The longest key.
const LONGEST_KEY: usize = 256;
/// The largest value, whatever the space may hold.
const LARGEST_VALUE: usize = 16 << 20;

/// Opens what an address means, as [`crate::open`] does.
pub async fn open_spaces(address: &str) -> Result<Arc<dyn Spaces>, StoreError> {
    match address.split_once(':') {
        Some(("memory", "")) => Ok(Arc::new(Memory::new())),
        Some(("sqlite", path)) if !path.is_empty() => Ok(Arc::new(Sqlite::open(path).await?)),
        Some(("postgres" | "postgresql", _)) => Ok(Arc::new(Postgres::connect(address).await?)),
        _ => Err(crate::no_address()),
    }
}

/// Refuses a name that a database cannot hold.
pub(crate) fn check_space(space: &Space) -> Result<(), StoreError> {
    for (what, text) in [("the name of a tenant", &space.tenant), ("the name of a space", &space.name)] {
        if text.len() > LONGEST_NAME || text.contains('\0') {
            return Err(StoreError::Invalid(format!("{what} has at most {LONGEST_NAME} bytes, none of them zero")));
        }
    }
    if space.tenant.is_empty() {
        return Err(StoreError::Invalid("the name of a tenant is not empty".to_owned()));
    }
    Ok(())
}

/// Refuses a key or a value that nobody keeps.
pub(crate) fn check_value(key: &str, value: &[u8]) -> Result<(), StoreError> {
    if key.is_empty() || key.len() > LONGEST_KEY {
        return Err(StoreError::Invalid(format!("a key has 1 to {LONGEST_KEY} bytes")));
    }
    if value.len() > LARGEST_VALUE {
        return Err(StoreError::Invalid(format!("a value has at most {LARGEST_VALUE} bytes")));
    }
    Ok(())
}

/// What a value counts for.
pub(crate) fn size(key: &str, value: usize) -> u64 {
    (key.len() as u64).saturating_add(value as u64)
}
