//! Spaces that last as long as the process.

use std::{collections::BTreeMap, ops::Bound};

use async_trait::async_trait;
use palisade_agent::StoreError;

use super::Memory;
use crate::spaces::{Kept, Space, Spaces, check_space, check_value, size};

/// The values of all spaces.
pub(super) type Values = BTreeMap<Space, BTreeMap<String, Vec<u8>>>;

#[async_trait]
impl Spaces for Memory {
    async fn value(&self, space: &Space, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        check_space(space)?;
        Ok(self.spaces().get(space).and_then(|values| values.get(key)).cloned())
    }

    async fn keep(&self, space: &Space, key: &str, value: &[u8], most: u64) -> Result<Kept, StoreError> {
        check_space(space)?;
        check_value(key, value)?;
        // Until the value is kept nobody deletes the tenant.
        let mut state = self.state();
        state.not_deleted(&space.tenant)?;
        let mut spaces = self.spaces();
        let values = spaces.entry(space.clone()).or_default();
        let others = values.iter().filter(|(other, _)| *other != key);
        let used: u64 = others.map(|(key, value)| size(key, value.len())).sum();
        if used.saturating_add(size(key, value.len())) > most {
            return Ok(Kept::Full);
        }
        values.insert(key.to_owned(), value.to_vec());
        Ok(Kept::Yes)
    }

    async fn forget(&self, space: &Space, key: &str) -> Result<(), StoreError> {
        check_space(space)?;
        if let Some(values) = self.spaces().get_mut(space) {
            values.remove(key);
        }
        Ok(())
    }

    async fn keys(&self, space: &Space, prefix: &str) -> Result<Vec<String>, StoreError> {
        check_space(space)?;
        let spaces = self.spaces();
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let keys = spaces.get(space).into_iter().flat_map(|values| values.range::<str, _>(from));
        Ok(keys.map(|(key, _)| key).take_while(|key| key.starts_with(prefix)).cloned().collect())
    }
}
