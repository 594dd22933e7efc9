//! All that lasts, opened once: what a server is given.

use std::{fmt, sync::Arc};

use palisade_agent::{Store, StoreError};

use crate::{Idempotency, Memory, OpenRuns, Postgres, RunEvents, Spaces, Sqlite, Tenants, no_address};

/// One database by all that it does. Each part is the same connections.
#[derive(Clone)]
pub struct Database {
    /// Sessions and runs.
    pub store: Arc<dyn Store>,
    /// What tools keep.
    pub spaces: Arc<dyn Spaces>,
    /// Tenants and their keys.
    pub tenants: Arc<dyn Tenants>,
    /// What runs tell while they work.
    pub events: Arc<dyn RunEvents>,
    /// Runs that did not end.
    pub runs: Arc<dyn OpenRuns>,
    /// Requests that are done once.
    pub requests: Arc<dyn Idempotency>,
    /// Whether the database itself keeps tenants apart, beside the statements of this program: Postgres does, unless
    /// it is used by a role that skips row-level security. SQLite and memory have nothing of the kind.
    pub has_walls: bool,
}

impl Database {
    fn of<S>(store: S, has_walls: bool) -> Self
    where
        S: Store + Spaces + Tenants + RunEvents + OpenRuns + Idempotency + 'static,
    {
        let store = Arc::new(store);
        Self {
            spaces: store.clone(),
            tenants: store.clone(),
            events: store.clone(),
            runs: store.clone(),
            requests: store.clone(),
            store,
            has_walls,
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("has_walls", &self.has_walls).finish_non_exhaustive()
    }
}

/// Opens what an address means, as [`crate::open`] does.
pub async fn open_database(address: &str) -> Result<Database, StoreError> {
    match address.split_once(':') {
        Some(("memory", "")) => Ok(Database::of(Memory::new(), false)),
        Some(("sqlite", path)) if !path.is_empty() => Ok(Database::of(Sqlite::open(path).await?, false)),
        Some(("postgres" | "postgresql", _)) => {
            let store = Postgres::connect(address).await?;
            let has_walls = store.obeys_row_security().await?;
            Ok(Database::of(store, has_walls))
        }
        _ => Err(no_address()),
    }
}
