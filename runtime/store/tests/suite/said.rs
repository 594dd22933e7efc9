//! Things to store.

use std::time::Duration;

use palisade_agent::{
    Batch, Budget, Ending, Entry, Intent, Lease, NewRun, NewSession, Queued, RunEnd, SessionKey, Spending, Store,
    ToolCall, ToolResult, Usage,
};
use serde_json::json;

/// How long leases last in tests: longer than any test takes.
pub(crate) const LASTS: Duration = Duration::from_secs(600);

pub(crate) fn key(tenant: &str, id: &str) -> SessionKey {
    SessionKey::new(tenant, id)
}

pub(crate) fn session(tenant: &str, id: &str) -> NewSession {
    NewSession { id: Some(id.into()), ..NewSession::with(tenant, "clerk") }
}

pub(crate) fn user(text: &str) -> Entry {
    Entry::User { text: text.into() }
}

pub(crate) fn reply(text: &str, calls: &[&str]) -> Entry {
    Entry::Reply {
        text: text.into(),
        thinking: String::new(),
        calls: calls.iter().map(|id| call(id)).collect(),
        kept: None,
    }
}

pub(crate) fn result(id: &str) -> Entry {
    Entry::Result { id: id.into(), result: ToolResult::done("done") }
}

pub(crate) fn call(id: &str) -> ToolCall {
    ToolCall { id: id.into(), tool: "write".into(), input: json!({ "path": "a" }) }
}

pub(crate) fn intent(id: &str) -> Intent {
    Intent { call: call(id), idempotent: id.len().is_multiple_of(2) }
}

pub(crate) fn run(key: &SessionKey, owner: &str, entries: Vec<Entry>) -> NewRun {
    NewRun {
        session: key.clone(),
        agent: "clerk".into(),
        model: "offline".into(),
        parent: None,
        parent_call: None,
        queued: None,
        entries,
        after: None,
        budget: Budget::default(),
        owner: owner.into(),
        lasts: LASTS,
    }
}

pub(crate) fn batch(entries: Vec<Entry>) -> Batch {
    Batch { entries, ..Batch::default() }
}

pub(crate) fn spending(tokens: u64) -> Spending {
    let usage = Usage { input_tokens: tokens, output_tokens: 1, ..Usage::default() };
    Spending { steps: 1, calls: 2, usage, time: Duration::from_micros(tokens) }
}

pub(crate) fn answered(tokens: u64) -> RunEnd {
    RunEnd { ending: Ending::Answered, spending: spending(tokens) }
}

pub(crate) fn message(key: &SessionKey, id: &str) -> Queued {
    Queued { id: id.into(), session: key.clone(), text: format!("words of {id}\0"), about: json!({ "from": id }) }
}

/// Begins a session and a run of it.
pub(crate) async fn begun(store: &dyn Store, tenant: &str, id: &str) -> Lease {
    store.create(session(tenant, id)).await.unwrap();
    store.begin(run(&key(tenant, id), "somebody", vec![user("hello")])).await.unwrap()
}

/// The numbers of the entries of a session.
pub(crate) async fn numbers(store: &dyn Store, key: &SessionKey) -> Vec<u64> {
    store.entries(key, 0, usize::MAX).await.unwrap().iter().map(|numbered| numbered.number).collect()
}
