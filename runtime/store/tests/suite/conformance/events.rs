//! What holds for the events of runs, and for finding those that did not end.

use std::{collections::BTreeSet, time::Duration};

use futures_util::future::join_all;
use palisade_agent::{NewRun, RunState, Store, StoreError};
use palisade_store::{LARGEST_EVENT, MOST_EVENTS, OpenRuns, RunEvents};

use crate::said::{LASTS, answered, begun, key, run, session, user};

fn told(numbers: impl IntoIterator<Item = u64>) -> Vec<String> {
    numbers.into_iter().map(|number| format!("{{\"event\":{number}}}")).collect()
}

fn is_invalid(result: &Result<(), StoreError>) -> bool {
    matches!(result, Err(StoreError::Invalid(_)))
}

/// HTTP-11
pub(super) async fn events_come_back_in_their_order(store: &(impl Store + RunEvents)) {
    let lease = begun(store, "a", "s").await;
    assert_eq!(store.last_event("a", &lease.run).await, Ok(0));
    assert_eq!(store.events("a", &lease.run, 0, 9).await, Ok(vec![]));
    store.append(&lease, 1, &told(1..=3)).await.unwrap();
    store.append(&lease, 4, &told([4])).await.unwrap();
    store.append(&lease, 5, &[]).await.unwrap();
    let odd = r#"{"text":"é\u0000\n\"","n":1e3}"#.to_owned();
    store.append(&lease, 5, std::slice::from_ref(&odd)).await.unwrap();
    let all = store.events("a", &lease.run, 0, usize::MAX).await.unwrap();
    let expected: Vec<(u64, String)> = (1..).zip(told(1..=4).into_iter().chain([odd])).collect();
    assert_eq!(all, expected, "as they were told, to the letter");
    assert_eq!(store.events("a", &lease.run, 2, 2).await.unwrap(), expected[2..4]);
    assert_eq!(store.events("a", &lease.run, 5, 9).await, Ok(vec![]));
    assert_eq!(store.events("a", &lease.run, u64::MAX, 9).await, Ok(vec![]));
    assert_eq!(store.events("a", &lease.run, 0, 0).await, Ok(vec![]));
    assert_eq!(store.last_event("a", &lease.run).await, Ok(5));
    store.end(&lease, &answered(1)).await.unwrap();
    assert_eq!(store.events("a", &lease.run, 0, usize::MAX).await.unwrap(), expected, "also when it is over");
}

pub(super) async fn the_same_event_may_be_told_again_and_another_may_not(store: &(impl Store + RunEvents)) {
    let lease = begun(store, "a", "s").await;
    store.append(&lease, 1, &told(1..=3)).await.unwrap();
    store.append(&lease, 1, &told(1..=3)).await.unwrap();
    store.append(&lease, 2, &told([2])).await.unwrap();
    store.append(&lease, 3, &told(3..=5)).await.unwrap();
    let all: Vec<(u64, String)> = (1..).zip(told(1..=5)).collect();
    assert_eq!(store.events("a", &lease.run, 0, 99).await.unwrap(), all);
    for (first, events) in [(1, told([2])), (5, told([7, 6])), (4, told([4, 7, 6]))] {
        let outcome = store.append(&lease, first, &events).await;
        assert!(is_invalid(&outcome), "{first}: {outcome:?}");
    }
    let spaced = vec!["{ \"event\":5}".to_owned()];
    assert!(is_invalid(&store.append(&lease, 5, &spaced).await), "the same in other letters is another");
    assert_eq!(store.events("a", &lease.run, 0, 99).await.unwrap(), all, "nothing of what was refused is there");
}

