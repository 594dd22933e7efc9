//! Claims about sessions.

use std::collections::BTreeMap;

use palisade_agent::{Ceiling, Change, Listing, NewSession, SessionOrigin, Store, StoreError};
use palisade_grants::{Access, Grants};
use serde_json::json;

use crate::said::{answered, batch, begun, key, message, numbers, run, session, user};

fn all(tenant: &str) -> Listing {
    Listing { tenant: tenant.into(), ..Listing::default() }
}

async fn ids(store: &dyn Store, listing: &Listing) -> Vec<String> {
    store.sessions(listing).await.unwrap().into_iter().map(|session| session.id).collect()
}

/// L1, L2, L11
pub(super) async fn a_session_is_found_as_it_was_made(store: &dyn Store) {
    let new = NewSession {
        name: Some(" Tidy up ".into()),
        attributes: BTreeMap::from([("panel".into(), json!({ "open": true }))]),
        origin: SessionOrigin {
            workspace: Some("/home/me/ä b".into()),
            parent: Some("above".into()),
            chain: vec!["general".into(), "plan".into()],
            ceiling: Some(Ceiling { grants: Grants::workspace(Access::Read), ..Ceiling::open() }),
        },
        ..session("a", "s-1_X")
    };
    let made = store.create(new.clone()).await.unwrap();
    assert_eq!((made.id.as_str(), made.agent.as_str(), made.name.as_deref()), ("s-1_X", "clerk", Some("Tidy up")));
    assert_eq!((&made.attributes, &made.origin), (&new.attributes, &new.origin));
    assert_eq!((made.entries, made.created_at, &made.last_snippet), (0, made.updated_at, &None));
    assert_eq!(store.session(&key("a", "s-1_X")).await.unwrap(), made);

    let unnamed = store.create(NewSession::with("a", "clerk")).await.unwrap();
    assert_eq!(unnamed.id.len(), 36, "a UUID is made: {}", unnamed.id);
    assert_ne!(store.create(NewSession::with("a", "clerk")).await.unwrap().id, unnamed.id);
}

pub(super) async fn what_is_not_fit_is_refused(store: &dyn Store) {
    let long = "x".repeat(129);
    for id in ["", "a b", "ä", "../a", "a\0", long.as_str()] {
        assert!(matches!(store.create(session("a", id)).await, Err(StoreError::Invalid(_))), "{id:?}");
        assert!(matches!(store.session(&key("a", id)).await, Err(StoreError::NoSession(_))), "{id:?}");
    }
    let named = |name: &str| NewSession { name: Some(name.into()), ..NewSession::with("a", "clerk") };
    for name in ["", "  ", "a\nb", "a\0b", &"n".repeat(201)] {
        assert!(matches!(store.create(named(name)).await, Err(StoreError::Invalid(_))), "{name:?}");
    }
    for (tenant, agent) in [("", "clerk"), ("a\0", "clerk"), (long.as_str(), "clerk"), ("a", ""), ("a", "b\0")] {
        assert!(matches!(store.create(NewSession::with(tenant, agent)).await, Err(StoreError::Invalid(_))));
    }
    store.create(session("a", "s")).await.unwrap();
    let deep = (0..200).fold(json!(1), |inner, _| json!({ "a": inner }));
    for attributes in [json!(1), json!([]), json!({ "a": "x".repeat(1 << 20) }), deep] {
        let change = store.change(&key("a", "s"), Change::Attributes(attributes)).await;
        assert!(matches!(change, Err(StoreError::Invalid(_))), "{change:?}");
    }
    assert!(store.session(&key("a", "s")).await.unwrap().attributes.is_empty());
    assert_eq!(ids(store, &all("a\0")).await, Vec::<String>::new());
}

