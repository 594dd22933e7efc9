//! What else is done with sessions, so that a worker can die in the middle of that, too.

use std::time::Duration;

use palisade_agent::{
    AuditRecord, Batch, Budget, Change, Ending, Entry, LOCAL_TENANT, NewRun, NewSession, Queued, RunEnd, SessionKey,
    Spending, Store, StoreError,
};
use serde_json::json;

use crate::worker::acknowledge;

/// Begins a session, changes it, lets a message wait for it and be answered, clears it and deletes it.
pub(crate) async fn all(store: &dyn Store) -> Result<(), StoreError> {
    let number = getrandom::u64().map_err(|error| StoreError::Invalid(error.to_string()))?;
    let id = format!("side-{number:x}");
    let key = SessionKey::new(LOCAL_TENANT, &id);
    let new = NewSession { id: Some(id.clone()), ..NewSession::with(LOCAL_TENANT, "side") };
    store.create(new).await?;
    store.change(&key, Change::Name(Some(id.clone()))).await?;
    store.change(&key, Change::Pinned(true)).await?;
    let (tenant, session) = (LOCAL_TENANT.to_owned(), Some(id.clone()));
    let (at, run, kind, detail) = (None, None, "chore".to_owned(), json!({}));
    store.audit(&AuditRecord { tenant, at, session, run, kind, detail }).await?;

    let message =
        Queued { id: format!("message-{id}"), session: key.clone(), text: "wait".to_owned(), about: json!({}) };
    store.enqueue(&message).await?;
    let new = NewRun {
        session: key.clone(),
        agent: "side".to_owned(),
        model: "none".to_owned(),
        parent: None,
        parent_call: None,
        queued: Some(message.id),
        entries: vec![Entry::User { text: message.text }],
        after: None,
        budget: Budget::default(),
        owner: palisade_store::this_process().to_owned(),
        lasts: Duration::from_secs(30),
    };
    let lease = store.begin(new).await?;
    store.renew(&lease).await?;
    let answer = Entry::Reply { text: "waited".to_owned(), thinking: String::new(), calls: Vec::new(), kept: None };
    store.record(&lease, &Batch { entries: vec![answer], ..Batch::default() }).await?;
    store.end(&lease, &RunEnd { ending: Ending::Answered, spending: Spending::default() }).await?;
    store.clear(&key).await?;
    store.delete(&key).await?;
    acknowledge(&format!("gone {id}"));
    Ok(())
}
