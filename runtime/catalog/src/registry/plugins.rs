//! Plugins: folders with a `plugin.json` that bring tools and agents.
//!
//! Everything here is as the manifest declares it; nothing of a plugin is run. What is wrong with
//! one plugin, agent or tool is said and leaves the others alone.

mod agents;
mod granted;
mod tools;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::fs::{Dir, File};

use super::{
    cache::FileCache,
    found::{Found, State},
    lock::LockedPlugins,
    read::{self, ReadError, Stamp},
};
use crate::definition::{Manifest, Notice, Rejected, parse_manifest};

pub use granted::{BadWord, Granted};
pub use tools::PluginTool;

/// A plugin that was found.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// What it is called: by its manifest, or like its folder if the manifest cannot be used.
    pub name: String,
    /// Which version of it.
    pub version: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its folder.
    pub path: PathBuf,
    /// Its tools, as declared.
    pub tools: Vec<PluginTool>,
    /// The operator switched it off; nothing of it was loaded.
    pub disabled: bool,
    /// Why nothing of it could be loaded.
    pub broken: Option<Rejected>,
    /// What the operator let it have. Its tools have no more, whoever uses them.
    pub granted: Granted,
    /// Why none of its components and commands is run, although it was loaded: it is not what was granted, or was
    /// switched off.
    pub held_back: Option<String>,
    /// The SHA-256 of its files as they were when that was granted, by their paths, in hexadecimal. Where there are any, a
    /// component is run only if it still has the bytes that it had then.
    pub pinned: BTreeMap<String, String>,
    /// What its tools said of themselves then, as [`tool_pin`](crate::tool_pin) of each by its name. Where there are
    /// pinned files, a component that says something else now is not used.
    pub pinned_tools: BTreeMap<String, String>,
    /// What it was read through, so that its components come from the folder that was checked.
    folder: Arc<Dir>,
}

/// What the plugins of a folder bring.
#[derive(Default)]
pub(super) struct Loaded {
    pub(super) plugins: Vec<Plugin>,
    pub(super) agents: Vec<Found>,
}

/// The file that makes a folder a plugin.
const MANIFEST: &str = "plugin.json";

/// Loads the plugins of a folder, by name.
pub(super) fn load(
    at: &Path,
    disabled: &[String],
    core: &[&str],
    lock: &LockedPlugins,
    cache: &mut FileCache,
    notices: &mut Vec<Notice>,
) -> Loaded {
    let mut loaded = Loaded::default();
    let mut found = manifests(at, notices);
    refuse_namesakes(&mut found);
    for (plugin, _) in &mut found {
        lock.apply(plugin);
    }
    for (mut plugin, manifest) in found {
        let manifest = match manifest {
            Ok(manifest) => manifest,
            Err(_) if disabled.contains(&plugin.name) => Manifest::default(),
            Err(rejected) => {
                notices.extend(rejected.notices.iter().cloned());
                plugin.broken = Some(rejected);
                loaded.plugins.push(plugin);
                continue;
            }
        };
        plugin.disabled |= disabled.contains(&plugin.name);
        if !plugin.disabled {
            notices.extend(manifest.warnings.iter().cloned());
            let agents = agents::load(&plugin, &manifest, cache, notices);
            loaded.agents.extend(agents.into_iter().map(|agent| plugin.unless_held_back(agent)));
            plugin.tools = tools::bind(&plugin.name, manifest.tools);
        }
        (plugin.version, plugin.description) = (manifest.version, manifest.description);
        loaded.plugins.push(plugin);
    }
    tools::refuse(&mut loaded.plugins, core);
    loaded.notices(notices);
    loaded
}

impl Plugin {
    /// Where its folder really lies, for a program that is run in it.
    pub(crate) fn place(&self) -> PathBuf {
        super::real_path(&self.path)
    }

    /// Opens a file of the plugin, such as a component. The path comes from the manifest: it must be
    /// relative, without `..`, and no link on the way may leave the folder.
    pub fn open(&self, path: &str) -> std::io::Result<File> {
        let path = read::inside(path).map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidInput, error))?;
        self.folder.open(path)
    }

    /// What it was read through.
    pub(crate) fn folder(&self) -> &Arc<Dir> {
        &self.folder
    }
}

/// The bytes of a large file of a plugin, such as a component, if it is a file, inside and not too large.
pub(crate) fn read_large(folder: &Dir, path: &str, most: usize) -> Result<Vec<u8>, String> {
    let read = read::inside(path).and_then(|path| read::read_large(folder, path, most));
    read.map_err(|error| error.to_string())
}

/// What the file system says of a file of a plugin.
pub(crate) fn stamp(folder: &Dir, path: &str) -> Option<Stamp> {
    folder.metadata(read::inside(path).ok()?).ok().map(|meta| Stamp::of(&meta))
}

impl Plugin {
    /// What it was read through, for who compares it with what was installed.
    pub(super) fn opened(&self) -> &Dir {
        &self.folder
    }

    /// An agent of a plugin that is held back keeps its name and is not used: nobody has looked at what it says now.
    fn unless_held_back(&self, agent: Found) -> Found {
        match &self.held_back {
            Some(why) => Found { state: State::Refused(why.clone()), warnings: Vec::new(), ..agent },
            None => agent,
        }
    }

