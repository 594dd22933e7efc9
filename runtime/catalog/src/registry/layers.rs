//! Everything that is found becomes one registry, from the weakest layer to the strongest.

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::fs::{Dir, MetadataExt as _};
use palisade_agent::{Layer, Origin};

use super::{
    Registry, built_in,
    cache::FileCache,
    found::{Found, ProjectFile, State},
    kept_back::KeptBack,
    lock::LockedPlugins,
    places::{COMPAT_DIRS, Folder, Places},
    plugins,
    read::{self, ReadError},
    tree::{Definition, Tree},
    trust::{Trust, real_path},
};
use crate::definition::{Config, ConfigSettings, Notice, Parsed, Presence, Rejected, Source, parse_config};

/// The configuration cannot be used. Nothing else keeps a registry from being loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("the configuration {} cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The file is wrong.
    #[error("{0}")]
    Rejected(Rejected),
}

/// What a registry was loaded from.
#[derive(Clone, Debug)]
pub(super) struct LoadedFrom {
    pub(super) places: Places,
    /// Folders of other programs.
    pub(super) compat: Vec<String>,
    core: Vec<String>,
}

impl Registry {
    /// Looks for agents everywhere. `core` are the tools of this program, whose names no plugin's
    /// tool may have. What is wrong with a definition, a folder or a plugin is in
    /// [`Registry::problems`] and keeps nothing else from being loaded.
    pub fn load(places: &Places, core: &[&str]) -> Result<Self, LoadError> {
        let mut cache = FileCache::default();
        let mut registry = Self::load_with(places, core, &mut cache)?;
        registry.cache = cache;
        Ok(registry)
    }

    /// The same, without reading again what an earlier load has read.
    pub fn load_with(places: &Places, core: &[&str], cache: &mut FileCache) -> Result<Self, LoadError> {
        let (config, compat) = configuration(places)?;
        let kept_back = KeptBack::of(places, &config.settings, &compat);
        let mut registry = Self { settings: config.settings, kept_back, ..Self::empty() };
        registry.warnings.extend(config.warnings);
        built_in::agents().into_iter().for_each(|found| registry.insert(found));
        registry.load_plugins(places, core, cache);
        for Parsed { agent, warnings } in config.agents {
            registry.insert(Found { warnings, ..Found::new(agent) });
        }
        registry.load_folders(places, &compat, cache);
        registry.servers = super::servers::Servers::load(places, &mut registry.problems);
        let core = core.iter().map(|&name| name.to_owned()).collect();
        registry.loaded_from = Some(LoadedFrom { places: places.clone(), compat, core });
        Ok(registry)
    }

    /// Looks again at the places it was loaded from. Agents that were registered in code stay; if the
    /// configuration cannot be used now, everything stays.
    pub fn refresh(&mut self) -> Result<(), LoadError> {
        let Some(LoadedFrom { places, core, .. }) = &self.loaded_from else { return Ok(()) };
        let core: Vec<&str> = core.iter().map(String::as_str).collect();
        let mut fresh = Self::load_with(places, &core, &mut self.cache)?;
        fresh.cache = std::mem::take(&mut self.cache);
        fresh.native = std::mem::take(&mut self.native);
        fresh.granted = std::mem::take(&mut self.granted);
        fresh.apply_granted();
        if let Some(settings) = std::mem::take(&mut self.servers).into_settings() {
            fresh.allow_servers(settings);
        }
        fresh.registered = std::mem::take(&mut self.registered);
        fresh.registered.clone().into_iter().for_each(|agent| fresh.insert(Found::new(agent)));
        *self = fresh;
        Ok(())
    }

    fn load_plugins(&mut self, places: &Places, core: &[&str], cache: &mut FileCache) {
        let Some(at) = places.plugins(&self.settings) else { return };
        // What was installed lies in the program's own folder; elsewhere nothing was granted to anybody.
        let lock = match &places.plugin_lock {
            Some(lock) if places.own_plugins.as_ref() == Some(&at) => LockedPlugins::load(lock),
            _ => LockedPlugins::default(),
        };
        self.problems.extend(lock.notice().cloned());
        let loaded = plugins::load(&at, &self.settings.disabled_plugins, core, &lock, cache, &mut self.problems);
        self.plugins = loaded.plugins;
        loaded.agents.into_iter().for_each(|found| self.insert(found));
    }