pub(super) async fn a_gap_and_what_is_too_much_is_refused(store: &(impl Store + RunEvents)) {
    let lease = begun(store, "a", "s").await;
    store.append(&lease, 1, &told([1])).await.unwrap();
    let largest = format!("\"{}\"", "x".repeat(LARGEST_EVENT - 2));
    let larger = format!("\"{}\"", "x".repeat(LARGEST_EVENT - 1));
    for (what, first, events) in [
        ("a gap", 3, told([3])),
        ("zero", 0, told([0])),
        ("no JSON", 2, vec!["hello".to_owned()]),
        ("half of it", 2, vec!["{".to_owned()]),
        ("nothing", 2, vec![String::new()]),
        ("one that is too large behind one that is not", 2, vec!["1".to_owned(), larger]),
        ("one too many", MOST_EVENTS + 1, told([1])),
        ("the last number", u64::MAX, told([1, 2])),
    ] {
        let outcome = store.append(&lease, first, &events).await;
        assert!(is_invalid(&outcome), "{what}: {outcome:?}");
    }
    assert_eq!(store.last_event("a", &lease.run).await, Ok(1));
    store.append(&lease, 2, std::slice::from_ref(&largest)).await.unwrap();
    assert_eq!(store.events("a", &lease.run, 1, 9).await.unwrap(), [(2, largest)]);
}

/// STO-12
pub(super) async fn an_event_of_somebody_who_was_replaced_is_refused(store: &(impl Store + RunEvents)) {
    store.create(session("a", "s")).await.unwrap();
    let short = NewRun { lasts: Duration::ZERO, ..run(&key("a", "s"), "first", vec![user("one")]) };
    let first = store.begin(short).await.unwrap();
    store.append(&first, 1, &told([1])).await.unwrap();
    let second = store.claim("a", &first.run, "second", LASTS).await.unwrap();
    let fenced = || Err(StoreError::Fenced(first.run.clone()));
    assert_eq!(store.append(&first, 2, &told([2])).await, fenced());
    assert_eq!(store.append(&first, 1, &told([1])).await, fenced(), "also what is there already");
    assert_eq!(store.append(&first, 2, &[]).await, fenced());
    store.append(&second, 2, &told([9])).await.unwrap();
    assert_eq!(store.last_event("a", &first.run).await, Ok(2));
    store.end(&second, &answered(1)).await.unwrap();
    store.append(&second, 3, &told([3])).await.unwrap();
    assert_eq!(store.append(&first, 4, &told([4])).await, fenced(), "who has ended it is the second");
    // Also when the session is another run's already.
    let next = store.begin(run(&key("a", "s"), "third", vec![user("two")])).await.unwrap();
    store.append(&second, 4, &told([4])).await.unwrap();
    store.append(&next, 1, &told([1])).await.unwrap();
    assert_eq!(store.last_event("a", &second.run).await, Ok(4));
}

/// STO-12
pub(super) async fn an_event_of_a_run_that_was_left_behind_is_refused(store: &(impl Store + RunEvents)) {
    store.create(session("a", "s")).await.unwrap();
    let short = NewRun { lasts: Duration::ZERO, ..run(&key("a", "s"), "first", vec![user("one")]) };
    let left = store.begin(short).await.unwrap();
    store.begin(run(&key("a", "s"), "second", vec![user("two")])).await.unwrap();
    assert_eq!(store.append(&left, 1, &told([1])).await, Err(StoreError::Fenced(left.run.clone())));
}

pub(super) async fn events_of_another_tenant_are_not_there(store: &(impl Store + RunEvents)) {
    let lease = begun(store, "a", "s").await;
    store.append(&lease, 1, &told([1])).await.unwrap();
    begun(store, "b", "s").await;
    let not_there = || StoreError::NoRun(lease.run.clone());
    for tenant in ["b", "c", ""] {
        assert_eq!(store.events(tenant, &lease.run, 0, 9).await, Err(not_there()));
        assert_eq!(store.last_event(tenant, &lease.run).await, Err(not_there()));
    }
    let mut stolen = lease.clone();
    stolen.session.tenant = "b".into();
    assert_eq!(store.append(&stolen, 2, &told([2])).await, Err(StoreError::Fenced(lease.run.clone())));
    stolen.session.tenant = "c".into();
    assert_eq!(store.append(&stolen, 2, &told([2])).await, Err(StoreError::NoSession("s".into())));
    for nobody in ["none", "", "\0"] {
        assert!(matches!(store.events("a", nobody, 0, 9).await, Err(StoreError::NoRun(_))), "{nobody:?}");
    }
    assert_eq!(store.last_event("a", &lease.run).await, Ok(1));
}

