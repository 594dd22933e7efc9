//! What time it is, for everything that lasts.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use jiff::Timestamp;
use palisade_agent::StoreError;

/// A clock that can be set ahead and back, as clocks of machines are. It counts microseconds since 1970.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<AtomicI64>);

impl Clock {
    /// Sets the clock ahead, or back if negative, by so many microseconds.
    pub fn shift(&self, microseconds: i64) {
        self.0.fetch_add(microseconds, Ordering::SeqCst);
    }

    /// What this clock says when the one of this machine is asked.
    pub(crate) fn now(&self) -> i64 {
        self.adjust(Timestamp::now().as_microsecond())
    }

    /// What this clock says when another one says `moment`.
    pub(crate) fn adjust(&self, moment: i64) -> i64 {
        moment.saturating_add(self.0.load(Ordering::SeqCst))
    }
}

/// A stored moment.
pub(crate) fn moment(microseconds: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_microsecond(microseconds)
        .map_err(|_| StoreError::Corrupt(format!("{microseconds} is no moment that can have been stored")))
}
