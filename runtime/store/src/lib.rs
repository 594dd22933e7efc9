//! What lasts: sessions, what was said in them, the runs that work on them, and what tools keep ([`Spaces`]); and
//! what a server keeps beside that: [`Tenants`], [`RunEvents`], [`Idempotency`], [`OpenRuns`].
//!
//! [`open`] gives a [`palisade_agent::Store`] by its address: a file of SQLite (the default), a Postgres server,
//! or the memory of this process. Whichever it is behaves the same; one suite of tests holds for all three.

mod clock;
mod database;
mod events;
mod examine;
pub mod export;
mod idempotency;
mod memory;
mod owner;
mod postgres;
mod rules;
mod runs;
mod spaces;
mod sql;
mod sqlite;
mod tenants;
mod usage;
mod whole;

use std::{pin::Pin, sync::Arc};

use palisade_agent::{Store, StoreError};

pub use clock::Clock;
pub use database::{Database, open_database};
pub use events::{LARGEST_EVENT, MOST_EVENTS, RunEvents};
pub use examine::{Examined, examine};
pub use idempotency::{Begun, Idempotency, KEPT};
pub use memory::Memory;
pub use owner::this_process;
pub use postgres::Postgres;
pub use runs::OpenRuns;
pub use spaces::{Kept, Space, Spaces, open_spaces};
pub use sql::Sql;
pub use sqlite::Sqlite;
pub use tenants::{KeyRecord, MOST_KEYS, NewKey, NewTenant, Tenant, TenantChange, Tenants};

/// The instants between one durable step and the next at which a process may be killed.
pub const INSTANTS: &[&str] = &[
    "store.migrate.begin",
    "store.migrate.before_commit",
    "store.create.begin",
    "store.create.session",
    "store.create.before_commit",
    "store.create.after_commit",
    "store.change.begin",
    "store.change.before_commit",
    "store.change.after_commit",
    "store.clear.begin",
    "store.clear.before_commit",
    "store.clear.after_commit",
    "store.delete.begin",
    "store.delete.usage",
    "store.delete.before_commit",
    "store.delete.after_commit",
    "store.begin.begin",
    "store.begin.message",
    "store.begin.run",
    "store.begin.entries",
    "store.begin.before_commit",
    "store.begin.after_commit",
    "store.claim.begin",
    "store.claim.session",
    "store.claim.before_commit",
    "store.claim.after_commit",
    "store.renew.begin",
    "store.renew.before_commit",
    "store.renew.after_commit",
    "store.record.begin",
    "store.record.intents",
    "store.record.results",
    "store.record.entries",
    "store.record.before_commit",
    "store.record.after_commit",
    "store.end.begin",
    "store.end.run",
    "store.end.before_commit",
    "store.end.after_commit",
    "store.enqueue.begin",
    "store.enqueue.message",
    "store.enqueue.before_commit",
    "store.enqueue.after_commit",
    "store.audit.begin",
    "store.audit.before_commit",
    "store.audit.after_commit",
];

/// The same for the spaces of tools, which no session is part of.
pub const SPACE_INSTANTS: &[&str] = &["store.keep.begin", "store.keep.before_commit", "store.keep.after_commit"];

/// The same for what a server keeps beside sessions.
pub const SERVER_INSTANTS: &[&str] = &[
    "store.create_tenant.begin",
    "store.create_tenant.before_commit",
    "store.create_tenant.after_commit",
    "store.change_tenant.begin",
    "store.change_tenant.before_commit",
    "store.change_tenant.after_commit",
    "store.delete_tenant.begin",
    "store.delete_tenant.rows",
    "store.delete_tenant.before_commit",
    "store.delete_tenant.after_commit",
    "store.add_key.begin",
    "store.add_key.before_commit",
    "store.add_key.after_commit",
    "store.revoke_key.begin",
    "store.revoke_key.before_commit",
    "store.revoke_key.after_commit",
    "store.use_key.begin",
    "store.use_key.before_commit",
    "store.use_key.after_commit",
    "store.append.begin",
    "store.append.before_commit",
    "store.append.after_commit",
    "store.begin_request.begin",
    "store.begin_request.before_commit",
    "store.begin_request.after_commit",
    "store.finish_request.begin",
    "store.finish_request.before_commit",
    "store.finish_request.after_commit",
    "store.forget_request.begin",
    "store.forget_request.before_commit",
    "store.forget_request.after_commit",
];

/// A store that is being opened.
pub type Opening = Pin<Box<dyn Future<Output = Result<Arc<dyn Store>, StoreError>> + Send>>;

/// The same as [`open`], as a value that can be handed on.
pub fn open_boxed(address: String) -> Opening {
    Box::pin(async move { open(&address).await })
}

/// Opens what an address means: `sqlite:PATH`, `postgres://…` or `memory:`.
pub async fn open(address: &str) -> Result<Arc<dyn Store>, StoreError> {
    match address.split_once(':') {
        Some(("memory", "")) => Ok(Arc::new(Memory::new())),
        Some(("sqlite", path)) if !path.is_empty() => Ok(Arc::new(Sqlite::open(path).await?)),
        Some(("postgres" | "postgresql", _)) => Ok(Arc::new(Postgres::connect(address).await?)),
        _ => Err(no_address()),
    }
}

fn no_address() -> StoreError {
    StoreError::Invalid("the address of a store is `sqlite:PATH`, `postgres://…` or `memory:`".to_owned())
}
