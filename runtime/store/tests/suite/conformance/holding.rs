//! Claims about who may write.

use std::{collections::BTreeSet, time::Duration};

use futures_util::future::join_all;
use palisade_agent::{Ending, RunEnd, RunState, Store, StoreError};

use crate::said::{LASTS, answered, batch, begun, key, message, numbers, run, session, spending, user};

pub(super) async fn one_run_holds_a_session(store: &dyn Store) {
    let lease = begun(store, "a", "s").await;
    let key = key("a", "s");
    let busy = || StoreError::Busy { session: "s".into(), owner: "somebody".into() };
    assert_eq!(store.begin(run(&key, "me", vec![user("no")])).await, Err(busy()));
    assert_eq!(store.claim("a", &lease.run, "me", LASTS).await, Err(busy()));
    store.renew(&lease).await.unwrap();
    assert_eq!(store.run("a", &lease.run).await.unwrap().state, RunState::Open { owner: "somebody".into() });
    let end = RunEnd { ending: Ending::Failed("no reply".into()), spending: spending(7) };
    store.end(&lease, &end).await.unwrap();
    let record = store.run("a", &lease.run).await.unwrap();
    assert_eq!(record.spending, spending(7));
    let RunState::Ended { ending, .. } = record.state.clone() else { panic!("{record:?}") };
    assert_eq!(ending, Some(end.ending));
    assert_eq!(store.last_run(&key).await.unwrap(), Some(record));
    let next = store.begin(run(&key, "me", vec![user("yes")])).await.unwrap();
    assert_eq!(next.token, lease.token + 1);
    assert_eq!(store.last_run(&key).await.unwrap().unwrap().id, next.run);
}

/// STO-12
pub(super) async fn a_write_of_somebody_who_was_replaced_is_refused(store: &dyn Store) {
    store.create(session("a", "s")).await.unwrap();
    let key = key("a", "s");
    let short = palisade_agent::NewRun { lasts: Duration::ZERO, ..run(&key, "first", vec![user("one")]) };
    let first = store.begin(short).await.unwrap();
    store.record(&first, &batch(vec![user("two")])).await.unwrap();
    // It has lapsed, but as long as nobody wants it, the holder goes on.
    let second = store.claim("a", &first.run, "second", LASTS).await.unwrap();
    assert_eq!((second.run.as_str(), second.token), (first.run.as_str(), first.token + 1));
    let fenced = || StoreError::Fenced(first.run.clone());
    assert_eq!(store.record(&first, &batch(vec![user("lost")])).await, Err(fenced()));
    assert_eq!(store.record(&first, &batch(vec![])).await, Err(fenced()));
    assert_eq!(store.renew(&first).await, Err(fenced()));
    assert_eq!(store.end(&first, &answered(1)).await, Err(fenced()));
    store.record(&second, &batch(vec![user("three")])).await.unwrap();
    assert_eq!(numbers(store, &key).await, [1, 2, 3]);
    assert_eq!(store.run("a", &first.run).await.unwrap().state, RunState::Open { owner: "second".into() });
    store.end(&second, &answered(1)).await.unwrap();
    assert_eq!(store.end(&second, &answered(2)).await, Err(fenced()), "it is over");
    assert_eq!(store.record(&second, &batch(vec![user("late")])).await, Err(fenced()));
}

pub(super) async fn a_run_that_is_over_is_not_taken_over(store: &dyn Store) {
    store.create(session("a", "s")).await.unwrap();
    let key = key("a", "s");
    let short = || palisade_agent::NewRun { lasts: Duration::ZERO, ..run(&key, "first", vec![user("one")]) };
    let first = store.begin(short()).await.unwrap();
    // Another run of the session begins: what was left behind is over.
    let second = store.begin(short()).await.unwrap();
    let record = store.run("a", &first.run).await.unwrap();
    assert!(matches!(record.state, RunState::Ended { ending: None, .. }), "{record:?}");
    assert!(matches!(store.claim("a", &first.run, "me", LASTS).await, Err(StoreError::Invalid(_))));
    store.end(&second, &answered(1)).await.unwrap();
    assert!(matches!(store.claim("a", &second.run, "me", LASTS).await, Err(StoreError::Invalid(_))));
    assert_eq!(store.claim("a", "nobody", "me", LASTS).await, Err(StoreError::NoRun("nobody".into())));
    let third = store.begin(short()).await.unwrap();
    store.clear(&key).await.unwrap();
    assert!(matches!(store.claim("a", &third.run, "me", LASTS).await, Err(StoreError::Invalid(_))));
}

