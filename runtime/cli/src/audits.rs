//! What is written down for whoever looks into it later, from where no run is under way.

use std::{
    sync::{Arc, OnceLock},
    thread,
};

use anyhow::anyhow;
use palisade_agent::{AuditRecord, LOCAL_TENANT};
use palisade_sandbox::RefusedEntry;
use serde_json::{Value, json};

use crate::{
    config::{Config, Sources},
    database::Database,
    render::Terminal,
    settings::Settings,
};

/// Where such things are written down: the database that also keeps sessions. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Audits {
    settings: Settings,
    terminal: Terminal,
    /// The one that the command at work uses, if it uses one.
    database: Arc<OnceLock<Database>>,
}

impl Audits {
    pub(crate) fn new(settings: &Settings, terminal: &Terminal) -> Self {
        Self { settings: settings.clone(), terminal: terminal.clone(), database: Arc::default() }
    }

    /// Writes into this one from now on, unless something was written elsewhere already.
    pub(crate) fn keep_in(&self, database: &Database) {
        drop(self.database.set(database.clone()));
    }

    /// Says and writes down that an entry of the cache was not used. The component is compiled again, so nothing is
    /// missing; but somebody wrote into a folder where nobody but this program should.
    pub(crate) fn refused(&self, entry: &RefusedEntry) {
        let RefusedEntry { name, wrong } = entry;
        self.terminal.warning(&format!(
            "a compiled component in the cache was not used: {wrong}; it is compiled again ({name})"
        ));
        let detail = json!({ "entry": name, "wrong": wrong.word(), "why": wrong.to_string() });
        if let Err(error) = self.record("cache_entry_refused", detail) {
            self.terminal.warning(&format!("that could not be written down: {error:#}"));
        }
    }

    /// Waits on a thread of its own: who finds something wrong may be anywhere, also on a thread that drives a runtime.
    fn record(&self, kind: &str, detail: Value) -> anyhow::Result<()> {
        let database = self.database.get_or_init(|| {
            let config = Config::load(&Sources::of(&self.settings, None));
            Database::of(&config, &self.settings)
        });
        let record = AuditRecord {
            tenant: LOCAL_TENANT.to_owned(),
            at: None,
            session: None,
            run: None,
            kind: kind.to_owned(),
            detail,
        };
        let work = || -> anyhow::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async { Ok(database.open().await?.store.audit(&record).await?) })
        };
        thread::scope(|scope| {
            let writing = thread::Builder::new().name("palisade-audit".to_owned()).spawn_scoped(scope, work)?;
            writing.join().map_err(|_| anyhow!("writing ended early"))?
        })
    }
}
