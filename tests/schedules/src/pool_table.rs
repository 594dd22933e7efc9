//! Idle agents: what one has reserved, no other gets.

use std::collections::HashSet;

use shuttle::{
    sync::{Arc, Mutex},
    thread,
};

use crate::{
    in_many_orders,
    pool::{Pool, PoolKey, Reserve},
};

fn key(parent: &str) -> PoolKey {
    PoolKey { fingerprint: "hash".into(), tenant: "t".into(), parent: parent.into() }
}

/// A pool with one idle agent.
fn with_one_idle(plugin: Option<&str>) -> Arc<Pool> {
    let pool = Pool::of(2);
    pool.adopt(key("p"), plugin, "s");
    pool.release("t", "s");
    Arc::new(pool)
}

/// H9, H24
#[test]
fn one_idle_agent_is_never_given_to_two() {
    in_many_orders(|| {
        let pool = with_one_idle(None);
        let reserve = |by_session: bool| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || match by_session {
                true => pool.reserve_session("t", "s") == Reserve::Reserved,
                false => pool.reserve(&key("p")).is_some(),
            })
        };
        let threads = [reserve(false), reserve(true), reserve(false)];
        let got = threads.map(|thread| thread.join().unwrap()).into_iter().filter(|got| *got).count();
        assert_eq!(got, 1);
        assert_eq!((pool.statistics().busy, pool.statistics().idle), (1, 0));
    });
}

/// H9, DF-16: whatever those who use the pool do, nobody holds what another holds, and all comes back.
#[test]
fn reserving_releasing_and_giving_up_never_share_an_agent() {
    in_many_orders(|| {
        let pool = Arc::new(Pool::of(2));
        let held = Arc::new(Mutex::new(HashSet::new()));
        let worker = |name: &'static str, ends_well: bool| {
            let (pool, held) = (Arc::clone(&pool), Arc::clone(&held));
            thread::spawn(move || {
                for turn in 0..2 {
                    let session = pool.reserve(&key("p")).unwrap_or_else(|| {
                        let session = format!("{name}{turn}");
                        pool.adopt(key("p"), None, &session);
                        session
                    });
                    assert!(held.lock().unwrap().insert(session.clone()), "{session} is held by two");
                    thread::yield_now();
                    held.lock().unwrap().remove(&session);
                    if ends_well { pool.release("t", &session) } else { pool.discard("t", &session) }
                }
            })
        };
        for thread in [worker("a", true), worker("b", false), worker("c", true)] {
            thread.join().unwrap();
        }
        let statistics = pool.statistics();
        assert_eq!(statistics.busy, 0);
        assert!(statistics.idle <= 2);
        assert_eq!(statistics.adopted, statistics.idle as u64 + statistics.evicted + statistics.discarded);
    });
}

/// An agent of a plugin that was given up while at work is not used again.
#[test]
fn what_was_given_up_at_work_is_gone_afterwards() {
    in_many_orders(|| {
        let pool = with_one_idle(Some("plugin"));
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                if pool.reserve(&key("p")).is_some() {
                    thread::yield_now();
                    pool.release("t", "s");
                }
            }
        });
        let evicted = pool.evict_plugin("plugin");
        worker.join().unwrap();
        assert_eq!(evicted, 1);
        assert_eq!(pool.reserve(&key("p")), None);
    });
}