    /// Its folder with skills, if it has one; nothing of a plugin that is switched off, held back or broken.
    pub(super) fn skills(&self) -> Option<std::io::Result<Dir>> {
        let is_used = !self.disabled && self.broken.is_none() && self.held_back.is_none();
        let dir = is_used.then(|| self.folder.open_dir(super::skills::FOLDER))?;
        Some(dir).filter(|dir| !dir.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound))
    }
}

impl Loaded {
    /// Says which tools nobody gets, and which agents share a name.
    fn notices(&mut self, notices: &mut Vec<Notice>) {
        for plugin in &self.plugins {
            let held_back = plugin.held_back.iter().map(|why| Notice::warning(plugin.path.display().to_string(), why));
            notices.extend(held_back);
            for tool in &plugin.tools {
                if let Some(reason) = &tool.refused {
                    let file = plugin.path.join(MANIFEST).display().to_string();
                    let message = format!("the tool `{}` is not loaded: {reason}", tool.manifest.name);
                    notices.push(Notice::warning(file, message));
                }
            }
        }
        let mut first: HashMap<&str, &str> = HashMap::new();
        let mut shared = Vec::new();
        for (place, agent) in self.agents.iter().enumerate() {
            let Some(plugin) = &agent.origin.plugin else { continue };
            match first.get(agent.name.as_str()) {
                None => drop(first.insert(&agent.name, plugin)),
                Some(first) => shared.push((place, format!(
                    "the agent `{name}` is also one of the plugin `{first}`; `{name}` means `{first}/{name}`, this one is `{plugin}/{name}`",
                    name = agent.name
                ))),
            }
        }
        for (place, message) in shared {
            let agent = &mut self.agents[place];
            let warning = Notice::warning(agent.origin.path.clone().unwrap_or_default(), message);
            agent.warnings.push(warning);
        }
    }
}

/// The plugins of a folder by name, with what their manifests say.
fn manifests(at: &Path, notices: &mut Vec<Notice>) -> Vec<(Plugin, Result<Manifest, Rejected>)> {
    let mut warn = |path: &Path, error: &dyn std::fmt::Display| {
        let message = format!("Failed to read plugin directory: {error}");
        notices.push(Notice::warning(path.display().to_string(), message));
    };
    let names = |dir: &Dir| -> std::io::Result<Vec<_>> {
        dir.entries()?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    };
    let dir = Dir::open_ambient_dir(at, cap_std::ambient_authority());
    let (dir, mut names) = match dir.and_then(|dir| names(&dir).map(|names| (dir, names))) {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            warn(at, &error);
            return Vec::new();
        }
    };
    names.sort();
    let mut found = Vec::new();
    for name in names.iter().filter_map(|name| name.to_str()).filter(|name| !name.starts_with('.')) {
        let path = at.join(name);
        let folder = match dir.open_dir(name) {
            Ok(folder) => folder,
            // Something else that lies there.
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => continue,
            Err(error) => {
                warn(&path, &ReadError::from(error));
                continue;
            }
        };
        let file = path.join(MANIFEST).display().to_string();
        let manifest = match read::read(&folder, MANIFEST) {
            Ok(contents) => parse_manifest(&contents.bytes, &file),
            Err(error) if error.is_missing() => continue,
            Err(error) => {
                Err(Rejected { notices: vec![Notice::error(file, format!("Failed to read plugin manifest: {error}"))] })
            }
        };
        let name = manifest.as_ref().map_or(name, |manifest| &manifest.name).to_owned();
        let (version, description, broken) = (None, None, None);
        let folder = Arc::new(folder);
        let (tools, granted, held_back, pinned) = (Vec::new(), Granted::default(), None, BTreeMap::new());
        let (disabled, pinned_tools) = (false, BTreeMap::new());
        let plugin = Plugin {
            name,
            version,
            description,
            path,
            tools,
            disabled,
            broken,
            granted,
            held_back,
            pinned,
            pinned_tools,
            folder,
        };
        found.push((plugin, manifest));
    }
    found.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    found
}

/// Of several folders that claim one name, the one that is called so has it, else the first: a
/// plugin must not become another one, with its agents and bound tools, by what it says of itself.
fn refuse_namesakes(found: &mut [(Plugin, Result<Manifest, Rejected>)]) {
    let mut holders: HashMap<String, PathBuf> = HashMap::new();
    for (plugin, _) in found.iter() {
        let is_called_so = plugin.path.file_name().is_some_and(|folder| folder == plugin.name.as_str());
        if is_called_so || !holders.contains_key(&plugin.name) {
            holders.insert(plugin.name.clone(), plugin.path.clone());
        }
    }
    for (plugin, manifest) in found {
        let holder = &holders[&plugin.name];
        if *holder != plugin.path {
            let message = format!("the plugin `{}` is already there, in {}", plugin.name, holder.display());
            let file = plugin.path.join(MANIFEST).display().to_string();
            *manifest = Err(Rejected { notices: vec![Notice::error(file, message)] });
        }
    }
}
