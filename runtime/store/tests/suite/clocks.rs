//! Clocks that jump.

use palisade_agent::{Listing, Store, StoreError};
use palisade_store::{Clock, Memory, Postgres, Sqlite};

use crate::{
    cluster,
    said::{LASTS, batch, begun, key, numbers, run, user},
};

const DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// STO-13
#[tokio::test]
async fn a_clock_that_jumps_changes_no_order_and_blocks_nobody() {
    let clock = Clock::default();
    jumps(&Memory::by(clock.clone()), &clock).await;
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::default();
    jumps(&Sqlite::open_by(folder.path().join("store.db"), clock.clone()).await.unwrap(), &clock).await;
    let Some(address) = cluster::database().await else { return };
    let clock = Clock::default();
    jumps(&Postgres::connect_by(&address, clock.clone()).await.unwrap(), &clock).await;
}

async fn jumps(store: &dyn Store, clock: &Clock) {
    let lease = begun(store, "a", "one").await;
    let other = begun(store, "a", "two").await;
    let latest = async || {
        let listing = Listing { tenant: "a".into(), limit: 1, ..Listing::default() };
        store.sessions(&listing).await.unwrap().remove(0)
    };
    let mut last = latest().await.updated_at;
    for jump in [DAY, -2 * DAY, DAY / 2, -DAY, 3 * DAY] {
        clock.shift(jump);
        for lease in [&lease, &other] {
            store.record(lease, &batch(vec![user("more")])).await.unwrap();
            let session = latest().await;
            assert_eq!(session.id, lease.session.id, "the last that was said something in comes first");
            assert!(session.updated_at > last);
            last = session.updated_at;
        }
    }
    assert_eq!(numbers(store, &key("a", "one")).await, [1, 2, 3, 4, 5, 6]);
    // The holder has just written, so it is alive by any clock.
    let busy = store.claim("a", &lease.run, "me", LASTS).await;
    assert!(matches!(busy, Err(StoreError::Busy { .. })), "{busy:?}");
    // A clock that was set back by a day: nobody waits for a day.
    clock.shift(-DAY);
    let claimed = store.claim("a", &lease.run, "me", LASTS).await.unwrap();
    assert_eq!(store.record(&lease, &batch(vec![user("late")])).await, Err(StoreError::Fenced(lease.run.clone())));
    store.record(&claimed, &batch(vec![user("in time")])).await.unwrap();
    // Set back by less than the lease lasts, it is still held.
    clock.shift(-60_000_000);
    assert!(matches!(store.begin(run(&lease.session, "me", vec![])).await, Err(StoreError::Busy { .. })));
}
