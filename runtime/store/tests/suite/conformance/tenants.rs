//! What holds for the tenants of every store, and for their keys.

use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use palisade_agent::{AuditRecord, LOCAL_TENANT, Listing, NewRun, Span, Store, StoreError, UsageQuery};
use palisade_store::{
    Begun, Idempotency, Kept, NewKey, NewTenant, OpenRuns, RunEvents, Space, Spaces, TenantChange, Tenants,
};
use serde_json::{Value, json};

use crate::said::{LASTS, answered, batch, begun, key, message, run, session, user};

pub(crate) fn tenant(id: &str) -> NewTenant {
    NewTenant { id: id.into(), name: format!("Tenant {id}"), settings: json!({ "runs": 4 }) }
}

pub(crate) fn new_key(id: &str, secret: u8) -> NewKey {
    NewKey { id: id.into(), label: "laptop".into(), hash: [secret; 32], scopes: vec!["runs".into()], expires_at: None }
}

fn no_tenant(id: &str) -> StoreError {
    StoreError::NoTenant(id.into())
}

pub(super) async fn a_tenant_is_found_as_it_was_made(store: &impl Tenants) {
    let settings = json!({ "quota": { "runs": 4 }, "odd": "\0\u{10ffff}", "none": null });
    let new = NewTenant { name: "  Acme & Söhne ".into(), settings: settings.clone(), ..tenant("acme") };
    let made = store.create_tenant(new).await.unwrap();
    assert_eq!((made.id.as_str(), made.name.as_str(), &made.settings), ("acme", "Acme & Söhne", &settings));
    assert_eq!(made.suspended_at, None);
    let age = Timestamp::now().duration_since(made.created_at);
    assert!(age.abs() < jiff::SignedDuration::from_hours(1), "{age}");
    assert_eq!(store.tenant("acme").await.unwrap(), made);
    for nobody in ["nobody", "", "ACME", "acme\0", &"a".repeat(1000)] {
        assert!(matches!(store.tenant(nobody).await, Err(StoreError::NoTenant(_))), "{nobody:?}");
    }
}

pub(super) async fn what_is_no_tenant_is_refused(store: &impl Tenants) {
    let mut deep = Value::Null;
    for _ in 0..200 {
        deep = json!([deep]);
    }
    let long = "x".repeat(300_000);
    for (what, new) in [
        ("id", NewTenant { id: "../x".into(), ..tenant("x") }),
        ("empty id", NewTenant { id: String::new(), ..tenant("x") }),
        ("name", NewTenant { name: "two\nlines".into(), ..tenant("x") }),
        ("no name", NewTenant { name: " ".into(), ..tenant("x") }),
        ("long name", NewTenant { name: "n".repeat(201), ..tenant("x") }),
        ("settings", NewTenant { settings: json!([]), ..tenant("x") }),
        ("deep settings", NewTenant { settings: json!({ "a": deep }), ..tenant("x") }),
        ("long settings", NewTenant { settings: json!({ "a": long }), ..tenant("x") }),
    ] {
        let made = store.create_tenant(new).await;
        assert!(matches!(made, Err(StoreError::Invalid(_))), "{what}: {made:?}");
    }
    assert_eq!(store.tenant("x").await, Err(no_tenant("x")));
    store.create_tenant(tenant("x")).await.unwrap();
    let change = TenantChange { settings: Some(json!(1)), name: Some("new".into()), ..TenantChange::default() };
    assert!(matches!(store.change_tenant("x", change).await, Err(StoreError::Invalid(_))));
    assert_eq!(store.tenant("x").await.unwrap().name, "Tenant x", "a change is made whole or not at all");
}

pub(super) async fn an_id_of_a_tenant_is_taken_once_and_for_all(store: &impl Tenants) {
    store.create_tenant(tenant("a")).await.unwrap();
    let taken = || Err(StoreError::TenantTaken("a".into()));
    assert_eq!(store.create_tenant(tenant("a")).await, taken());
    store.delete_tenant("a").await.unwrap();
    assert_eq!(store.create_tenant(tenant("a")).await, taken(), "what others kept under the id is not a new one's");
    assert_eq!(store.tenant("a").await, Err(no_tenant("a")));
    assert_eq!(store.delete_tenant("a").await, Err(no_tenant("a")));
    assert_eq!(store.change_tenant("a", TenantChange::default()).await, Err(no_tenant("a")));
}