/// L10: names are told apart by more than their case, and free again when their session is gone.
pub(super) async fn ids_and_names_are_taken_once(store: &dyn Store) {
    let named = |id: &str, name: &str| NewSession { name: Some(name.into()), ..session("a", id) };
    store.create(named("one", "Ärger")).await.unwrap();
    store.create(named("two", "Other")).await.unwrap();
    assert_eq!(store.create(session("a", "one")).await, Err(StoreError::IdTaken("one".into())));
    assert_eq!(store.create(named("three", "ÄRGER")).await, Err(StoreError::NameTaken("ÄRGER".into())));
    let two = key("a", "two");
    assert_eq!(
        store.change(&two, Change::Name(Some("ärger".into()))).await,
        Err(StoreError::NameTaken("ärger".into()))
    );
    // Its own name in another case is no other session's.
    store.change(&two, Change::Name(Some("OTHER".into()))).await.unwrap();
    // Another agent's sessions have names of their own.
    store.create(NewSession { agent: "other".into(), ..named("four", "Ärger") }).await.unwrap();
    store.delete(&key("a", "one")).await.unwrap();
    assert_eq!(store.change(&two, Change::Name(Some("ärger".into()))).await.unwrap().name.as_deref(), Some("ärger"));
    store.change(&two, Change::Name(None)).await.unwrap();
    store.create(named("one", "ärger")).await.unwrap();
    assert_eq!(store.session(&two).await.unwrap().name, None);
}

/// L3, L6
pub(super) async fn the_most_recently_updated_comes_first(store: &dyn Store) {
    for id in ["one", "two", "three"] {
        store.create(session("a", id)).await.unwrap();
    }
    assert_eq!(ids(store, &all("a")).await, ["three", "two", "one"]);
    let lease = store.begin(run(&key("a", "one"), "x", vec![])).await.unwrap();
    assert_eq!(ids(store, &all("a")).await, ["three", "two", "one"], "nothing was said yet");
    store.record(&lease, &batch(vec![user("hello")])).await.unwrap();
    assert_eq!(ids(store, &all("a")).await, ["one", "three", "two"]);
    store.change(&key("a", "two"), Change::Pinned(true)).await.unwrap();
    assert_eq!(ids(store, &all("a")).await, ["two", "one", "three"]);
    store.enqueue(&message(&key("a", "three"), "m")).await.unwrap();
    assert_eq!(ids(store, &all("a")).await, ["three", "two", "one"]);
    let latest = store.sessions(&Listing { limit: 1, ..all("a") }).await.unwrap();
    assert_eq!(latest[0].id, "three");
    let mut moments: Vec<_> =
        store.sessions(&all("a")).await.unwrap().iter().map(|session| session.updated_at).collect();
    moments.dedup();
    assert_eq!(moments.len(), 3, "no two are alike");
}

/// L12, L15, L16
pub(super) async fn lists_are_narrowed_and_paged(store: &dyn Store) {
    let below = |parent: &str| SessionOrigin { parent: Some(parent.into()), ..SessionOrigin::default() };
    let inside = |folder: &str| SessionOrigin { workspace: Some(folder.into()), ..SessionOrigin::default() };
    let with = |id: &str, agent: &str, origin| NewSession { agent: agent.into(), origin, ..session("a", id) };
    store.create(with("1", "clerk", inside("/x"))).await.unwrap();
    store.create(with("2", "other", inside("/x"))).await.unwrap();
    store.create(with("3", "clerk", inside("/y"))).await.unwrap();
    store.create(with("4", "clerk", below("1"))).await.unwrap();
    store.create(with("5", "clerk", below("2"))).await.unwrap();
    let listing = all("a");
    assert_eq!(ids(store, &listing).await, ["3", "2", "1"]);
    assert_eq!(ids(store, &Listing { delegated: true, ..listing.clone() }).await, ["5", "4", "3", "2", "1"]);
    assert_eq!(ids(store, &Listing { parent: Some("1".into()), ..listing.clone() }).await, ["4"]);
    assert_eq!(ids(store, &Listing { agent: Some("clerk".into()), ..listing.clone() }).await, ["3", "1"]);
    assert_eq!(ids(store, &Listing { workspace: Some("/x".into()), ..listing.clone() }).await, ["2", "1"]);
    let both = Listing { agent: Some("clerk".into()), workspace: Some("/x".into()), ..listing.clone() };
    assert_eq!(ids(store, &both).await, ["1"]);
    let first = store.sessions(&Listing { limit: 2, delegated: true, ..listing.clone() }).await.unwrap();
    let rest = Listing { before: Some(first[1].updated_at), delegated: true, ..listing };
    assert_eq!(ids(store, &rest).await, ["3", "2", "1"]);
}

