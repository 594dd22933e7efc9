//! What a run tells while it works, for those who watch it from elsewhere: they may come late, go away and come back,
//! and see every event once, in its order.
//!
//! What was said and done is in the entries and the calls of a run; events are how it came to be. They are numbered
//! from one without a gap, never change, and are gone with their session or when that is cleared.

use async_trait::async_trait;
use palisade_agent::{Lease, StoreError};
use serde::de::IgnoredAny;

use crate::rules::invalid;

/// The largest event in bytes.
pub const LARGEST_EVENT: usize = 64 * 1024;
/// How many events a run may have.
pub const MOST_EVENTS: u64 = 100_000;

/// Where events of runs are kept. What a method returned `Ok` for survives the process.
#[async_trait]
pub trait RunEvents: Send + Sync {
    /// Adds events, each a text of JSON, the first of which has the number `first`; all of them or none. Only who
    /// holds the run may, or has ended it, because its end is the last thing that is told: otherwise it is
    /// [`StoreError::Fenced`], as for [`palisade_agent::Store::record`].
    ///
    /// Events that are there already and are the same may be told again. Another event of the same number, a gap,
    /// an event of more than [`LARGEST_EVENT`] bytes or a number above [`MOST_EVENTS`] is [`StoreError::Invalid`].
    async fn append(&self, lease: &Lease, first: u64, events: &[String]) -> Result<(), StoreError>;

    /// The events of a run after that number with their numbers, the oldest first, at most `limit` of them.
    async fn events(&self, tenant: &str, run: &str, after: u64, limit: usize)
    -> Result<Vec<(u64, String)>, StoreError>;

    /// The number of the last event of a run; zero if there is none.
    async fn last_event(&self, tenant: &str, run: &str) -> Result<u64, StoreError>;
}

/// Refuses events that nobody keeps.
pub(crate) fn check_events(first: u64, events: &[String]) -> Result<(), StoreError> {
    if first == 0 {
        return Err(invalid("events are numbered from one"));
    }
    let last = first.saturating_add(events.len() as u64).saturating_sub(1);
    if last > MOST_EVENTS {
        return Err(invalid(format!("a run has at most {MOST_EVENTS} events")));
    }
    for (event, number) in events.iter().zip(first..) {
        if event.len() > LARGEST_EVENT {
            let length = event.len();
            return Err(invalid(format!("event {number} has {length} bytes, and {LARGEST_EVENT} are the most")));
        }
        if serde_json::from_str::<IgnoredAny>(event).is_err() {
            return Err(invalid(format!("event {number} is no JSON")));
        }
    }
    Ok(())
}

/// Refuses a gap between the last event that is there and the first that is added.
pub(crate) fn refuse_gap(first: u64, last: u64) -> Result<(), StoreError> {
    if first > last + 1 {
        return Err(invalid(format!("event {first} cannot be next: the last one is {last}")));
    }
    Ok(())
}

pub(crate) fn told_otherwise(number: u64) -> StoreError {
    invalid(format!("event {number} was told before, and was another one"))
}
