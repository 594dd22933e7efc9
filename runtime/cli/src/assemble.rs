//! The one place where every crate meets: settings become an engine, a compiler, an agent that can
//! act, and a model. Each is made when it is first needed, because start-up time matters.

use std::{
    mem,
    path::Path,
    sync::{Arc, OnceLock},
};

use anyhow::{Context as _, bail};
use palisade_agent::{LOCAL_TENANT, Provider, Tool};
use palisade_catalog::{Effective, Equipped, Met, Registry, Server};
use palisade_grants::Grants;
use palisade_model::{Choice, Offline, Recording, Scripted, Secrets, Target};
use palisade_sandbox::{ArtifactCache, Compiler, Engine, Network, Storage, Vault, Workspace};

use crate::{
    audits::Audits, choose, config::Config, database::Database, outside::Place, render::Terminal, settings::Settings,
    spaces::KeptSpaces, web,
};

/// What a command works with.
pub(crate) struct Assembly {
    pub(crate) engine: Engine,
    settings: Settings,
    terminal: Terminal,
    network: Option<Network>,
    /// Whose tools they are.
    tenant: String,
    /// Where tools keep what they may keep.
    database: Option<Database>,
    spaces: OnceLock<Arc<KeptSpaces>>,
    compiler: Arc<Compiler>,
    audits: Audits,
}

impl Assembly {
    /// Starts an engine for one agent.
    pub(crate) fn start(settings: &Settings, terminal: &Terminal) -> anyhow::Result<Self> {
        Self::start_at(settings, terminal, false)
    }

    /// The same; its tools may run apart, in a process of their own.
    pub(crate) fn start_at(settings: &Settings, terminal: &Terminal, apart: bool) -> anyhow::Result<Self> {
        let size = palisade_sandbox::Settings::ONE_AGENT;
        let engine = match apart {
            true => Engine::start_apart(size, settings.worker.clone()),
            false => Engine::start(size),
        };
        let engine = engine.context("run `palisade doctor` to see what is missing")?;
        Ok(Self::sharing(&engine, settings, terminal, LOCAL_TENANT))
    }

    /// The same with an engine that others use, too, for the tools of a tenant.
    pub(crate) fn sharing(engine: &Engine, settings: &Settings, terminal: &Terminal, tenant: &str) -> Self {
        let audits = Audits::new(settings, terminal);
        let compiler = Arc::new(compiler(settings, terminal, &audits));
        let (engine, settings, terminal) = (engine.clone(), settings.clone(), terminal.clone());
        let (tenant, network, database) = (tenant.to_owned(), None, None);
        Self { engine, settings, terminal, tenant, network, database, spaces: OnceLock::new(), compiler, audits }
    }

    /// The same, where tools reach the hosts that they are granted, and keep what they are granted to keep.
    pub(crate) fn reaching(self, config: &Config) -> Self {
        let database = Database::of(config, &self.settings);
        self.keeping_in(database, config)
    }

    /// The same; what is kept is kept in this database.
    pub(crate) fn keeping_in(self, database: Database, config: &Config) -> Self {
        self.audits.keep_in(&database);
        Self { network: Some(web::network(config)), database: Some(database), ..self }
    }

    /// The same with other secrets.
    pub(crate) fn with_vault(self, vault: Arc<dyn Vault>) -> Self {
        Self { network: self.network.map(|network| network.with_vault(vault)), ..self }
    }

    /// Compiles components that are not part of this program; without a cache, each time anew.
    pub(crate) fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// The folder that is worked in, with the network that is reached from it.
    fn open(&self, folder: &Path) -> anyhow::Result<Workspace> {
        let workspace = Workspace::open(folder)?;
        Ok(match &self.network {
            Some(network) => workspace.with_network(network.clone()),
            None => workspace,
        })
    }

    /// Starts an MCP server, or speaks to it, and asks for its tools.
    pub(crate) fn meet(
        &self,
        server: &Server,
        registry: &Registry,
        folder: &Path,
        ceiling: &Grants,
    ) -> anyhow::Result<Met> {
        let workspace = self.open(folder)?;
        palisade_catalog::meet(&self.engine, &workspace, server, registry, ceiling).map_err(anyhow::Error::msg)
    }

    /// The same for one that nobody has met: what is wrong with it is said, and it is left out.
    pub(crate) fn first_seen(
        &self,
        server: &Server,
        registry: &Registry,
        folder: &Path,
        ceiling: &Grants,
    ) -> Option<Met> {
        let met = self.meet(server, registry, folder, ceiling);
        let wrong = |error| self.terminal.warning(&format!("the MCP server `{}` is not used: {error:#}", server.name));
        met.map_err(wrong).ok()
    }

