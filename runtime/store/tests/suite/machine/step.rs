//! What can be done to a store, with few names, so that steps meet.

use palisade_agent::{Change, SessionKey};
use proptest::{collection::vec, prelude::*};
use serde_json::json;

/// One thing that is done. Leases are meant by when they were given out.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Create {
        key: SessionKey,
        name: Option<String>,
        is_below: bool,
        is_copy: bool,
    },
    Change {
        key: SessionKey,
        change: Change,
    },
    Clear(SessionKey),
    Delete(SessionKey),
    Begin {
        key: SessionKey,
        owner: String,
        entries: usize,
        queued: Option<String>,
        lapses: bool,
    },
    Claim {
        lease: usize,
        owner: String,
    },
    Renew(usize),
    Record {
        lease: usize,
        entries: usize,
        intents: Vec<u8>,
        results: Vec<u8>,
        spends: bool,
    },
    End {
        lease: usize,
        answers: bool,
    },
    Enqueue {
        key: SessionKey,
        id: String,
    },
    Audit {
        key: SessionKey,
    },
    /// The clock is set ahead or back by so many hours.
    Clock(i64),
    /// The store is closed and opened again.
    Reopen,
    /// The process is gone, and another one finds what is on the disk.
    Crash,
}

/// Mostly the same one, so that what is done meets what was done before.
fn key() -> impl Strategy<Value = SessionKey> {
    prop_oneof![
        6 => Just(SessionKey::new("a", "s0")),
        2 => Just(SessionKey::new("a", "s1")),
        1 => Just(SessionKey::new("a", "s2")),
        2 => Just(SessionKey::new("b", "s0")),
    ]
}

fn owner() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["w0", "w1"]).prop_map(str::to_owned)
}

fn message() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["m0", "m1"]).prop_map(str::to_owned)
}

/// Often none: most of what is done with calls at random is refused.
fn calls() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![2 => Just(Vec::new()), 1 => vec(0..4_u8, 1), 1 => vec(0..4_u8, 0..3)]
}

fn change() -> impl Strategy<Value = Change> {
    let name = prop::option::of(prop::sample::select(vec!["One", "ONE", "two", "", "bad\n"]));
    prop_oneof![
        name.prop_map(|name| Change::Name(name.map(str::to_owned))),
        any::<bool>().prop_map(Change::Pinned),
        prop::sample::select(vec![
            json!({ "x": { "y": 1 } }),
            json!({ "x": { "y": null, "z": [] } }),
            json!({ "x": null }),
            json!(1)
        ])
        .prop_map(Change::Attributes),
    ]
}

/// All steps; those that make something happen more often.
pub(super) fn steps() -> impl Strategy<Value = Step> {
    // The latest is the one that still counts.
    let lease = || prop_oneof![4 => Just(0), 1 => 0..64_usize];
    let name = prop::option::of(prop::sample::select(vec!["one", "Two"]));
    prop_oneof![
        6 => (key(), name, any::<bool>(), any::<bool>()).prop_map(|(key, name, is_below, is_copy)| {
            Step::Create { key, name: name.map(str::to_owned), is_below, is_copy }
        }),
        3 => (key(), change()).prop_map(|(key, change)| Step::Change { key, change }),
        1 => key().prop_map(Step::Clear),
        1 => key().prop_map(Step::Delete),
        8 => (key(), owner(), 0..3_usize, prop::option::of(message()), any::<bool>())
            .prop_map(|(key, owner, entries, queued, lapses)| Step::Begin { key, owner, entries, queued, lapses }),
        4 => (lease(), owner()).prop_map(|(lease, owner)| Step::Claim { lease, owner }),
        1 => lease().prop_map(Step::Renew),
        12 => (lease(), 0..3_usize, calls(), calls(), any::<bool>())
            .prop_map(|(lease, entries, intents, results, spends)| Step::Record { lease, entries, intents, results, spends }),
        4 => (lease(), any::<bool>()).prop_map(|(lease, answers)| Step::End { lease, answers }),
        4 => (key(), message()).prop_map(|(key, id)| Step::Enqueue { key, id }),
        1 => key().prop_map(|key| Step::Audit { key }),
        3 => prop::sample::select(vec![-30, -1, 1, 30]).prop_map(Step::Clock),
        1 => Just(Step::Reopen),
        1 => Just(Step::Crash),
    ]
}