/// L5, L10, L16
pub(super) async fn sessions_are_found_by_name_and_by_beginning(store: &dyn Store) {
    let with = |id: &str, agent: &str, name: Option<&str>| NewSession {
        agent: agent.into(),
        name: name.map(str::to_owned),
        ..session("a", id)
    };
    store.create(with("ab_1", "clerk", Some("Ärger"))).await.unwrap();
    store.create(with("ab-2", "clerk", None)).await.unwrap();
    store.create(with("aB-3", "other", Some("ärger"))).await.unwrap();
    store.create(with("b", "other", None)).await.unwrap();
    store.create(session("b", "ab-4")).await.unwrap();
    let listing = all("a");
    let begins = |text: &str| Listing { begins: Some(text.into()), ..listing.clone() };
    let named = |text: &str| Listing { name: Some(text.into()), ..listing.clone() };
    for (wanted, expected) in [
        (begins("ab"), vec!["ab-2", "ab_1"]),
        (begins("ab_"), vec!["ab_1"]),
        (begins("ab%"), vec![]),
        (begins("ab-2"), vec!["ab-2"]),
        (begins("ab-22"), vec![]),
        (begins("\0"), vec![]),
        (begins("ä"), vec![]),
        (named("ÄRGER"), vec!["aB-3", "ab_1"]),
        (Listing { agent: Some("clerk".into()), ..named("ärger") }, vec!["ab_1"]),
        (named("a"), vec![]),
        (named("\0"), vec![]),
    ] {
        assert_eq!(ids(store, &wanted).await, expected, "{wanted:?}");
        assert_eq!(store.count(&wanted).await.unwrap(), expected.len() as u64, "{wanted:?}");
    }
    store.change(&key("a", "ab-2"), Change::Pinned(true)).await.unwrap();
    store.change(&key("a", "ab_1"), Change::Pinned(true)).await.unwrap();
    store.change(&key("a", "aB-3"), Change::Name(None)).await.unwrap();
    let pinned = Listing { pinned_first: true, ..listing };
    assert_eq!(ids(store, &pinned).await, ["ab_1", "ab-2", "aB-3", "b"]);
    let page = Listing { offset: 1, limit: 2, ..pinned };
    assert_eq!((ids(store, &page).await, store.count(&page).await.unwrap()), (vec!["ab-2".into(), "aB-3".into()], 4));
    assert_eq!(ids(store, &Listing { offset: usize::MAX, ..page }).await, Vec::<String>::new());
}

/// L11
pub(super) async fn attributes_are_merged_deeply(store: &dyn Store) {
    store.create(session("a", "s")).await.unwrap();
    let key = key("a", "s");
    let steps = [
        (json!({ "x": { "y": 1, "z": [1] }, "b": "\u{0}" }), json!({ "x": { "y": 1, "z": [1] }, "b": "\u{0}" })),
        (
            json!({ "x": { "y": null, "w": { "v": null, "u": 2 } } }),
            json!({ "x": { "z": [1], "w": { "u": 2 } }, "b": "\u{0}" }),
        ),
        (json!({ "x": 3, "none": null }), json!({ "x": 3, "b": "\u{0}" })),
        (json!({ "x": { "y": 4 }, "b": null }), json!({ "x": { "y": 4 } })),
    ];
    for (change, expected) in steps {
        let session = store.change(&key, Change::Attributes(change)).await.unwrap();
        assert_eq!(serde_json::to_value(&session.attributes).unwrap(), expected);
        assert_eq!(store.session(&key).await.unwrap(), session);
    }
}

/// L4, L5, L13
pub(super) async fn pinning_decides_nothing(store: &dyn Store) {
    for id in ["one", "two"] {
        store.create(session("a", id)).await.unwrap();
    }
    let one = key("a", "one");
    let pinned = store.change(&one, Change::Pinned(true)).await.unwrap();
    assert!(pinned.pinned_at.is_some());
    let again = store.change(&one, Change::Pinned(true)).await.unwrap();
    assert_eq!(again.pinned_at, pinned.pinned_at, "it is pinned since then");
    store.change(&key("a", "two"), Change::Name(Some("n".into()))).await.unwrap();
    assert_eq!(ids(store, &all("a")).await, ["two", "one"]);
    assert_eq!(store.change(&one, Change::Pinned(false)).await.unwrap().pinned_at, None);
}

