//! What the requests of one call have used up together.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Limits;

/// What is left for the requests of one call, and of the tools that it calls.
pub(crate) struct Spent {
    requests: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Spent {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            requests: AtomicU64::new(u64::from(limits.requests)),
            sent: AtomicU64::new(limits.sent),
            received: AtomicU64::new(limits.received),
        }
    }

    /// One more request.
    pub(super) fn request(&self) -> Result<(), ()> {
        take(&self.requests, 1)
    }

    /// Bytes of a request's body.
    pub(super) fn send(&self, bytes: usize) -> Result<(), ()> {
        take(&self.sent, bytes as u64)
    }

    /// Bytes of a response's body.
    pub(super) fn receive(&self, bytes: usize) -> Result<(), ()> {
        take(&self.received, bytes as u64)
    }
}

/// Takes all or nothing; who could not take it all gets nothing afterwards.
fn take(left: &AtomicU64, amount: u64) -> Result<(), ()> {
    match left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(amount)) {
        Ok(_) => Ok(()),
        Err(_) => {
            left.store(0, Ordering::Relaxed);
            Err(())
        }
    }
}
