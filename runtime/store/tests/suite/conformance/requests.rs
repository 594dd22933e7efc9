//! What holds for requests that are done once.

use std::time::Duration;

use futures_util::future::join_all;
use palisade_agent::StoreError;
use palisade_store::{Begun, Idempotency};

use crate::said::LASTS;

const ONE: [u8; 32] = [1; 32];
const OTHER: [u8; 32] = [2; 32];

/// HTTP-12
pub(super) async fn a_request_is_done_once(store: &impl Idempotency) {
    assert_eq!(store.begin("a", "k", ONE, LASTS).await, Ok(Begun::Fresh));
    for _ in 0..2 {
        assert_eq!(store.begin("a", "k", ONE, LASTS).await, Ok(Begun::UnderWay));
    }
    let answer = r#"{"status":201,"text":"é\u0000"}"#;
    store.finish("a", "k", answer).await.unwrap();
    for lasts in [LASTS, Duration::ZERO] {
        assert_eq!(store.begin("a", "k", ONE, lasts).await, Ok(Begun::Done(answer.into())));
    }
    let again = store.finish("a", "k", "2").await;
    assert!(matches!(again, Err(StoreError::Invalid(_))), "{again:?}");
    store.forget("a", "k").await.unwrap();
    assert_eq!(store.begin("a", "k", ONE, LASTS).await, Ok(Begun::Done(answer.into())), "the first answer stays");
}

/// HTTP-12
pub(super) async fn the_same_key_for_another_request_is_a_conflict(store: &impl Idempotency) {
    assert_eq!(store.begin("a", "k", ONE, LASTS).await, Ok(Begun::Fresh));
    assert_eq!(store.begin("a", "k", OTHER, LASTS).await, Ok(Begun::Conflict));
    store.finish("a", "k", "1").await.unwrap();
    assert_eq!(store.begin("a", "k", OTHER, LASTS).await, Ok(Begun::Conflict));
    assert_eq!(store.begin("a", "k", ONE, LASTS).await, Ok(Begun::Done("1".into())));
    assert_eq!(store.begin("a", "K", OTHER, LASTS).await, Ok(Begun::Fresh), "it is another key");
}

pub(super) async fn a_request_that_came_to_nothing_may_be_tried_again(store: &impl Idempotency) {
    assert_eq!(store.begin("a", "k", ONE, LASTS).await, Ok(Begun::Fresh));
    store.forget("a", "k").await.unwrap();
    store.forget("a", "k").await.unwrap();
    let finished = store.finish("a", "k", "1").await;
    assert!(matches!(finished, Err(StoreError::Invalid(_))), "{finished:?}");
    assert_eq!(store.begin("a", "k", OTHER, LASTS).await, Ok(Begun::Fresh), "also as another one");
}

/// HTTP-12
pub(super) async fn keys_of_requests_are_of_their_tenant(store: &impl Idempotency) {
    assert_eq!(store.begin("a", "k", ONE, LASTS).await, Ok(Begun::Fresh));
    assert_eq!(store.begin("b", "k", OTHER, LASTS).await, Ok(Begun::Fresh));
    store.finish("a", "k", "1").await.unwrap();
    assert_eq!(store.begin("b", "k", OTHER, LASTS).await, Ok(Begun::UnderWay));
    store.forget("c", "k").await.unwrap();
    assert!(matches!(store.finish("c", "k", "1").await, Err(StoreError::Invalid(_))));
    store.forget("b", "k").await.unwrap();
    assert_eq!(store.begin("a", "k", ONE, LASTS).await, Ok(Begun::Done("1".into())));
}

pub(super) async fn a_lease_that_lapsed_lets_another_begin(store: &impl Idempotency) {
    assert_eq!(store.begin("a", "k", ONE, Duration::ZERO).await, Ok(Begun::Fresh));
    assert_eq!(store.begin("a", "k", OTHER, LASTS).await, Ok(Begun::Fresh), "nothing was heard of the first");
    assert_eq!(store.begin("a", "k", OTHER, LASTS).await, Ok(Begun::UnderWay));
    store.finish("a", "k", "1").await.unwrap();
    assert_eq!(store.begin("a", "k", OTHER, LASTS).await, Ok(Begun::Done("1".into())));
}

pub(super) async fn what_is_no_request_is_refused(store: &impl Idempotency) {
    let long = "k".repeat(256);
    for (tenant, key) in [("a", ""), ("a", "\0"), ("", "k"), ("a\0", "k"), ("a", &long)] {
        let begun = store.begin(tenant, key, ONE, LASTS).await;
        assert!(matches!(begun, Err(StoreError::Invalid(_))), "{tenant:?} {key:?}: {begun:?}");
    }
    assert_eq!(store.begin("a", "k", ONE, LASTS).await, Ok(Begun::Fresh));
    let large = format!("\"{}\"", "x".repeat(1024 * 1024));
    for answer in ["", "hello", "{", &large, &"[".repeat(10_000)] {
        assert!(matches!(store.finish("a", "k", answer).await, Err(StoreError::Invalid(_))));
    }
    assert_eq!(store.begin("a", "k", ONE, LASTS).await, Ok(Begun::UnderWay));
}

/// HTTP-12
pub(super) async fn of_many_who_begin_the_same_request_one_works_on_it(store: &impl Idempotency) {
    for round in 0..4 {
        let key = format!("k{round}");
        // In every other round there is one of whom nothing was heard.
        if round % 2 == 1 {
            assert_eq!(store.begin("a", &key, OTHER, Duration::ZERO).await, Ok(Begun::Fresh));
        }
        let begun = join_all((0..16).map(|_| store.begin("a", &key, ONE, LASTS))).await;
        let count = |wanted: Begun| begun.iter().filter(|begun| **begun == Ok(wanted.clone())).count();
        assert_eq!((count(Begun::Fresh), count(Begun::UnderWay)), (1, 15), "{begun:?}");
    }
}
