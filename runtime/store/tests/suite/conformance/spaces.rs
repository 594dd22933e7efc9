//! What holds for the spaces of every store.

use palisade_agent::StoreError;
use palisade_store::{Kept, Space, Spaces};

fn space(tenant: &str, name: &str) -> Space {
    Space { tenant: tenant.into(), name: name.into() }
}

pub(super) async fn a_value_is_found_as_it_was_kept(store: &impl Spaces) {
    let here = space("a", "plugin");
    assert_eq!(store.value(&here, "key").await.unwrap(), None);
    let all: Vec<u8> = (0..=255).collect();
    // Keys are anybody's words.
    for key in ["key", "\0", "../x", "é\u{10ffff}", "'; DROP TABLE spaces; --"] {
        for value in [&b""[..], b"one", &all] {
            assert_eq!(store.keep(&here, key, value, 10_000).await.unwrap(), Kept::Yes);
            assert_eq!(store.value(&here, key).await.unwrap().as_deref(), Some(value));
        }
    }
    store.forget(&here, "key").await.unwrap();
    store.forget(&here, "key").await.unwrap();
    assert_eq!(store.value(&here, "key").await.unwrap(), None);
    assert_eq!(store.value(&here, "\0").await.unwrap(), Some(all));
}

pub(super) async fn a_space_holds_no_more_than_it_may(store: &impl Spaces) {
    let here = space("a", "plugin");
    assert_eq!(store.keep(&here, "k", b"12345678", 10).await.unwrap(), Kept::Yes);
    assert_eq!(store.keep(&here, "m", b"1", 10).await.unwrap(), Kept::Full);
    assert_eq!(store.value(&here, "m").await.unwrap(), None, "what was refused is not there");
    assert_eq!(store.keep(&here, "m", b"", 10).await.unwrap(), Kept::Yes);
    assert_eq!(store.keep(&here, "k", b"123456789", 10).await.unwrap(), Kept::Full, "in the place of another, too");
    assert_eq!(store.value(&here, "k").await.unwrap().as_deref(), Some(&b"12345678"[..]));
    assert_eq!(store.keep(&here, "k", b"1", 10).await.unwrap(), Kept::Yes);
    store.forget(&here, "k").await.unwrap();
    assert_eq!(store.keep(&here, "n", b"12345678", 10).await.unwrap(), Kept::Yes, "what is gone makes room");
    assert_eq!(store.keep(&here, "o", b"", 0).await.unwrap(), Kept::Full);
}

pub(super) async fn spaces_and_tenants_never_see_each_other(store: &impl Spaces) {
    let all = [space("a", "b"), space("a", "c"), space("b", "b"), space("ab", ""), space("b", "")];
    for (number, here) in (0..).zip(&all) {
        assert_eq!(store.keep(here, "key", &[number], 4).await.unwrap(), Kept::Yes);
    }
    for (number, here) in (0..).zip(&all) {
        assert_eq!(store.value(here, "key").await.unwrap(), Some(vec![number]), "{here:?}");
        assert_eq!(store.keys(here, "").await.unwrap(), ["key"]);
    }
}

pub(super) async fn keys_are_sorted_and_narrowed_by_their_beginning(store: &impl Spaces) {
    let here = space("a", "plugin");
    for key in ["b", "a/2", "a/10", "B", "a", "é", "a\u{7f}", "z"] {
        assert_eq!(store.keep(&here, key, b"", 1000).await.unwrap(), Kept::Yes);
    }
    assert_eq!(store.keys(&here, "").await.unwrap(), ["B", "a", "a/10", "a/2", "a\u{7f}", "b", "z", "é"]);
    assert_eq!(store.keys(&here, "a/").await.unwrap(), ["a/10", "a/2"]);
    assert_eq!(store.keys(&here, "é").await.unwrap(), ["é"]);
    assert_eq!(store.keys(&here, "%").await.unwrap(), Vec::<String>::new());
}

pub(super) async fn what_cannot_be_a_key_or_a_space_is_refused(store: &impl Spaces) {
    let is_invalid = |result: Result<Kept, StoreError>| matches!(result, Err(StoreError::Invalid(_)));
    assert!(is_invalid(store.keep(&space("a", "b"), "", b"", 10).await));
    assert!(is_invalid(store.keep(&space("a", "b"), &"k".repeat(257), b"", 1000).await));
    assert!(is_invalid(store.keep(&space("a", "b\0"), "k", b"", 10).await));
    assert!(is_invalid(store.keep(&space("", "b"), "k", b"", 10).await));
    assert!(is_invalid(store.keep(&space("a", "b"), "k", &vec![0; (16 << 20) + 1], u64::MAX).await));
    assert!(matches!(store.keys(&space("\0", "b"), "").await, Err(StoreError::Invalid(_))));
}

pub(super) async fn many_keep_at_once_and_the_limit_holds(store: &impl Spaces) {
    let here = space("a", "plugin");
    let keep = |number: u32| {
        let here = &here;
        async move { store.keep(here, &format!("{number:02}"), &[0; 8], 100).await.unwrap() }
    };
    let kept = futures_util::future::join_all((0..30).map(keep)).await;
    assert_eq!(kept.iter().filter(|kept| **kept == Kept::Yes).count(), 10);
    assert_eq!(store.keys(&here, "").await.unwrap().len(), 10);
}
