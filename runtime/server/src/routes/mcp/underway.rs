//! Calls under way, so that a later message of the same client can end one of them.
//!
//! No session is kept: a client is told an id that nobody can guess, and says it with each message. One that makes up an id
//! ends nothing but its own calls, because the tenant and the key count as well.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use palisade_agent::{Cancellation, Canceller, cancellation};

/// What a call is known by: the tenant, the key, the id that the client was told, and the id of its request.
pub(crate) type Known = (Arc<str>, Option<Arc<str>>, String, String);

/// The calls that can be ended.
#[derive(Clone, Default)]
pub(crate) struct Underway(Arc<Mutex<Calls>>);

#[derive(Default)]
struct Calls {
    next: u64,
    under_way: HashMap<Known, Vec<(u64, Canceller)>>,
}

/// A call, for as long as it is under way.
pub(crate) struct Entered {
    calls: Underway,
    known: Known,
    number: u64,
}

impl Underway {
    /// From now on a call can be ended, until what is given is dropped.
    pub(crate) fn enter(&self, known: Known) -> (Entered, Cancellation) {
        let (canceller, cancelled) = cancellation();
        let mut calls = self.lock();
        let number = calls.next;
        calls.next += 1;
        calls.under_way.entry(known.clone()).or_default().push((number, canceller));
        drop(calls);
        (Entered { calls: self.clone(), known, number }, cancelled)
    }

    /// Ends the calls of this name; usually it is one, or none any more.
    pub(crate) fn end(&self, known: &Known) {
        let calls = self.lock();
        calls.under_way.get(known).into_iter().flatten().for_each(|(_, canceller)| canceller.cancel());
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut calls = self.calls.lock();
        if let Some(same) = calls.under_way.get_mut(&self.known) {
            same.retain(|(number, _)| *number != self.number);
            if same.is_empty() {
                calls.under_way.remove(&self.known);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(tenant: &str, key: Option<&str>, session: &str, id: &str) -> Known {
        (tenant.into(), key.map(Into::into), session.to_owned(), id.to_owned())
    }

    #[test]
    fn nobody_ends_the_calls_of_others() {
        let calls = Underway::default();
        let own = known("acme", Some("k"), "s", "1");
        let (entered, cancelled) = calls.enter(own.clone());
        for other in [
            known("borg", Some("k"), "s", "1"),
            known("acme", Some("l"), "s", "1"),
            known("acme", None, "s", "1"),
            known("acme", Some("k"), "t", "1"),
            known("acme", Some("k"), "s", "\"1\""),
        ] {
            calls.end(&other);
            assert!(!cancelled.is_cancelled(), "{other:?}");
        }
        calls.end(&own);
        assert!(cancelled.is_cancelled());
        drop(entered);
    }

    #[test]
    fn what_is_over_is_not_remembered() {
        let calls = Underway::default();
        let own = known("acme", None, "s", "1");
        let (first, _) = calls.enter(own.clone());
        let (second, cancelled) = calls.enter(own.clone());
        drop(first);
        calls.end(&own);
        assert!(cancelled.is_cancelled());
        drop(second);
        assert!(calls.lock().under_way.is_empty());
    }
}
