//! The host's `palisade:host/storage`; natively a map that lasts as long as the thread, for tests.

#[cfg(target_family = "wasm")]
mod backend {
    use palisade_tool::{Failure, bindings::host::storage as host};

    pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, Failure> {
        host::get(key).map_err(failure)
    }

    pub(crate) fn set(key: &str, value: &[u8]) -> Result<(), Failure> {
        host::set(key, value).map_err(failure)
    }

    pub(crate) fn delete(key: &str) -> Result<(), Failure> {
        host::delete(key).map_err(failure)
    }

    pub(crate) fn keys(start: &str) -> Result<Vec<String>, Failure> {
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

    use palisade_tool::Failure;

    thread_local! {
        static KEPT: RefCell<BTreeMap<String, Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
    }

    pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, Failure> {
        Ok(KEPT.with_borrow(|kept| kept.get(key).cloned()))
    }

    pub(crate) fn set(key: &str, value: &[u8]) -> Result<(), Failure> {
        KEPT.with_borrow_mut(|kept| kept.insert(key.to_owned(), value.to_owned()));
        Ok(())
    }

    pub(crate) fn delete(key: &str) -> Result<(), Failure> {
        KEPT.with_borrow_mut(|kept| kept.remove(key));
        Ok(())
    }

    pub(crate) fn keys(start: &str) -> Result<Vec<String>, Failure> {
        Ok(KEPT.with_borrow(|kept| kept.keys().filter(|key| key.starts_with(start)).cloned().collect()))
    }
}

pub(crate) use backend::{delete, get, keys, set};