pub(super) async fn tenants_are_listed_by_their_ids(store: &(impl Tenants + Store)) {
    for id in ["b", "a_b", "a", "a-b", "ab", "0", "b2"] {
        store.create_tenant(tenant(id)).await.unwrap();
    }
    // Whose sessions are there without that somebody made a tenant is none.
    store.create(session("stray", "s")).await.unwrap();
    let ids = async |after: Option<&str>, limit| {
        let found = store.tenants(after, limit).await.unwrap();
        found.into_iter().map(|tenant| tenant.id).collect::<Vec<_>>()
    };
    let all = ["0", "a", "a-b", "a_b", "ab", "b", "b2", LOCAL_TENANT];
    assert_eq!(ids(None, usize::MAX).await, all);
    assert_eq!(ids(None, 3).await, all[..3]);
    assert_eq!(ids(Some("a-b"), 2).await, ["a_b", "ab"]);
    assert_eq!(ids(Some("a\0"), 1).await.len(), 1);
    assert_eq!(ids(Some("zzz"), 9).await, Vec::<String>::new());
    store.delete_tenant("ab").await.unwrap();
    assert_eq!(ids(Some("a-b"), 2).await, ["a_b", "b"]);
}

pub(super) async fn a_change_of_a_tenant_leaves_the_rest(store: &impl Tenants) {
    let made = store.create_tenant(tenant("a")).await.unwrap();
    store.create_tenant(tenant("b")).await.unwrap();
    let suspend = |suspended| TenantChange { suspended: Some(suspended), ..TenantChange::default() };
    let suspended = store.change_tenant("a", suspend(true)).await.unwrap();
    assert!(suspended.suspended_at.is_some());
    assert_eq!(store.change_tenant("a", suspend(true)).await.unwrap(), suspended, "since when it is stays");
    let change = TenantChange { name: Some("new".into()), settings: Some(json!({})), ..TenantChange::default() };
    let changed = store.change_tenant("a", change).await.unwrap();
    assert_eq!((changed.name.as_str(), &changed.settings), ("new", &json!({})), "settings are replaced");
    assert_eq!(changed.suspended_at, suspended.suspended_at);
    assert_eq!(store.tenant("a").await.unwrap(), changed);
    assert_eq!(store.change_tenant("a", suspend(false)).await.unwrap().suspended_at, None);
    assert_eq!(store.tenant("a").await.unwrap().created_at, made.created_at);
    assert_eq!(store.tenant("b").await.unwrap().name, "Tenant b");
    assert_eq!(store.change_tenant("c", suspend(true)).await, Err(no_tenant("c")));
}

pub(super) async fn the_local_tenant_is_there_and_stays(store: &impl Tenants) {
    assert_eq!(store.tenant(LOCAL_TENANT).await.unwrap().settings, json!({}));
    assert_eq!(store.create_tenant(tenant(LOCAL_TENANT)).await, Err(StoreError::TenantTaken(LOCAL_TENANT.into())));
    assert!(matches!(store.delete_tenant(LOCAL_TENANT).await, Err(StoreError::Invalid(_))));
    store.add_key(LOCAL_TENANT, new_key("k", 1)).await.unwrap();
    assert_eq!(store.keys(LOCAL_TENANT).await.unwrap().len(), 1);
}

