//! Where sessions are kept: found in the configuration, opened when something is first written or looked up.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, anyhow, bail};
use palisade_agent::{Store, StoreError};
use palisade_model::KeySource;
use secrecy::ExposeSecret as _;
use tokio::runtime::Runtime;

use crate::{
    config::{Config, Kept, Sources, StoreUrl, key},
    render::Terminal,
    settings::Settings,
};

/// The file's name in the user's data folder.
const FILE: &str = "palisade.db";

/// Where sessions are kept.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    kept: Kept,
    data: Option<PathBuf>,
}

impl Database {
    /// What the configuration says.
    pub(crate) fn of(config: &Config, settings: &Settings) -> Self {
        Self { kept: config.typed.kept.clone(), data: settings.data.clone() }
    }

    /// Nowhere but in this process.
    pub(crate) fn in_memory() -> Self {
        Self { kept: Kept::At(StoreUrl::memory()), data: None }
    }

    /// Where it is. A program that prints that is started now.
    pub(crate) fn url(&self) -> anyhow::Result<StoreUrl> {
        match &self.kept {
            Kept::At(url) => Ok(url.clone()),
            Kept::ByDefault => Ok(self.data.as_ref().map_or_else(StoreUrl::memory, |data| file_in(data))),
            Kept::Printed(words) => {
                let printed = key::fetch(&KeySource::Command(words.clone())).context("where sessions are kept")?;
                let wrong = |wanted| anyhow!("what `store.url_command` prints cannot be used; it is {wanted}");
                StoreUrl::parse(printed.expose_secret()).map_err(wrong)
            }
        }
    }

    /// Opens it for work in a folder. Refuses a file in there: an agent could read in it what was said elsewhere, and
    /// change what it was said to have done. The user's data folder is there for no agent.
    pub(crate) async fn open_beside(&self, workspace: &Path) -> anyhow::Result<Opened> {
        open_at(self.url_beside(workspace)?).await
    }

    /// Where it is, unless that is in the folder that is worked in.
    pub(crate) fn url_beside(&self, workspace: &Path) -> anyhow::Result<StoreUrl> {
        let url = self.url()?;
        // Its folder may still have to be made.
        let folder = url.path().and_then(|path| path.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok()));
        let is_below = |other: &Path| folder.as_ref().is_some_and(|folder| folder.starts_with(other));
        let data = self.data.as_ref().and_then(|data| data.canonicalize().ok());
        let is_hidden = self.kept == Kept::ByDefault || data.is_some_and(|data| is_below(&data));
        if is_below(workspace) && !is_hidden {
            bail!("{url} lies in the folder that is worked in, where agents could change it; keep it elsewhere");
        }
        Ok(url)
    }

    /// Opens it. A file that is not there is made.
    pub(crate) async fn open(&self) -> anyhow::Result<Opened> {
        open_at(self.url()?).await
    }
}

async fn open_at(url: StoreUrl) -> anyhow::Result<Opened> {
    let store = palisade_store::open(url.expose()).await;
    let store = store.map_err(|error| unusable(&url, &error))?;
    Ok(Opened { store, url })
}

fn file_in(data: &Path) -> StoreUrl {
    StoreUrl::file(&data.join(FILE))
}

/// What is said of a database that cannot be used. What another program says may hold what it was told.
fn unusable(url: &StoreUrl, error: &StoreError) -> anyhow::Error {
    let said = error.to_string().replace(url.expose(), &url.to_string());
    anyhow!("sessions cannot be kept in {url}: {said}")
}

/// A database that was opened.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) url: StoreUrl,
}

/// A database for commands that do nothing else, with the machinery that waits for it.
pub(crate) struct Desk {
    pub(crate) store: Arc<dyn Store>,
    runtime: Runtime,
}

impl Desk {
    /// Opens the database that the operator's and the user's configuration name; a project has no say in it.
    pub(crate) fn open(reach: &Reach, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Self> {
        let database = reach.database(settings, terminal)?;
        let runtime = runtime()?;
        let Opened { store, url } = runtime.block_on(database.open())?;
        if !url.lasts() {
            terminal.warning(
                "no sessions are kept: there is no place for them; set HOME, PALISADE_DATA_DIR or `store.url`",
            );
        }
        Ok(Self { store, runtime })
    }

    /// Waits for something.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}

/// Where to look for the configuration.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Reach {
    /// Read this configuration file instead of the user's.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

impl Reach {
    fn database(&self, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Database> {
        let mut sources = Sources::of(settings, None);
        if let Some(file) = self.config.as_ref().filter(|file| file.extension().is_some_and(|end| end == "toml")) {
            sources.user = Some(file.clone());
        }
        Ok(Database::of(&Config::load(&sources).accepted(terminal)?, settings))
    }

    /// The database if it is a file that is there, for whoever only wants to look and has no time.
    pub(crate) fn existing(settings: &Settings) -> Option<Database> {
        let config = Config::load(&Sources::of(settings, None));
        let database = Database::of(&config, settings);
        let is_quick = !matches!(database.kept, Kept::Printed(_));
        let url = is_quick.then(|| database.url().ok()).flatten()?;
        url.path().is_some_and(Path::exists).then_some(database)
    }
}

/// What waits for databases, models and tools.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?)
}
