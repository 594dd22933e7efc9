//! The one place where every crate meets: settings become an engine, a compiler, an agent that can
//! act, and a model. Each is made when it is first needed, because start-up time matters.

use std::{cell::OnceCell, path::Path};

use anyhow::{Context as _, bail};
use palisade_agent::Provider;
use palisade_catalog::{Effective, Equipped, Missing};
use palisade_model::{Offline, Scripted, Target};
use palisade_sandbox::{ArtifactCache, Compiler, Engine, LinkRefusal, Workspace};

use crate::{choose, render::Terminal, settings::Settings};

/// What a command works with.
pub(crate) struct Assembly<'a> {
    pub(crate) engine: Engine,
    settings: &'a Settings,
    terminal: &'a Terminal,
    compiler: OnceCell<Compiler>,
}

impl<'a> Assembly<'a> {
    /// Starts an engine for one agent.
    pub(crate) fn start(settings: &'a Settings, terminal: &'a Terminal) -> anyhow::Result<Self> {
        let engine = Engine::start(palisade_sandbox::Settings::ONE_AGENT)
            .context("run `palisade doctor` to see what is missing")?;
        Ok(Self { engine, settings, terminal, compiler: OnceCell::new() })
    }

    /// Compiles components that are not part of this program; without a cache, each time anew.
    pub(crate) fn compiler(&self) -> &Compiler {
        self.compiler.get_or_init(|| {
            let cache = cache(self.settings).map_err(|error| {
                self.terminal.warning(&format!("compiled tools are not kept: {error:#}"));
            });
            Compiler::new(self.settings.worker.clone(), cache.ok())
        })
    }

    /// Gives an agent its tools in a workspace.
    pub(crate) fn equip(&self, effective: &Effective, workspace: &Path) -> anyhow::Result<Equipped> {
        let workspace = Workspace::open(workspace)?;
        let equipped = palisade_catalog::equip(&self.engine, None, &workspace, effective)?;
        // Built for another processor: the embedded machine code does not load, a compiler helps.
        if equipped.left_out.iter().any(|tool| matches!(tool.reason, Missing::Refused(LinkRefusal::Unusable(_)))) {
            return Ok(palisade_catalog::equip(&self.engine, Some(self.compiler()), &workspace, effective)?);
        }
        Ok(equipped)
    }
}

/// Opens the cache of compiled components.
pub(crate) fn cache(settings: &Settings) -> anyhow::Result<ArtifactCache> {
    let (Some(cache), Some(data)) = (&settings.cache, &settings.data) else {
        bail!("there is no place for them; set HOME, or PALISADE_CACHE_DIR and PALISADE_DATA_DIR");
    };
    Ok(ArtifactCache::open(cache, data)?)
}

/// The model that an agent speaks to.
pub(crate) fn provider(target: Target) -> anyhow::Result<Box<dyn Provider>> {
    match target {
        Target::Offline => Ok(Box::new(Offline)),
        Target::Scripted(file) => Ok(Box::new(scripted(&file)?)),
        Target::Outside { program, .. } => bail!("`{program}` cannot be started by this version"),
        Target::Server(route) => Ok(palisade_model::connect(choose::connection(*route)?)?),
    }
}

/// Replies from a file that the person who starts the program has named.
#[expect(clippy::disallowed_methods, reason = "a file that was named on the command line")]
fn scripted(file: &str) -> anyhow::Result<Scripted> {
    let script = std::fs::read_to_string(file).with_context(|| format!("the script {file} cannot be read"))?;
    Scripted::parse(&script).with_context(|| format!("the script {file}"))
}