/// A store with all that can belong to a tenant, for each of some tenants.
async fn filled<S>(store: &S, tenants: &[&str])
where
    S: Tenants + Store + Spaces + RunEvents + Idempotency + OpenRuns,
{
    for (tenant, secret) in tenants.iter().zip(1..) {
        store.create_tenant(self::tenant(tenant)).await.unwrap();
        store.add_key(tenant, new_key("k", secret)).await.unwrap();
        let lease = begun(store, tenant, "s").await;
        store.record(&lease, &batch(vec![user("more")])).await.unwrap();
        store.append(&lease, 1, &["{}".into()]).await.unwrap();
        store.end(&lease, &answered(3)).await.unwrap();
        store.enqueue(&message(&lease.session, "m")).await.unwrap();
        let record = AuditRecord {
            tenant: (*tenant).into(),
            at: None,
            session: None,
            run: None,
            kind: "denial".into(),
            detail: json!({}),
        };
        store.audit(&record).await.unwrap();
        let space = Space { tenant: (*tenant).into(), name: "plugin".into() };
        assert_eq!(store.keep(&space, "key", b"value", 100).await.unwrap(), Kept::Yes);
        let fresh = Idempotency::begin(store, tenant, "r", [7; 32], LASTS).await.unwrap();
        assert_eq!(fresh, Begun::Fresh);
        store.finish(tenant, "r", "1").await.unwrap();
        // Of this one only what it used up is left.
        let gone = begun(store, tenant, "gone").await;
        store.end(&gone, &answered(5)).await.unwrap();
        store.delete(&gone.session).await.unwrap();
    }
}

/// How much of everything a tenant has.
async fn belongings<S>(store: &S, tenant: &str) -> [usize; 7]
where
    S: Tenants + Store + Spaces + RunEvents + Idempotency + OpenRuns,
{
    let listing = Listing { tenant: tenant.into(), delegated: true, ..Listing::default() };
    let space = Space { tenant: tenant.into(), name: "plugin".into() };
    let usage = UsageQuery { tenant: tenant.into(), by: Span::Agent, since: None, agent: None };
    [
        store.sessions(&listing).await.unwrap().len(),
        store.audits(tenant, None, 9).await.unwrap().len(),
        usize::from(store.usage(&usage).await.unwrap().iter().map(|row| row.runs).sum::<u64>() == 2),
        Spaces::keys(store, &space, "").await.unwrap().len(),
        Tenants::keys(store, tenant).await.map_or(0, |keys| keys.len()),
        usize::from(store.value(&space, "key").await.unwrap().is_some()),
        store.next_queued(&key(tenant, "s")).await.map_or(0, |queued| usize::from(queued.is_some())),
    ]
}

pub(super) async fn a_deleted_tenant_leaves_nothing_behind<S>(store: &S)
where
    S: Tenants + Store + Spaces + RunEvents + Idempotency + OpenRuns,
{
    filled(store, &["a", "b"]).await;
    let run = store.last_run(&key("a", "s")).await.unwrap().unwrap().id;
    assert_eq!(belongings(store, "a").await, [1; 7]);
    store.delete_tenant("a").await.unwrap();
    assert_eq!(belongings(store, "a").await, [0; 7]);
    let usage = UsageQuery { tenant: "a".into(), by: Span::Agent, since: None, agent: None };
    assert!(store.usage(&usage).await.unwrap().is_empty(), "also what deleted sessions used up");
    assert_eq!(store.events("a", &run, 0, 9).await, Err(StoreError::NoRun(run.clone())));
    assert_eq!(store.entries(&key("a", "s"), 0, 9).await, Err(StoreError::NoSession("s".into())));
    assert_eq!(store.calls("a", &run).await, Err(StoreError::NoRun(run)));
    assert_eq!(store.key(&[1; 32]).await.unwrap(), None, "its key opens nothing");
    assert_eq!(belongings(store, "b").await, [1; 7], "what another has is as it was");
    assert_eq!(store.key(&[2; 32]).await.unwrap().unwrap().tenant, "b");
    let done = Idempotency::begin(store, "b", "r", [7; 32], LASTS).await.unwrap();
    assert_eq!(done, Begun::Done("1".into()));
}

pub(super) async fn a_tenant_is_not_deleted_while_a_run_of_it_is_held(store: &(impl Tenants + Store)) {
    store.create_tenant(tenant("a")).await.unwrap();
    let lease = begun(store, "a", "s").await;
    store.create(session("a", "idle")).await.unwrap();
    let busy = StoreError::Busy { session: "s".into(), owner: "somebody".into() };
    assert_eq!(store.delete_tenant("a").await, Err(busy));
    store.record(&lease, &batch(vec![user("still here")])).await.unwrap();
    store.end(&lease, &answered(1)).await.unwrap();
    // A holder whose lease has lapsed is in nobody's way, and learns of it.
    let lapsed = NewRun { lasts: Duration::ZERO, ..run(&key("a", "idle"), "slow", vec![]) };
    let lapsed = Store::begin(store, lapsed).await.unwrap();
    store.delete_tenant("a").await.unwrap();
    let late = store.record(&lapsed, &batch(vec![user("late")])).await;
    assert_eq!(late, Err(StoreError::NoSession("idle".into())));
}

