//! Where to work and where agents are looked for: the flags that many commands share.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use palisade_catalog::{BuiltIn, Places, Registry};

use crate::{
    config::{Config, Sources},
    native, servers,
    sessions::Elsewhere,
    settings::Settings,
};

/// Where agents are looked for.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Lookup {
    /// The folder to work in [default: the current one].
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Look for agents in this folder, too; may be given several times, the last one wins.
    #[arg(long, value_name = "DIR")]
    agents_dir: Vec<PathBuf>,
    /// Read this configuration file instead of the user's: agents from JSON, settings from TOML.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Look for plugins in this folder instead of the user's.
    #[arg(long, value_name = "DIR")]
    plugins_dir: Option<PathBuf>,
}

impl Lookup {
    /// The folder to work in, and the agents there are for it.
    pub(crate) fn open(&self, settings: &Settings) -> anyhow::Result<(PathBuf, Registry)> {
        let workspace = self.workspace(settings)?;
        let registry = self.registry(settings, &workspace)?;
        Ok((workspace, registry))
    }

    /// The folder to work in.
    pub(crate) fn workspace(&self, settings: &Settings) -> anyhow::Result<PathBuf> {
        settings.workspace(self.workspace.as_deref())
    }

    /// In a folder, maybe with another configuration, and nothing else said.
    pub(crate) fn in_folder(workspace: PathBuf, config: Option<PathBuf>) -> Self {
        Self { workspace: Some(workspace), config, ..Self::default() }
    }

    /// What becomes of a session that is about another folder than the one to work in.
    pub(crate) fn elsewhere(&self) -> Elsewhere {
        if self.workspace.is_some() { Elsewhere::Meant } else { Elsewhere::Refused }
    }

    /// The agents there are for a workspace.
    pub(crate) fn registry(&self, settings: &Settings, workspace: &Path) -> anyhow::Result<Registry> {
        let core: Vec<&str> = BuiltIn::all().map(|tool| tool.name).collect();
        let loaded = Registry::load(&self.places(settings, workspace), &core);
        let mut registry = loaded.context("the agents cannot be loaded")?;
        let typed = self.config(settings, workspace, &registry).typed;
        native::allow(&typed, settings, &mut registry);
        servers::allow(&typed, settings, &mut registry);
        Ok(registry)
    }

    /// The configuration for a workspace; `model` of the file with agents counts as the user's.
    pub(crate) fn config(&self, settings: &Settings, workspace: &Path, registry: &Registry) -> Config {
        let mut sources = Sources::of(settings, Some(workspace));
        match &self.config {
            Some(file) if is_toml(file) => sources.user = Some(file.clone()),
            _ => {
                let file = self.places(settings, workspace).config;
                sources.json_model = registry.settings().model.as_ref().map(ToString::to_string).zip(file);
            }
        }
        Config::load(&sources)
    }

    pub(crate) fn places(&self, settings: &Settings, workspace: &Path) -> Places {
        let below = |folder: &Option<PathBuf>, names: &[&str]| -> Vec<PathBuf> {
            folder.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))).collect()
        };
        let mut user = below(&settings.config, &["agents", "subagents"]);
        user.extend(below(&settings.home, &[".palisade/agents", ".palisade/subagents"]));
        // A file that was named must be there; the user's own may be missing.
        let own_config = settings.config.as_ref().map(|folder| folder.join("config.json"));
        Places {
            config: self
                .config
                .clone()
                .filter(|file| !is_toml(file))
                .or_else(|| own_config.filter(|file| file.exists())),
            user,
            home: settings.home.clone(),
            workspace: Some(workspace.to_owned()),
            agent_dirs: self.agents_dir.clone(),
            plugins_dir: self.plugins_dir.clone(),
            own_plugins: settings.data.as_ref().map(|data| data.join("plugins")),
            plugin_lock: settings.data.as_ref().map(|data| data.join("plugins.lock")),
            server_pins: settings.data.as_ref().map(|data| data.join("mcp.lock")),
            trust: settings.data.as_ref().map(|data| data.join("trust.json")),
            private: [&settings.config, &settings.data, &settings.cache]
                .into_iter()
                .flatten()
                .chain(&settings.of_others)
                .cloned()
                .collect(),
            deciding: self.config.iter().chain([&settings.operator_config]).cloned().collect(),
        }
    }
}

fn is_toml(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "toml")
}
