//! The tables of delegation and the leases of the store, under many orders of events. The tables are the very
//! files of `palisade-agent`, with shuttle's locks in place of the usual ones.
#![cfg(test)]

mod active_table;
mod leases;
mod pool_table;

/// What the tables lock with here.
mod sync {
    pub(crate) use std::sync::PoisonError;

    pub(crate) use shuttle::sync::{Mutex, MutexGuard};
}

#[path = "../../../runtime/agent/src/delegation/active.rs"]
#[expect(dead_code, unreachable_pub, reason = "not all of it is used here, and nothing outside")]
mod active;

#[path = "../../../runtime/agent/src/delegation/pool.rs"]
#[expect(dead_code, unreachable_pub, reason = "not all of it is used here, and nothing outside")]
mod pool;

/// Runs a test under many orders: some at random, and some that change between threads at few, ill-chosen moments.
fn in_many_orders(test: impl Fn() + Send + Sync + 'static) {
    let test = std::sync::Arc::new(test);
    let again = std::sync::Arc::clone(&test);
    shuttle::check_random(move || again(), 2_000);
    shuttle::check_pct(move || test(), 1_000, 3);
}