pub(super) async fn nothing_is_written_for_a_tenant_that_was_deleted<S>(store: &S)
where
    S: Tenants + Store + Spaces + RunEvents + Idempotency + OpenRuns,
{
    filled(store, &["a"]).await;
    store.delete_tenant("a").await.unwrap();
    assert_eq!(store.create(session("a", "new")).await, Err(no_tenant("a")));
    let audit = AuditRecord {
        tenant: "a".into(),
        at: None,
        session: None,
        run: None,
        kind: "denial".into(),
        detail: json!({}),
    };
    assert_eq!(store.audit(&audit).await, Err(no_tenant("a")));
    let space = Space { tenant: "a".into(), name: "plugin".into() };
    assert_eq!(store.keep(&space, "key", b"value", 100).await, Err(no_tenant("a")));
    assert_eq!(Idempotency::begin(store, "a", "new", [7; 32], LASTS).await, Err(no_tenant("a")));
    assert_eq!(store.add_key("a", new_key("new", 9)).await, Err(no_tenant("a")));
    assert_eq!(belongings(store, "a").await, [0; 7]);
}

pub(super) async fn of_many_who_make_the_same_tenant_one_does(store: &impl Tenants) {
    let made = join_all((0..12).map(|number| {
        let new = NewTenant { name: format!("number {number}"), ..tenant("a") };
        async move { store.create_tenant(new).await }
    }))
    .await;
    let winners: Vec<_> = made.iter().filter_map(|made| made.as_ref().ok()).collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(store.tenant("a").await.unwrap(), *winners[0]);
    let others = made.iter().filter(|made| matches!(made, Err(StoreError::TenantTaken(_)))).count();
    assert_eq!(others, 11, "{made:?}");
}

pub(super) async fn a_key_is_found_by_its_hash_alone(store: &impl Tenants) {
    store.create_tenant(tenant("a")).await.unwrap();
    let expires_at = Some(Timestamp::from_second(4_000_000_000).unwrap());
    let scopes = vec!["runs:write".to_owned(), "é".to_owned()];
    let new = NewKey { scopes: scopes.clone(), expires_at, label: " CI ".into(), ..new_key("k1", 1) };
    let added = store.add_key("a", new).await.unwrap();
    assert_eq!((added.tenant.as_str(), added.id.as_str(), added.label.as_str()), ("a", "k1", "CI"));
    assert_eq!((&added.scopes, added.expires_at), (&scopes, expires_at));
    assert_eq!((added.revoked_at, added.last_used_at), (None, None));
    assert_eq!(store.key(&[1; 32]).await.unwrap().as_ref(), Some(&added));
    assert_eq!(store.key(&[2; 32]).await.unwrap(), None);
    store.add_key("a", new_key("k2", 2)).await.unwrap();
    let ids: Vec<String> = store.keys("a").await.unwrap().into_iter().map(|key| key.id).collect();
    assert_eq!(ids, ["k1", "k2"]);

    store.used_key("a", "k1").await.unwrap();
    let used = store.key(&[1; 32]).await.unwrap().unwrap().last_used_at.unwrap();
    store.used_key("a", "k1").await.unwrap();
    let again = store.key(&[1; 32]).await.unwrap().unwrap().last_used_at.unwrap();
    assert_eq!(used, again, "once a minute is enough");
    assert_eq!(store.key(&[2; 32]).await.unwrap().unwrap().last_used_at, None);
}