pub(super) async fn tenants_never_see_each_other(store: &dyn Store) {
    let lease = begun(store, "a", "s").await;
    store.enqueue(&message(&key("a", "s"), "m")).await.unwrap();
    let other = key("b", "s");
    let gone = || StoreError::NoSession("s".into());
    assert_eq!(store.session(&other).await, Err(gone()));
    assert_eq!(store.entries(&other, 0, 9).await, Err(gone()));
    assert_eq!(store.last_run(&other).await, Err(gone()));
    assert_eq!(store.next_queued(&other).await, Err(gone()));
    assert_eq!(store.change(&other, Change::Pinned(true)).await, Err(gone()));
    assert_eq!(store.clear(&other).await, Err(gone()));
    assert_eq!(store.delete(&other).await, Err(gone()));
    assert_eq!(store.begin(run(&other, "x", vec![])).await, Err(gone()));
    assert_eq!(store.enqueue(&message(&other, "m")).await, Err(gone()));
    let no_run = || StoreError::NoRun(lease.run.clone());
    assert_eq!(store.run("b", &lease.run).await, Err(no_run()));
    assert_eq!(store.calls("b", &lease.run).await, Err(no_run()));
    assert_eq!(store.claim("b", &lease.run, "x", crate::said::LASTS).await, Err(no_run()));
    let stolen = palisade_agent::Lease { session: other.clone(), ..lease.clone() };
    assert_eq!(store.record(&stolen, &batch(vec![user("mine")])).await, Err(gone()));
    assert_eq!(ids(store, &all("b")).await, Vec::<String>::new());
    // The same ids of another tenant are others.
    let own = begun(store, "b", "s").await;
    store.enqueue(&message(&other, "m")).await.unwrap();
    assert_eq!(store.next_queued(&other).await.unwrap().unwrap().session, other);
    let mixed = palisade_agent::Lease { run: own.run.clone(), ..lease.clone() };
    assert_eq!(store.record(&mixed, &batch(vec![user("mine")])).await, Err(StoreError::Fenced(own.run.clone())));
    assert_eq!(numbers(store, &key("a", "s")).await, [1]);
}

/// L8
pub(super) async fn a_cleared_session_keeps_all_but_what_was_said(store: &dyn Store) {
    let lease = begun(store, "a", "s").await;
    let key = key("a", "s");
    store.change(&key, Change::Name(Some("kept".into()))).await.unwrap();
    assert!(matches!(store.clear(&key).await, Err(StoreError::Busy { .. })));
    store.end(&lease, &answered(5)).await.unwrap();
    let before = store.session(&key).await.unwrap();
    assert_eq!(before.last_snippet.as_deref(), Some("hello"));
    let cleared = store.clear(&key).await.unwrap();
    assert_eq!((cleared.entries, &cleared.last_snippet, cleared.name.as_deref()), (0, &None, Some("kept")));
    assert_eq!(cleared.created_at, before.created_at);
    assert!(cleared.updated_at > before.updated_at);
    assert!(numbers(store, &key).await.is_empty());
    assert_eq!(store.run("a", &lease.run).await.unwrap().spending, crate::said::spending(5), "what it cost stays");
    let again = store.begin(run(&key, "x", vec![user("again")])).await.unwrap();
    assert!(again.token > lease.token);
    assert_eq!(numbers(store, &key).await, [1]);
}

/// L9
pub(super) async fn a_deleted_session_leaves_nothing_behind(store: &dyn Store) {
    let lease = begun(store, "a", "s").await;
    let key = key("a", "s");
    store.enqueue(&message(&key, "m")).await.unwrap();
    assert!(matches!(store.delete(&key).await, Err(StoreError::Busy { .. })));
    store.end(&lease, &answered(1)).await.unwrap();
    store.delete(&key).await.unwrap();
    assert_eq!(store.session(&key).await, Err(StoreError::NoSession("s".into())));
    assert_eq!(store.run("a", &lease.run).await, Err(StoreError::NoRun(lease.run.clone())));
    assert_eq!(store.delete(&key).await, Err(StoreError::NoSession("s".into())));
    store.create(session("a", "s")).await.unwrap();
    assert!(numbers(store, &key).await.is_empty());
    assert_eq!(store.next_queued(&key).await.unwrap(), None);
    assert_eq!(store.last_run(&key).await.unwrap(), None);
}
