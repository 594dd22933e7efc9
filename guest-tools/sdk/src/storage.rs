//! Values that last from one call to the next, in a space of the plugin's own. A tool declares `storage`.
//!
//! Keys are 1 to 256 bytes of UTF-8. Natively it is a map that lasts as long as the thread, for tests.

use crate::Failure;

/// The value of a key.
pub fn get(key: &str) -> Result<Option<Vec<u8>>, Failure> {
    backend::get(key)
}

/// Gives a key a value.
pub fn set(key: &str, value: &[u8]) -> Result<(), Failure> {
    backend::set(key, value)
}

/// Removes a key; one that is not there is removed already.
pub fn delete(key: &str) -> Result<(), Failure> {
    backend::delete(key)
}

/// The keys that begin like this, in order.
pub fn keys(start: &str) -> Result<Vec<String>, Failure> {
    backend::keys(start)
}

#[cfg(target_family = "wasm")]
mod backend {
    use crate::{Failure, bindings::host::storage as host};

    pub(super) fn get(key: &str) -> Result<Option<Vec<u8>>, Failure> {
        host::get(key).map_err(failure)
    }

    pub(super) fn set(key: &str, value: &[u8]) -> Result<(), Failure> {
        host::set(key, value).map_err(failure)
    }

    pub(super) fn delete(key: &str) -> Result<(), Failure> {
        host::delete(key).map_err(failure)
    }

    pub(super) fn keys(start: &str) -> Result<Vec<String>, Failure> {
        host::keys(start).map_err(failure)
    }

    fn failure(error: host::Error) -> Failure {
        match error {
            host::Error::InvalidKey(text) => Failure::InvalidInput(text),
            host::Error::Full(text) => {
                Failure::Failed(format!("there is no room for more: {text}; remove something first"))
            }
            host::Error::Failed(text) => Failure::Failed(text),
        }
    }
}

#[cfg(not(target_family = "wasm"))]
mod backend {
    use std::{cell::RefCell, collections::BTreeMap};

    use crate::Failure;

    thread_local! {
        static KEPT: RefCell<BTreeMap<String, Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
    }

    pub(super) fn get(key: &str) -> Result<Option<Vec<u8>>, Failure> {
        Ok(KEPT.with_borrow(|kept| kept.get(key).cloned()))
    }

    pub(super) fn set(key: &str, value: &[u8]) -> Result<(), Failure> {
        KEPT.with_borrow_mut(|kept| kept.insert(key.to_owned(), value.to_owned()));
        Ok(())
    }

    pub(super) fn delete(key: &str) -> Result<(), Failure> {
        KEPT.with_borrow_mut(|kept| kept.remove(key));
        Ok(())
    }

    pub(super) fn keys(start: &str) -> Result<Vec<String>, Failure> {
        Ok(KEPT.with_borrow(|kept| kept.keys().filter(|key| key.starts_with(start)).cloned().collect()))
    }
}