pub(super) async fn a_key_of_another_tenant_is_not_there(store: &impl Tenants) {
    for (id, secret) in [("a", 1), ("b", 2)] {
        store.create_tenant(tenant(id)).await.unwrap();
        store.add_key(id, new_key(&format!("of-{id}"), secret)).await.unwrap();
    }
    let not_there = || Err(StoreError::NoKey("of-b".into()));
    assert_eq!(store.revoke_key("a", "of-b").await, not_there());
    assert_eq!(store.used_key("a", "of-b").await, not_there());
    assert_eq!(store.revoke_key("nobody", "of-b").await, not_there());
    let untouched = store.key(&[2; 32]).await.unwrap().unwrap();
    assert_eq!((untouched.revoked_at, untouched.last_used_at), (None, None));
    assert_eq!(store.keys("a").await.unwrap().len(), 1);
    assert_eq!(store.keys("nobody").await, Err(no_tenant("nobody")));
    // The same id is another's as well; the same secret is not.
    store.add_key("a", new_key("of-b", 3)).await.unwrap();
    assert_eq!(store.add_key("a", new_key("stolen", 2)).await, Err(StoreError::KeyTaken("stolen".into())));
    assert_eq!(store.key(&[2; 32]).await.unwrap().unwrap().tenant, "b");
}

pub(super) async fn a_revoked_key_stays_revoked(store: &impl Tenants) {
    store.create_tenant(tenant("a")).await.unwrap();
    store.add_key("a", new_key("k", 1)).await.unwrap();
    assert!(store.key(&[1; 32]).await.unwrap().unwrap().counts_at(Timestamp::now()));
    store.revoke_key("a", "k").await.unwrap();
    let revoked = store.key(&[1; 32]).await.unwrap().unwrap();
    assert!(!revoked.counts_at(Timestamp::now()));
    store.revoke_key("a", "k").await.unwrap();
    assert_eq!(store.key(&[1; 32]).await.unwrap().unwrap(), revoked, "when that was stays");
    for id in ["k", "other"] {
        let again = store.add_key("a", new_key(id, 1)).await;
        assert_eq!(again, Err(StoreError::KeyTaken(id.into())), "a secret that was revoked does not come back");
    }
    assert_eq!(store.revoke_key("a", "none").await, Err(StoreError::NoKey("none".into())));
    assert!(matches!(store.revoke_key("a", "\0").await, Err(StoreError::NoKey(_))));
}

pub(super) async fn what_is_no_key_is_refused(store: &impl Tenants) {
    store.create_tenant(tenant("a")).await.unwrap();
    for (what, key) in [
        ("id", new_key("a b", 1)),
        ("empty id", new_key("", 1)),
        ("label", NewKey { label: "\n".into(), ..new_key("k", 1) }),
        ("scope", NewKey { scopes: vec![String::new()], ..new_key("k", 1) }),
        ("long scope", NewKey { scopes: vec!["s".repeat(129)], ..new_key("k", 1) }),
        ("many scopes", NewKey { scopes: vec!["s".into(); 65], ..new_key("k", 1) }),
    ] {
        let added = store.add_key("a", key).await;
        assert!(matches!(added, Err(StoreError::Invalid(_))), "{what}: {added:?}");
    }
    for nobody in ["b", "", "\0"] {
        let added = store.add_key(nobody, new_key("k", 1)).await;
        assert!(matches!(added, Err(StoreError::NoTenant(_))), "{nobody:?}: {added:?}");
    }
    assert_eq!(store.keys("a").await.unwrap(), []);
}

pub(super) async fn of_many_who_add_the_same_key_one_does(store: &impl Tenants) {
    store.create_tenant(tenant("a")).await.unwrap();
    store.create_tenant(tenant("b")).await.unwrap();
    // The same secret by another id or for another tenant is no other key.
    let add = |number: usize| async move {
        let tenant = if number.is_multiple_of(2) { "a" } else { "b" };
        store.add_key(tenant, new_key(&format!("k{number}"), 1)).await
    };
    let added = join_all((0..12).map(add)).await;
    assert_eq!(added.iter().filter(|added| added.is_ok()).count(), 1);
    assert_eq!(added.iter().filter(|added| matches!(added, Err(StoreError::KeyTaken(_)))).count(), 11, "{added:?}");
    let all = [store.keys("a").await.unwrap(), store.keys("b").await.unwrap()].concat();
    assert_eq!(all, [store.key(&[1; 32]).await.unwrap().unwrap()]);
}