pub(super) async fn events_go_with_their_session(store: &(impl Store + RunEvents)) {
    for (id, clears) in [("s", true), ("t", false)] {
        let lease = begun(store, "a", id).await;
        store.append(&lease, 1, &told(1..=3)).await.unwrap();
        store.end(&lease, &answered(1)).await.unwrap();
        match clears {
            true => {
                store.clear(&lease.session).await.unwrap();
                assert_eq!(store.events("a", &lease.run, 0, 9).await, Ok(vec![]), "what was told is what was said");
                assert_eq!(store.last_event("a", &lease.run).await, Ok(0));
            }
            false => {
                store.delete(&lease.session).await.unwrap();
                let gone = store.events("a", &lease.run, 0, 9).await;
                assert_eq!(gone, Err(StoreError::NoRun(lease.run.clone())));
            }
        }
    }
}

pub(super) async fn many_tell_at_once_and_every_event_is_there_once(store: &(impl Store + RunEvents)) {
    let lease = begun(store, "a", "s").await;
    // Each tells all events in pieces, as somebody does who does not know what was heard.
    let tell = |size: usize| {
        let lease = &lease;
        async move {
            let all = told(1..=30);
            for (number, piece) in all.chunks(size).enumerate() {
                store.append(lease, (number * size) as u64 + 1, piece).await.unwrap();
            }
        }
    };
    join_all((1..8).map(tell)).await;
    let all = store.events("a", &lease.run, 0, 99).await.unwrap();
    assert_eq!(all, (1..).zip(told(1..=30)).collect::<Vec<_>>());
}

pub(super) async fn runs_that_did_not_end_are_found(store: &(impl Store + OpenRuns)) {
    let mut open = BTreeSet::new();
    for (tenant, id, ends) in [("a", "s", true), ("a", "t", false), ("b", "s", false), ("b", "t", true)] {
        let lease = begun(store, tenant, id).await;
        match ends {
            true => store.end(&lease, &answered(1)).await.unwrap(),
            false => drop(open.insert((tenant.to_owned(), lease.run))),
        }
    }
    // Left behind, and over since another began.
    let short = NewRun { lasts: Duration::ZERO, ..run(&key("a", "s"), "slow", vec![]) };
    store.begin(short).await.unwrap();
    let next = store.begin(run(&key("a", "s"), "next", vec![])).await.unwrap();
    open.insert(("a".to_owned(), next.run.clone()));

    let found = async |tenant| {
        let runs = store.open_runs(tenant, None, 99).await.unwrap();
        assert!(runs.iter().all(|run| matches!(run.state, RunState::Open { .. })));
        runs.into_iter().map(|run| (run.session.tenant, run.id)).collect::<BTreeSet<_>>()
    };
    assert_eq!(found(None).await, open);
    for tenant in ["a", "b", "c", "", "\0"] {
        let own: BTreeSet<_> = open.iter().filter(|(whose, _)| whose == tenant).cloned().collect();
        assert_eq!(found(Some(tenant)).await, own, "{tenant:?}");
    }
    let record = store.open_runs(Some("a"), None, 99).await.unwrap().into_iter().find(|run| run.id == next.run);
    assert_eq!(record, Some(store.run("a", &next.run).await.unwrap()), "as it is found by its id");
    store.end(&next, &answered(1)).await.unwrap();
    assert_eq!(found(None).await.len(), open.len() - 1);
}

pub(super) async fn runs_that_did_not_end_come_in_pages(store: &(impl Store + OpenRuns)) {
    for number in 0..7 {
        begun(store, if number < 3 { "a" } else { "b" }, &format!("s{number}")).await;
    }
    for (tenant, count) in [(None, 7), (Some("b"), 4)] {
        let whole = store.open_runs(tenant, None, 99).await.unwrap();
        assert_eq!(whole.len(), count);
        let (mut pages, mut after) = (Vec::new(), None::<(String, String)>);
        loop {
            let from = after.as_ref().map(|(tenant, run)| (tenant.as_str(), run.as_str()));
            let page = store.open_runs(tenant, from, 2).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some((last.session.tenant.clone(), last.id.clone()));
            pages.extend(page);
        }
        assert_eq!(pages, whole, "each of them once");
    }
    assert_eq!(store.open_runs(None, None, 0).await, Ok(vec![]));
}
