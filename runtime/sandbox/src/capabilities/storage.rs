//! `palisade:host/storage`: a small key-value space per plugin.

use std::sync::Arc;

use palisade_grants::{PermittedKey, StorageGrant};
use serde::{Deserialize, Serialize};
use wasmtime::component::{HasSelf, Linker};

use crate::{bindings::storage, host::Host};

/// Where spaces are kept. A space is named by the host, never by a guest.
pub trait Storage: Send + Sync {
    /// Reads a value.
    fn get(&self, space: &str, key: &PermittedKey) -> Result<Option<Vec<u8>>, StorageError>;
    /// Writes a value, unless the space would then hold more than `most` bytes.
    fn set(&self, space: &str, key: &PermittedKey, value: &[u8], most: u64) -> Result<(), StorageError>;
    /// Removes a value; removing nothing is fine.
    fn delete(&self, space: &str, key: &PermittedKey) -> Result<(), StorageError>;
    /// The keys of a space that begin with `prefix`, sorted.
    fn keys(&self, space: &str, prefix: &str) -> Result<Vec<String>, StorageError>;
}

/// Why a space could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum StorageError {
    /// The granted bytes are used up.
    #[error("the storage space is full (limit {0} bytes)")]
    Full(u64),
    /// The place where spaces are kept does not work.
    #[error("the storage space cannot be used: {0}")]
    Failed(String),
}

/// One guest's view: a space, and how much it may hold.
#[derive(Clone)]
pub(crate) struct StorageSpace {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) space: Arc<str>,
    pub(crate) grant: StorageGrant,
}

pub(crate) fn link(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    storage::add_to_linker::<Host, HasSelf<Host>>(linker, |host| host)
}

type Answer<T> = wasmtime::Result<Result<T, storage::Error>>;

impl storage::Host for Host {
    fn get(&mut self, key: String) -> Answer<Option<Vec<u8>>> {
        Ok(self.space(&key).and_then(|(space, key)| Ok(space.storage.get(&space.space, &key)?)))
    }

    fn set(&mut self, key: String, value: Vec<u8>) -> Answer<()> {
        Ok(self
            .space(&key)
            .and_then(|(space, key)| Ok(space.storage.set(&space.space, &key, &value, space.grant.bytes)?)))
    }

    fn delete(&mut self, key: String) -> Answer<()> {
        Ok(self.space(&key).and_then(|(space, key)| Ok(space.storage.delete(&space.space, &key)?)))
    }

    fn keys(&mut self, prefix: String) -> Answer<Vec<String>> {
        let Some(space) = &self.storage else { return Ok(Err(nothing_granted())) };
        Ok(space.storage.keys(&space.space, &prefix).map_err(Into::into))
    }
}

impl Host {
    fn space(&mut self, key: &str) -> Result<(StorageSpace, PermittedKey), storage::Error> {
        let space = self.storage.clone().ok_or_else(nothing_granted)?;
        match space.grant.permit(key) {
            Ok(key) => Ok((space, key)),
            Err(denial) => {
                let text = denial.to_string();
                Self::deny(&mut self.denials, denial);
                Err(storage::Error::InvalidKey(text))
            }
        }
    }
}

/// Only a tool that is being described can get here: its interfaces are linked to nothing.
fn nothing_granted() -> storage::Error {
    storage::Error::Failed("no storage is granted".to_owned())
}

impl From<StorageError> for storage::Error {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Full(_) => Self::Full(error.to_string()),
            StorageError::Failed(_) => Self::Failed(error.to_string()),
        }
    }
}
