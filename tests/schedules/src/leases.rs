//! Leases: whoever lost a run writes nothing more, however late it finds out.

use std::time::Duration;

use palisade_agent::{
    Batch, Budget, Ending, Entry, Lease, NewRun, NewSession, RunEnd, SessionKey, Spending, Store, StoreError,
};
use palisade_store::{Clock, Memory};
use shuttle::{future::block_on, sync::Arc, thread};

use crate::in_many_orders;

const LASTS: Duration = Duration::from_secs(60);

fn entry(text: &str) -> Batch {
    Batch { entries: vec![Entry::User { text: text.to_owned() }], ..Batch::default() }
}

fn end() -> RunEnd {
    RunEnd { ending: Ending::Answered, spending: Spending::default() }
}

/// Writes as long as it may, ends if it can; how many entries it wrote, and whether it ended the run.
fn write(store: &Memory, lease: &Lease, name: &str) -> (usize, bool) {
    for written in 0..2 {
        thread::yield_now();
        match block_on(store.record(lease, &entry(name))) {
            Ok(()) => {}
            Err(StoreError::Fenced(_)) => {
                assert!(matches!(block_on(store.renew(lease)), Err(StoreError::Fenced(_))));
                assert!(matches!(block_on(store.end(lease, &end())), Err(StoreError::Fenced(_))));
                return (written, false);
            }
            Err(error) => panic!("{error}"),
        }
    }
    thread::yield_now();
    (2, block_on(store.end(lease, &end())).is_ok())
}

/// STO-12, DEL-07
#[test]
fn a_run_that_was_taken_over_is_written_by_one_at_a_time_and_ended_once() {
    in_many_orders(|| {
        let clock = Clock::default();
        let store = Arc::new(Memory::by(clock.clone()));
        let session = block_on(store.create(NewSession::with("t", "agent"))).unwrap();
        let key = SessionKey::new("t", &session.id);
        let first = block_on(store.begin(NewRun {
            session: key.clone(),
            agent: "agent".to_owned(),
            model: "model".to_owned(),
            parent: None,
            parent_call: None,
            queued: None,
            entries: Vec::new(),
            after: None,
            budget: Budget::default(),
            owner: "first".to_owned(),
            lasts: LASTS,
        }))
        .unwrap();
        let holder = thread::spawn({
            let (store, first) = (Arc::clone(&store), first.clone());
            move || write(&store, &first, "first")
        });
        let time = thread::spawn(move || clock.shift(2 * i64::try_from(LASTS.as_micros()).unwrap()));
        let heir = thread::spawn({
            let (store, run) = (Arc::clone(&store), first.run.clone());
            move || {
                thread::yield_now();
                match block_on(store.claim("t", &run, "second", LASTS)) {
                    Ok(lease) => write(&store, &lease, "second"),
                    // It is alive, or over.
                    Err(_) => (0, false),
                }
            }
        });
        time.join().unwrap();
        let (one, other) = (holder.join().unwrap(), heir.join().unwrap());
        assert_eq!(usize::from(one.1) + usize::from(other.1), 1, "{one:?} {other:?}");
        let entries = block_on(store.entries(&key, 0, 99)).unwrap();
        assert_eq!(entries.len(), one.0 + other.0);
        assert!(entries.iter().enumerate().all(|(at, numbered)| numbered.number == at as u64 + 1));
        let writers: Vec<bool> = entries.iter().map(|numbered| numbered.entry == entry("second").entries[0]).collect();
        assert!(writers.is_sorted(), "nobody writes after the one that took over began: {writers:?}");
    });
}

/// J13: of two that want to work on one session, one does.
#[test]
fn a_session_is_held_by_one() {
    in_many_orders(|| {
        let store = Arc::new(Memory::new());
        let session = block_on(store.create(NewSession::with("t", "agent"))).unwrap();
        let begin = |owner: &'static str| {
            let (store, key) = (Arc::clone(&store), SessionKey::new("t", &session.id));
            thread::spawn(move || {
                thread::yield_now();
                let run = NewRun {
                    session: key,
                    agent: "agent".to_owned(),
                    model: "model".to_owned(),
                    parent: None,
                    parent_call: None,
                    queued: None,
                    entries: vec![Entry::User { text: owner.to_owned() }],
                    after: None,
                    budget: Budget::default(),
                    owner: owner.to_owned(),
                    lasts: LASTS,
                };
                match block_on(store.begin(run)) {
                    Ok(_) => true,
                    Err(StoreError::Busy { .. }) => false,
                    Err(error) => panic!("{error}"),
                }
            })
        };
        let held = [begin("a"), begin("b"), begin("c")].map(|thread| thread.join().unwrap());
        assert_eq!(held.iter().filter(|held| **held).count(), 1);
        let entries = block_on(store.entries(&SessionKey::new("t", &session.id), 0, 9)).unwrap();
        assert_eq!(entries.len(), 1);
    });
}
