//! The same steps in memory and in a database.

use std::{fmt::Debug, time::Duration};

use palisade_agent::{Lease, NewRun, SessionKey, Store, StoreError};
use palisade_store::{
    Clock, Idempotency, KeyRecord, Memory, OpenRuns, Postgres, RunEvents, Space, Spaces, Sqlite, Tenant, TenantChange,
    Tenants,
};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::json;

use crate::{
    cluster,
    conformance::tenants::{new_key, tenant},
    said::{LASTS, answered, run, session},
};

trait Whole: Store + Spaces + Tenants + RunEvents + OpenRuns + Idempotency {}
impl<S: Store + Spaces + Tenants + RunEvents + OpenRuns + Idempotency> Whole for S {}

/// One thing that is done, with few names, so that steps meet. Leases are meant by when they were given out.
#[derive(Clone, Debug)]
enum Step {
    MakeTenant(&'static str),
    ChangeTenant(&'static str, Option<bool>, bool),
    DeleteTenant(&'static str),
    AddKey(&'static str, &'static str, u8),
    RevokeKey(&'static str, &'static str),
    UseKey(&'static str, &'static str),
    MakeSession(SessionKey),
    ClearSession(SessionKey),
    BeginRun(SessionKey, bool),
    ClaimRun(usize),
    EndRun(usize),
    Append(usize, u64, Vec<u8>),
    BeginRequest(&'static str, &'static str, u8, bool),
    FinishRequest(&'static str, &'static str, u8),
    ForgetRequest(&'static str, &'static str),
    Keep(&'static str, u8),
    Clock(i64),
}

fn steps() -> impl Strategy<Value = Step> {
    let of = || prop::sample::select(vec!["a", "a", "a", "b", "local", "-"]);
    let name = || prop::sample::select(vec!["k", "k", "m"]);
    let session = || {
        prop::sample::select(vec![("a", "s"), ("a", "s"), ("a", "t"), ("b", "s")])
            .prop_map(|(tenant, id)| SessionKey::new(tenant, id))
    };
    let lease = || prop_oneof![4 => Just(0), 1 => 0..8_usize];
    prop_oneof![
        4 => of().prop_map(Step::MakeTenant),
        2 => (of(), any::<Option<bool>>(), any::<bool>()).prop_map(|(id, suspended, renames)| Step::ChangeTenant(id, suspended, renames)),
        1 => of().prop_map(Step::DeleteTenant),
        3 => (of(), name(), 0..3_u8).prop_map(|(of, id, secret)| Step::AddKey(of, id, secret)),
        1 => (of(), name()).prop_map(|(of, id)| Step::RevokeKey(of, id)),
        2 => (of(), name()).prop_map(|(of, id)| Step::UseKey(of, id)),
        4 => session().prop_map(Step::MakeSession),
        1 => session().prop_map(Step::ClearSession),
        5 => (session(), any::<bool>()).prop_map(|(key, lapses)| Step::BeginRun(key, lapses)),
        2 => lease().prop_map(Step::ClaimRun),
        2 => lease().prop_map(Step::EndRun),
        8 => (lease(), 0..5_u64, vec(0..2_u8, 0..4)).prop_map(|(lease, first, events)| Step::Append(lease, first, events)),
        5 => (of(), name(), 0..2_u8, any::<bool>()).prop_map(|(of, key, print, lapses)| Step::BeginRequest(of, key, print, lapses)),
        3 => (of(), name(), 0..2_u8).prop_map(|(of, key, answer)| Step::FinishRequest(of, key, answer)),
        1 => (of(), name()).prop_map(|(of, key)| Step::ForgetRequest(of, key)),
        2 => (of(), 0..3_u8).prop_map(|(of, value)| Step::Keep(of, value)),
        3 => prop::sample::select(vec![-30, -1, 1, 30]).prop_map(Step::Clock),
    ]
}

/// A store and the leases that it gave out.
struct Side<'s> {
    store: &'s dyn Whole,
    leases: Vec<Lease>,
}

fn said<T: Debug>(outcome: Result<T, StoreError>) -> String {
    match outcome {
        Ok(made) => format!("{made:?}"),
        Err(error) => format!("{error:?}"),
    }
}

fn timeless(tenant: Tenant) -> String {
    format!("{} {} {} {}", tenant.id, tenant.name, tenant.settings, tenant.suspended_at.is_some())
}

fn timeless_key(key: &KeyRecord) -> String {
    let (revoked, used) = (key.revoked_at.is_some(), key.last_used_at.is_some());
    format!("{} {} {} {:?} {revoked} {used}", key.tenant, key.id, key.label, key.scopes)
}

impl Side<'_> {
    fn lease(&self, index: usize) -> Option<&Lease> {
        let count = self.leases.len();
        self.leases.get(count.checked_sub(1 + index % count.max(1))?)
    }

    /// Runs are called by when they began, since each store names them by itself.
    fn unnamed(&self, text: String) -> String {
        self.leases
            .iter()
            .enumerate()
            .fold(text, |text, (number, lease)| text.replace(&lease.run, &format!("run {number}")))
    }

    async fn take(&mut self, step: &Step) -> String {
        let store = self.store;
        let text = match step {
            Step::MakeTenant(id) => said(store.create_tenant(tenant(id)).await.map(timeless)),
            Step::ChangeTenant(id, suspended, renames) => {
                let name = renames.then(|| "new".to_owned());
                let settings = renames.then(|| json!({ "new": true }));
                let change = TenantChange { name, settings, suspended: *suspended };
                said(store.change_tenant(id, change).await.map(timeless))
            }
            Step::DeleteTenant(id) => said(store.delete_tenant(id).await),
            Step::AddKey(of, id, secret) => {
                said(store.add_key(of, new_key(id, *secret)).await.map(|key| timeless_key(&key)))
            }
            Step::RevokeKey(of, id) => said(store.revoke_key(of, id).await),
            Step::UseKey(of, id) => said(store.used_key(of, id).await),
            Step::MakeSession(key) => said(store.create(session(&key.tenant, &key.id)).await.map(|made| made.id)),
            Step::ClearSession(key) => said(store.clear(key).await.map(|cleared| cleared.id)),
            Step::BeginRun(key, lapses) => {
                let lasts = if *lapses { Duration::ZERO } else { LASTS };
                let begun = Store::begin(store, NewRun { lasts, ..run(key, "w", vec![]) }).await;
                begun.map_or_else(|error| said::<()>(Err(error)), |lease| self.hold(lease))
            }
            Step::ClaimRun(index) => match self.lease(*index).cloned() {
                Some(lease) => {
                    let claimed = store.claim(&lease.session.tenant, &lease.run, "x", LASTS).await;
                    claimed.map_or_else(|error| said::<()>(Err(error)), |lease| self.hold(lease))
                }
                None => String::new(),
            },
            Step::EndRun(index) => match self.lease(*index) {
                Some(lease) => said(store.end(lease, &answered(1)).await),
                None => String::new(),
            },
            Step::Append(index, first, events) => match self.lease(*index) {
                Some(lease) => {
                    let events: Vec<String> = events.iter().map(u8::to_string).collect();
                    said(store.append(lease, *first, &events).await)
                }
                None => String::new(),
            },
            Step::BeginRequest(of, key, print, lapses) => {
                let lasts = if *lapses { Duration::ZERO } else { LASTS };
                said(Idempotency::begin(store, of, key, [*print; 32], lasts).await)
            }
            Step::FinishRequest(of, key, answer) => said(store.finish(of, key, &answer.to_string()).await),
            Step::ForgetRequest(of, key) => said(Idempotency::forget(store, of, key).await),
            Step::Keep(of, value) => {
                let space = Space { tenant: (*of).into(), name: "plugin".into() };
                said(store.keep(&space, "key", &[*value], 100).await)
            }
            Step::Clock(_) => String::new(),
        };
        self.unnamed(text)
    }

    fn hold(&mut self, lease: Lease) -> String {
        let text = format!("{:?} {}", lease.session, lease.token);
        self.leases.push(lease);
        text
    }

    /// All that can be asked.
    async fn look(&self) -> Vec<String> {
        let store = self.store;
        let mut seen: Vec<String> = store.tenants(None, 99).await.unwrap().into_iter().map(timeless).collect();
        for tenant in ["a", "b", "local"] {
            let keys = Tenants::keys(store, tenant).await;
            seen.push(said(keys.map(|keys| keys.iter().map(timeless_key).collect::<std::collections::BTreeSet<_>>())));
            let space = Space { tenant: tenant.into(), name: "plugin".into() };
            seen.push(said(store.value(&space, "key").await));
            let mut open: Vec<String> = store
                .open_runs(Some(tenant), None, 99)
                .await
                .unwrap()
                .into_iter()
                .map(|run| self.unnamed(run.id))
                .collect();
            open.sort();
            seen.push(format!("{open:?}"));
        }
        let mut open: Vec<String> =
            store.open_runs(None, None, 99).await.unwrap().into_iter().map(|run| self.unnamed(run.id)).collect();
        open.sort();
        seen.push(format!("{open:?}"));
        for secret in 0..3 {
            seen.push(said(store.key(&[secret; 32]).await.map(|key| key.as_ref().map(timeless_key))));
        }
        for lease in &self.leases {
            for tenant in ["a", "b"] {
                seen.push(self.unnamed(said(store.events(tenant, &lease.run, 1, 3).await)));
                seen.push(self.unnamed(said(store.last_event(tenant, &lease.run).await)));
            }
        }
        seen
    }
}

async fn compare(steps: &[Step], real: &dyn Whole, clock: &Clock) {
    let model = Memory::by(clock.clone());
    let [mut model, mut real] = [Side { store: &model, leases: vec![] }, Side { store: real, leases: vec![] }];
    for (number, step) in steps.iter().enumerate() {
        if let Step::Clock(hours) = step {
            clock.shift(hours * 3_600_000_000);
        }
        let [expected, found] = [model.take(step).await, real.take(step).await];
        assert_eq!(expected, found, "{number}: {step:?}");
        assert_eq!(model.look().await, real.look().await, "{number}: after {step:?}");
    }
}

fn check(cases: u32, compare: impl Fn(Vec<Step>)) {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let outcome = TestRunner::new(config).run(&vec(steps(), 1..50), |steps| {
        compare(steps);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// STO-11
#[test]
fn a_file_keeps_what_memory_keeps_for_a_server() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    check(48, |steps| {
        runtime.block_on(async {
            let (folder, clock) = (tempfile::tempdir().unwrap(), Clock::default());
            let store = Sqlite::open_by(folder.path().join("store.db"), clock.clone()).await.unwrap();
            compare(&steps, &store, &clock).await;
        });
    });
}

/// STO-11
#[test]
fn a_server_keeps_what_memory_keeps_for_a_server() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    check(10, |steps| {
        runtime.block_on(async {
            let Some(address) = cluster::database().await else { return };
            let clock = Clock::default();
            let store = Postgres::connect_by(&address, clock.clone()).await.unwrap();
            compare(&steps, &store, &clock).await;
            store.close().await;
        });
    });
}
