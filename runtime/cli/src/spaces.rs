//! What tools keep from one call to the next, in the database that also keeps sessions.
//!
//! A guest waits on a thread of the sandbox, which must not drive a database by itself: another runtime does, and
//! the thread waits for its word. The database is opened when a tool first asks for something in it.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::sync_channel,
    },
    time::Duration,
};

use anyhow::Context as _;
use palisade_agent::StoreError;
use palisade_grants::PermittedKey;
use palisade_sandbox::{Storage, StorageError};
use palisade_store::{Kept, Space, Spaces, open_spaces};
use tokio::runtime::Runtime;

use crate::{
    database::{self, Database},
    render::Terminal,
};

/// How long a guest waits at most; its own time is usually over before.
const PATIENCE: Duration = Duration::from_secs(60);

/// What tools keep, for the tools that work in one folder.
pub(crate) struct KeptSpaces {
    database: Database,
    /// Whose they are.
    tenant: String,
    /// Where is worked, and no database may be.
    workspace: PathBuf,
    terminal: Terminal,
    opened: Mutex<Option<Opened>>,
    is_told: AtomicBool,
}

struct Opened {
    spaces: Arc<dyn Spaces>,
    runtime: Option<Runtime>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        // Dropping a runtime waits for its threads, which must not happen on another runtime's.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl KeptSpaces {
    pub(crate) fn new(database: Database, tenant: String, workspace: PathBuf, terminal: Terminal) -> Self {
        Self { database, tenant, workspace, terminal, opened: Mutex::default(), is_told: AtomicBool::new(false) }
    }

    /// Has something done in the database, and waits for it.
    fn wait<T, W, F>(&self, name: &str, work: W) -> Result<T, StorageError>
    where
        T: Send + 'static,
        W: FnOnce(Arc<dyn Spaces>, Space) -> F,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let space = Space { tenant: self.tenant.clone(), name: name.to_owned() };
        let done = {
            let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            let opened = match &mut *opened {
                Some(opened) => opened,
                none => none.insert(self.open().map_err(|error| self.failed(&error))?),
            };
            let work = work(Arc::clone(&opened.spaces), space);
            opened.runtime.as_ref().map(|runtime| elsewhere(runtime, work))
        };
        let done = done.and_then(|done| done.recv_timeout(PATIENCE).ok()).context("it does not answer");
        match done {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(self.failed(&error.into())),
            Err(silent) => Err(self.failed(&silent)),
        }
    }

    fn open(&self) -> anyhow::Result<Opened> {
        let url = self.database.url_beside(&self.workspace)?;
        let runtime = database::runtime()?;
        let (address, shown) = (url.expose().to_owned(), url.to_string());
        let opening = elsewhere(&runtime, async move { open_spaces(&address).await });
        let opened = opening.recv_timeout(PATIENCE).context("it does not answer");
        let spaces = opened.and_then(|opened| Ok(opened?));
        match spaces.with_context(|| shown) {
            Ok(spaces) => Ok(Opened { spaces, runtime: Some(runtime) }),
            Err(error) => {
                runtime.shutdown_background();
                Err(error)
            }
        }
    }

    /// The person is told why; the guest only that.
    fn failed(&self, error: &anyhow::Error) -> StorageError {
        if !self.is_told.swap(true, Ordering::Relaxed) {
            self.terminal.warning(&format!("what tools keep cannot be used: {error:#}"));
        }
        StorageError::Failed("the database that keeps it cannot be used now".to_owned())
    }
}

/// Has another runtime do something; what comes of it is to be heard.
fn elsewhere<T: Send + 'static>(
    runtime: &Runtime,
    work: impl Future<Output = T> + Send + 'static,
) -> std::sync::mpsc::Receiver<T> {
    let (tell, hear) = sync_channel(1);
    runtime.spawn(async move {
        // Whoever does not wait any more does not want to know.
        drop(tell.send(work.await));
    });
    hear
}

impl Storage for KeptSpaces {
    fn get(&self, space: &str, key: &PermittedKey) -> Result<Option<Vec<u8>>, StorageError> {
        let key = key.as_str().to_owned();
        self.wait(space, |spaces, space| async move { spaces.value(&space, &key).await })
    }

    fn set(&self, space: &str, key: &PermittedKey, value: &[u8], most: u64) -> Result<(), StorageError> {
        let (key, value) = (key.as_str().to_owned(), value.to_vec());
        match self.wait(space, move |spaces, space| async move { spaces.keep(&space, &key, &value, most).await })? {
            Kept::Yes => Ok(()),
            Kept::Full => Err(StorageError::Full(most)),
        }
    }

    fn delete(&self, space: &str, key: &PermittedKey) -> Result<(), StorageError> {
        let key = key.as_str().to_owned();
        self.wait(space, |spaces, space| async move { spaces.forget(&space, &key).await })
    }

    fn keys(&self, space: &str, prefix: &str) -> Result<Vec<String>, StorageError> {
        let prefix = prefix.to_owned();
        self.wait(space, |spaces, space| async move { spaces.keys(&space, &prefix).await })
    }
}