    /// Where things are said.
    pub(crate) fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    /// Gives an agent its tools in a workspace, and of those that this program carries out itself the ones in
    /// its scope.
    pub(crate) fn equip(
        &self,
        effective: &Effective,
        workspace: &Path,
        host: &[Arc<dyn Tool>],
    ) -> anyhow::Result<Equipped> {
        let folder = workspace;
        let mut workspace = self.open(folder)?;
        if let (Some(database), true) = (&self.database, effective.grants.storage.is_some()) {
            // All agents of one assembly work in one folder.
            let spaces = self.spaces.get_or_init(|| {
                let (database, folder) = (database.clone(), folder.to_owned());
                Arc::new(KeptSpaces::new(database, self.tenant.clone(), folder, self.terminal.clone()))
            });
            workspace = workspace.with_storage(Arc::clone(spaces) as Arc<dyn Storage>);
        }
        Ok(palisade_catalog::equip(&self.engine, Some(&self.compiler), &workspace, effective, host)?)
    }
}

/// Compiles components; its cache is opened when there is something to compile.
fn compiler(settings: &Settings, terminal: &Terminal, audits: &Audits) -> Compiler {
    let (own, terminal, audits) = (settings.clone(), terminal.clone(), audits.clone());
    Compiler::opening(settings.worker.clone(), move || {
        let cache = cache(&own).map_err(|error| terminal.warning(&format!("compiled tools are not kept: {error:#}")));
        Some(cache.ok()?.telling(move |entry| audits.refused(&entry)))
    })
}

/// Opens the cache of compiled components.
pub(crate) fn cache(settings: &Settings) -> anyhow::Result<ArtifactCache> {
    let (Some(cache), Some(data)) = (&settings.cache, &settings.data) else {
        bail!("there is no place for them; set HOME, or PALISADE_CACHE_DIR and PALISADE_DATA_DIR");
    };
    Ok(ArtifactCache::open(cache, data)?)
}

/// What an agent speaks to.
pub(crate) struct Spoken {
    pub(crate) provider: Box<dyn Provider>,
    /// What the agent's author or the user should know of the choice.
    pub(crate) warning: Option<String>,
    /// The keys it takes.
    secrets: Secrets,
}

/// The model that an agent speaks to, or the agent elsewhere that its definition names, unless a flag says
/// otherwise. Outside of the sandbox it has none of our tools.
pub(crate) fn spoken(flag: Option<&str>, effective: &mut Effective, place: &Place<'_>) -> anyhow::Result<Spoken> {
    if flag.is_none()
        && let Some(provider) = place.external(effective)?
    {
        return Ok(Spoken { provider, warning: None, secrets: Secrets::default() });
    }
    let Choice { target, warning } = choose::choose(flag, &effective.agent, place.config)?;
    let mut secrets = Secrets::default();
    let provider: Box<dyn Provider> = match target {
        Target::Offline => Box::new(Offline),
        Target::Scripted(file) => Box::new(scripted(&file)?),
        Target::Outside { program, model } => place.program(&program, model, effective)?,
        Target::Server(route) => {
            let connection = choose::connection(*route)?;
            secrets = Secrets::new(connection.key.clone());
            palisade_model::connect(connection)?
        }
    };
    Ok(Spoken { provider, warning, secrets })
}

/// The model that an agent speaks to which another one asks, and which may be this one.
pub(crate) fn connected(target: Target, effective: &Effective, place: &Place<'_>) -> anyhow::Result<Box<dyn Provider>> {
    Ok(match target {
        Target::Offline => Box::new(Offline),
        Target::Scripted(file) => Box::new(scripted(&file)?),
        Target::Server(route) => palisade_model::connect(choose::connection(*route)?)?,
        Target::Outside { program, model } => place.program(&program, model, &mut effective.clone())?,
    })
}

impl Spoken {
    /// Writes down what is replied from now on, so that it can be replayed.
    pub(crate) fn record(&mut self, file: &Path) -> anyhow::Result<Recording> {
        let provider = mem::replace(&mut self.provider, Box::new(Offline));
        let recording = Recording::append(provider, file, self.secrets.clone())
            .with_context(|| format!("the run cannot be recorded in {}", file.display()))?;
        self.provider = Box::new(recording.clone());
        Ok(recording)
    }
}

/// Replies from a file that the person who starts the program has named.
#[expect(clippy::disallowed_methods, reason = "a file that was named on the command line")]
fn scripted(file: &str) -> anyhow::Result<Scripted> {
    let script = std::fs::read(file).with_context(|| format!("the script {file} cannot be read"))?;
    Scripted::parse(script).with_context(|| format!("the script {file}"))
}
