//! What a process does for a server before it is killed, and what is left of it.

use palisade_agent::Store;
use palisade_store::{Begun, Idempotency, RunEvents, Sqlite, TenantChange, Tenants};

use crate::{
    conformance::tenants::{new_key, tenant},
    said::{LASTS, answered, begun, key, session},
};

/// Does everything that a server does, and tells what was acknowledged.
pub(super) async fn do_everything(store: &Sqlite, tell: impl Fn(&str)) {
    store.create_tenant(tenant("t")).await.unwrap();
    tell("tenant made");
    let change = TenantChange { suspended: Some(true), ..TenantChange::default() };
    store.change_tenant("t", change).await.unwrap();
    tell("tenant suspended");
    store.add_key("t", new_key("k", 1)).await.unwrap();
    tell("key added");
    store.used_key("t", "k").await.unwrap();
    tell("key used");
    store.revoke_key("t", "k").await.unwrap();
    tell("key revoked");
    let lease = begun(store, "t", "s").await;
    store.append(&lease, 1, &["1".into(), "2".into()]).await.unwrap();
    tell("events appended");
    store.end(&lease, &answered(1)).await.unwrap();
    assert_eq!(Idempotency::begin(store, "t", "r", [1; 32], LASTS).await.unwrap(), Begun::Fresh);
    tell("request begun");
    store.finish("t", "r", "1").await.unwrap();
    tell("request finished");
    assert_eq!(Idempotency::begin(store, "t", "f", [1; 32], LASTS).await.unwrap(), Begun::Fresh);
    Idempotency::forget(store, "t", "f").await.unwrap();
    store.create_tenant(tenant("gone")).await.unwrap();
    store.add_key("gone", new_key("k", 2)).await.unwrap();
    store.create(session("gone", "s")).await.unwrap();
    tell("another tenant filled");
    store.delete_tenant("gone").await.unwrap();
    tell("another tenant deleted");
}

/// What was acknowledged is there, and what was not is there whole or not at all.
pub(super) async fn check(store: &Sqlite, was: impl Fn(&str) -> bool, instant: &str) {
    let made = store.tenant("t").await.ok();
    assert!(!was("tenant made") || made.is_some(), "{instant}");
    let is_suspended = made.is_some_and(|tenant| tenant.suspended_at.is_some());
    assert!(!was("tenant suspended") || is_suspended, "{instant}");
    let known = store.key(&[1; 32]).await.unwrap();
    assert!(!was("key added") || known.is_some(), "{instant}");
    assert!(!was("key used") || known.as_ref().is_some_and(|key| key.last_used_at.is_some()), "{instant}");
    assert!(!was("key revoked") || known.is_some_and(|key| key.revoked_at.is_some()), "{instant}");
    if let Ok(Some(run)) = store.last_run(&key("t", "s")).await {
        let last = store.last_event("t", &run.id).await.unwrap();
        assert!(last == 2 || last == 0 && !was("events appended"), "{instant}: {last}");
    }
    // Whoever worked on it is gone, and nobody waits for that to lapse.
    match Idempotency::begin(store, "t", "r", [1; 32], LASTS).await.unwrap() {
        Begun::Done(answer) => assert_eq!(answer, "1", "{instant}"),
        Begun::Fresh => assert!(!was("request finished"), "{instant}"),
        other => panic!("{instant}: {other:?}"),
    }
    if was("another tenant filled") {
        let is_there = store.tenant("gone").await.is_ok();
        assert!(!is_there || !was("another tenant deleted"), "{instant}");
        assert_eq!(store.key(&[2; 32]).await.unwrap().is_some(), is_there, "{instant}");
        assert_eq!(store.session(&key("gone", "s")).await.is_ok(), is_there, "{instant}");
    }
}
