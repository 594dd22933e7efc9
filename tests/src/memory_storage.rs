//! Storage spaces in memory: the second implementor, for tests.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use palisade_grants::PermittedKey;
use palisade_sandbox::{Storage, StorageError};

/// Storage spaces in memory. A value's place is a pair, so no key can name another space.
#[derive(Default)]
pub struct MemoryStorage {
    values: Mutex<Values>,
}

type Values = BTreeMap<(String, String), Vec<u8>>;

impl MemoryStorage {
    /// Everything that is kept: space, key, value.
    pub fn all(&self) -> BTreeMap<(String, String), Vec<u8>> {
        self.values().clone()
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn place(space: &str, key: &PermittedKey) -> (String, String) {
    (space.to_owned(), key.as_str().to_owned())
}

impl Storage for MemoryStorage {
    fn get(&self, space: &str, key: &PermittedKey) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.values().get(&place(space, key)).cloned())
    }

    fn set(&self, space: &str, key: &PermittedKey, value: &[u8], most: u64) -> Result<(), StorageError> {
        let mut values = self.values();
        let others = values.iter().filter(|((in_space, name), _)| in_space == space && name != key.as_str());
        let used: usize = others.map(|((_, name), value)| name.len() + value.len()).sum();
        if (used + key.as_str().len() + value.len()) as u64 > most {
            return Err(StorageError::Full(most));
        }
        values.insert(place(space, key), value.to_vec());
        Ok(())
    }

    fn delete(&self, space: &str, key: &PermittedKey) -> Result<(), StorageError> {
        self.values().remove(&place(space, key));
        Ok(())
    }

    fn keys(&self, space: &str, prefix: &str) -> Result<Vec<String>, StorageError> {
        let values = self.values();
        let keys = values.keys().filter(|(in_space, key)| in_space == space && key.starts_with(prefix));
        Ok(keys.map(|(_, key)| key.clone()).collect())
    }
}