    fn load_folders(&mut self, places: &Places, compat: &[String], cache: &mut FileCache) {
        let mut seen = HashSet::new();
        let mut project = None;
        for folder in places.folders(&self.settings, compat, &mut self.problems) {
            let dir = match open(&folder, places.workspace.as_deref()) {
                Ok(dir) => dir,
                Err(error) => {
                    self.report(&folder, error);
                    continue;
                }
            };
            // The same folder again, by another path: whoever works in the home folder finds the
            // user's agents there, and they do not become the project's by that.
            if dir.dir_metadata().is_ok_and(|meta| !seen.insert((meta.dev(), meta.ino()))) {
                continue;
            }
            let tree = Tree { dir: &dir, at: &folder.at, layer: folder.layer, plugin: None, except: &HashSet::new() };
            for definition in tree.definitions(cache, &mut self.problems) {
                let found = match &folder.below_workspace {
                    None => definition.into_found(),
                    Some(below) => {
                        let project = project.get_or_insert_with(|| Project::new(places, &mut self.problems));
                        project.decide(definition, below)
                    }
                };
                let found = self.unless_switched_off(found);
                self.insert(found);
            }
        }
    }

    /// What a switched-off layer holds is refused, not passed over: its name was meant for it.
    fn unless_switched_off(&self, found: Found) -> Found {
        let Some(setting) = switched_off(&self.settings, found.origin.layer) else { return found };
        let reason = format!(
            "the agent `{}` is defined in {}, and the configuration says `{setting}: false`",
            found.name,
            found.origin.path.as_deref().unwrap_or("a file")
        );
        Found { state: State::Refused(reason), warnings: Vec::new(), ..found }
    }

    fn report(&mut self, folder: &Folder, error: io::Error) {
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        if is_missing && !folder.is_named {
            return;
        }
        let reason = if is_missing { "it is not there".to_owned() } else { ReadError::from(error).to_string() };
        let message = format!("Failed to read agent directory: {reason}");
        self.problems.push(Notice::warning(folder.at.display().to_string(), message));
    }
}

/// The setting that switches a layer off, if it does.
pub(super) fn switched_off(settings: &ConfigSettings, layer: Layer) -> Option<&'static str> {
    let (is_allowed, setting) = match layer {
        Layer::User => (settings.allow_user_agents, "allow_user_agents"),
        Layer::Project => (settings.allow_project_agents, "allow_project_agents"),
        Layer::Builtin | Layer::Plugin | Layer::Configured => return None,
    };
    (is_allowed == Some(false)).then_some(setting)
}

/// Opens a folder. The project's is reached from the workspace, so that no link leads out of it; the
/// others are where the user or the operator put them.
fn open(folder: &Folder, workspace: Option<&Path>) -> io::Result<Dir> {
    match (&folder.below_workspace, workspace) {
        (Some(below), Some(workspace)) => {
            Dir::open_ambient_dir(workspace, cap_std::ambient_authority())?.open_dir(below)
        }
        _ => Dir::open_ambient_dir(&folder.at, cap_std::ambient_authority()),
    }
}

/// Whom a project's files have to be trusted by.
struct Project {
    workspace: PathBuf,
    trust: Trust,
}

impl Project {
    fn new(places: &Places, problems: &mut Vec<Notice>) -> Self {
        let trust = places.trust.as_deref().map(Trust::load).unwrap_or_default();
        problems.extend(trust.notice().cloned());
        Self { workspace: places.workspace.as_deref().map(real_path).unwrap_or_default(), trust }
    }

    /// Lets a definition be used if the bytes it was read from are trusted.
    fn decide(&self, definition: Definition, below: &str) -> Found {
        let relative = format!("{below}/{}", definition.relative);
        let digest = definition.reading.digest;
        let mut found = definition.into_found();
        let Some(digest) = digest else { return found };
        let decided = self.trust.decided(&self.workspace, &relative);
        if let (State::Usable(agent), true) = (&found.state, decided != Some(digest)) {
            found.state = State::Untrusted(Arc::clone(agent));
        }
        let changed = decided.is_some_and(|decided| decided != digest);
        found.project = Some(Arc::new(ProjectFile { workspace: self.workspace.clone(), relative, digest, changed }));
        found
    }
}

/// What the operator configured, and which folders of other programs are looked at.
fn configuration(places: &Places) -> Result<(Config, Vec<String>), LoadError> {
    let usual = || COMPAT_DIRS.map(str::to_owned).to_vec();
    let Some(path) = &places.config else { return Ok((Config::default(), usual())) };
    let contents = read::read_named(path)
        .map_err(|error| LoadError::Unreadable { path: path.clone(), reason: error.to_string() })?;
    let file = path.display().to_string();
    let source = Source {
        file: &file,
        origin: Origin::file(Layer::Configured, &file),
        fallback_name: None,
        required_name: None,
        description: Presence::Optional,
    };
    let config = parse_config(&contents.bytes, &source).map_err(LoadError::Rejected)?;
    // An empty list means none, a list that is not there means the usual ones.
    let is_compat = |key: &str| key.replace(['_', '-'], "").eq_ignore_ascii_case("compatdirs");
    let written: Option<serde_json::Map<_, _>> = serde_json::from_slice(&contents.bytes).ok();
    let is_listed = written.iter().flatten().any(|(key, value)| is_compat(key) && !value.is_null());
    let compat = if is_listed { config.settings.compat_dirs.clone() } else { usual() };
    Ok((config, compat))
}