pub(super) async fn a_message_is_answered_once(store: &dyn Store) {
    store.create(session("a", "s")).await.unwrap();
    let key = key("a", "s");
    for id in ["m1", "m2", "m1", "m3"] {
        store.enqueue(&message(&key, id)).await.unwrap();
    }
    assert_eq!(store.next_queued(&key).await.unwrap(), Some(message(&key, "m1")));
    let answering =
        |id: &str| palisade_agent::NewRun { queued: Some(id.into()), ..run(&key, "x", vec![user("words")]) };
    let empty = palisade_agent::NewRun { entries: vec![], ..answering("m1") };
    assert!(matches!(store.begin(empty).await, Err(StoreError::Invalid(_))), "it would be nowhere");
    let lease = store.begin(answering("m1")).await.unwrap();
    assert_eq!(numbers(store, &key).await, [1]);
    assert_eq!(store.next_queued(&key).await.unwrap().unwrap().id, "m2");
    store.end(&lease, &answered(1)).await.unwrap();
    assert_eq!(store.begin(answering("m1")).await, Err(StoreError::NotQueued("m1".into())));
    store.enqueue(&message(&key, "m1")).await.unwrap();
    assert_eq!(store.next_queued(&key).await.unwrap().unwrap().id, "m2", "it was answered");
    assert_eq!(store.begin(answering("nothing")).await, Err(StoreError::NotQueued("nothing".into())));
    for id in ["m2", "m3"] {
        let lease = store.begin(answering(id)).await.unwrap();
        store.end(&lease, &answered(1)).await.unwrap();
    }
    assert_eq!(store.next_queued(&key).await.unwrap(), None);
    assert_eq!(numbers(store, &key).await, [1, 2, 3]);
    // A message for another session is another message.
    store.create(session("a", "other")).await.unwrap();
    let lost = store.enqueue(&message(&crate::said::key("a", "other"), "m1")).await;
    assert!(matches!(lost, Err(StoreError::Invalid(_))), "{lost:?}");
}

/// J13, STO-12: of two that read a session before either holds it, the second one reads it again.
pub(super) async fn a_run_begins_with_what_was_read_or_not_at_all(store: &dyn Store) {
    store.create(session("a", "s")).await.unwrap();
    let key = key("a", "s");
    store.enqueue(&message(&key, "m")).await.unwrap();
    let after = |count: u64| palisade_agent::NewRun { after: Some(count), ..run(&key, "x", vec![user("hello")]) };
    let first = store.begin(after(0)).await.unwrap();
    assert!(matches!(store.begin(after(0)).await, Err(StoreError::Busy { .. })));
    store.end(&first, &answered(1)).await.unwrap();
    for count in [0, 2] {
        let answering = palisade_agent::NewRun { queued: Some("m".into()), ..after(count) };
        assert_eq!(store.begin(answering).await, Err(StoreError::Outdated("s".into())));
    }
    assert_eq!(numbers(store, &key).await, [1]);
    assert!(store.next_queued(&key).await.unwrap().is_some(), "it still waits");
    assert_eq!(store.last_run(&key).await.unwrap().unwrap().id, first.run);
    store.begin(after(1)).await.unwrap();
    assert_eq!(numbers(store, &key).await, [1, 2]);
}

/// STO-07
pub(super) async fn many_write_at_once_and_nothing_is_lost(store: &dyn Store) {
    const WRITERS: usize = 64;
    const EACH: usize = 4;
    let writers = (0..WRITERS).map(|writer| async move {
        // Half of them have a session of their own, half of them want the same one.
        let own = if writer % 2 == 0 { format!("s{writer}") } else { "shared".to_owned() };
        match store.create(session("a", &own)).await {
            Ok(_) | Err(StoreError::IdTaken(_)) => {}
            Err(error) => panic!("{error}"),
        }
        let mut said = 0;
        while said < EACH {
            let key = key("a", &own);
            match store.begin(run(&key, &format!("w{writer}"), vec![user(&format!("{writer}/{said}"))])).await {
                Ok(lease) => {
                    said += 1;
                    store.record(&lease, &batch(vec![user("more"), user("and more")])).await.unwrap();
                    store.end(&lease, &answered(1)).await.unwrap();
                }
                Err(StoreError::Busy { .. }) => tokio::time::sleep(Duration::from_millis(2)).await,
                Err(error) => panic!("{error}"),
            }
        }
    });
    tokio::time::timeout(Duration::from_secs(120), join_all(writers)).await.expect("nobody waits forever");
    let expected = |writers: usize| (1..=(writers * EACH * 3) as u64).collect::<Vec<_>>();
    assert_eq!(numbers(store, &key("a", "shared")).await, expected(WRITERS / 2));
    assert_eq!(numbers(store, &key("a", "s0")).await, expected(1));
    let listing = palisade_agent::Listing { tenant: "a".into(), ..palisade_agent::Listing::default() };
    let sessions = store.sessions(&listing).await.unwrap();
    let moments: BTreeSet<_> = sessions.iter().map(|session| session.updated_at).collect();
    assert_eq!((sessions.len(), moments.len()), (WRITERS / 2 + 1, WRITERS / 2 + 1));
}

/// STO-12
pub(super) async fn of_many_who_claim_one_wins(store: &dyn Store) {
    store.create(session("a", "s")).await.unwrap();
    let key = key("a", "s");
    let short = palisade_agent::NewRun { lasts: Duration::ZERO, ..run(&key, "first", vec![user("one")]) };
    let first = store.begin(short).await.unwrap();
    let owners: Vec<String> = (0..16).map(|number| format!("w{number}")).collect();
    let claims = join_all(owners.iter().map(|owner| store.claim("a", &first.run, owner, LASTS))).await;
    let won: Vec<_> = claims.iter().filter_map(|claim| claim.as_ref().ok()).collect();
    assert_eq!(won.len(), 1, "{claims:?}");
    assert!(claims.iter().all(|claim| matches!(claim, Ok(_) | Err(StoreError::Busy { .. }))));
    assert_eq!(store.renew(&first).await, Err(StoreError::Fenced(first.run.clone())));
    store.record(won[0], &batch(vec![user("two")])).await.unwrap();
}
