//! The agents there are.
//!
//! Definitions come from five layers, each stronger than the one before: this program, plugins, the
//! operator's configuration, the user, the project. Of several with one name the strongest counts,
//! and it counts even if it cannot be used: a file that is broken, or that nobody has trusted yet, is
//! an error for whoever asks for that name and never quietly another agent with other rights.
//!
//! [`Registry::load`] looks everywhere, [`Registry::find`] answers for one name.

mod built_in;
mod cache;
mod check;
mod discover;
mod entries;
mod find;
mod found;
mod kept_back;
mod layers;
mod lock;
mod places;
mod plugins;
mod private;
mod read;
mod register;
mod servers;
mod shared;
mod skills;
mod tree;
mod trust;
mod visible;
mod withdrawn;
mod write;

use std::{collections::BTreeMap, sync::Arc};

use palisade_agent::{Agent, Layer};
use palisade_grants::{CommandsGrant, FilesGrant, Grants, NamesGrant};
use palisade_sandbox::Programs;

use crate::definition::{ConfigSettings, Notice};
use found::Found;

pub use cache::FileCache;
pub use check::{CheckError, Checked, check_paths};
pub use entries::{Entry, Status};
pub use find::{FindError, Located};
pub use found::{ProjectFile, Shadowed};
pub use layers::LoadError;
pub use lock::{HeldLock, Locked, LockedPlugins, tool_pin};
pub use places::{COMPAT_DIRS, Places};
pub use plugins::{BadWord, Granted, Plugin, PluginTool};
pub(crate) use plugins::{read_large, stamp};
pub use private::KeptError;
pub(crate) use read::{Stamp, read_below};
pub use register::RegisterError;
pub use servers::{
    ConfiguredServer, PROJECT_SERVERS, PinnedServer, PinnedTool, Server, ServerPins, ServerSettings, ServerVariables,
    ServersFile,
};
pub use shared::SharedRegistry;
pub use skills::{CheckedSkills, FoundSkill, SkillError, SkillFile, SkillPlaces, Skills, check_skills};
pub use trust::{Trust, TrustError, real_path};
pub use visible::{AskError, roster};
pub use write::write_new;

/// The agents there are, by name.
///
/// Plain data: what was loaded stays as it was until [`Registry::refresh`]. [`SharedRegistry`] is for
/// several threads.
#[derive(Clone, Debug)]
pub struct Registry {
    stacks: BTreeMap<String, Stack>,
    plugins: Vec<Plugin>,
    settings: ConfigSettings,
    problems: Vec<Notice>,
    warnings: Vec<Notice>,
    /// Made in code; a refresh keeps them.
    registered: Vec<Agent>,
    /// Where it was loaded from; nowhere, if it was not.
    loaded_from: Option<layers::LoadedFrom>,
    cache: FileCache,
    kept_back: kept_back::KeptBack,
    native: Native,
    /// What plugins were granted in code; a refresh keeps it.
    granted: BTreeMap<String, Granted>,
    servers: servers::Servers,
}

/// What the operator and the user allow of native programs: nothing unless somebody says so.
#[derive(Clone, Debug, Default)]
struct Native {
    commands: CommandsGrant,
    programs: Option<Arc<Programs>>,
    /// Those outside of the sandbox.
    outside: NamesGrant,
}

/// The definitions of one name, the strongest first. There is always one.
#[derive(Clone, Debug, Default)]
struct Stack {
    found: Vec<Found>,
    /// All but the first.
    shadows: Vec<Shadowed>,
}

impl Registry {
    /// The agents that are part of this program.
    pub fn built_in() -> Self {
        let mut registry = Self::empty();
        built_in::agents().into_iter().for_each(|found| registry.insert(found));
        registry
    }

    /// No agents.
    pub fn empty() -> Self {
        Self {
            stacks: BTreeMap::new(),
            plugins: Vec::new(),
            settings: ConfigSettings::default(),
            problems: Vec::new(),
            warnings: Vec::new(),
            registered: Vec::new(),
            loaded_from: None,
            cache: FileCache::default(),
            kept_back: kept_back::KeptBack::default(),
            native: Native::default(),
            granted: BTreeMap::new(),
            servers: servers::Servers::default(),
        }
    }

    /// Every agent that can be used, by name.
    pub fn list(&self) -> Vec<&Agent> {
        self.effective().filter_map(Found::agent).collect()
    }

    /// Every agent that can be used and does not want to stay in the background.
    pub fn list_visible(&self) -> Vec<&Agent> {
        self.effective().filter_map(Found::agent).filter(|agent| visible::is_listed(agent)).collect()
    }

    /// How many agents can be used.
    pub fn len(&self) -> usize {
        self.effective().filter(|found| found.agent().is_some()).count()
    }

    /// Whether no agent can be used.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Weaker definitions of a name, the strongest first.
    pub fn shadows(&self, name: &str) -> &[Shadowed] {
        self.stacks.get(name).map_or(&[], |stack| &stack.shadows)
    }

    /// The plugins, by name.
    pub fn plugins(&self) -> &[Plugin] {
        &self.plugins
    }

    /// What the operator configured.
    pub fn settings(&self) -> &ConfigSettings {
        &self.settings
    }

    /// What could not be loaded, and why.
    pub fn problems(&self) -> &[Notice] {
        &self.problems
    }

    /// What is worth saying about that which was loaded.
    pub fn warnings(&self) -> &[Notice] {
        &self.warnings
    }

    /// Lets agents be granted native programs: these commands and no others, and this is what they find.
    /// Only the operator and the user say so; no definition and no project does.
    pub fn allow_programs(&mut self, commands: CommandsGrant, programs: Programs) {
        self.native.commands = commands;
        self.native.programs = Some(Arc::new(programs));
    }

    /// Lets agents be programs outside of the sandbox: these and no others. Only the operator and the user say so.
    pub fn allow_outside(&mut self, names: NamesGrant) {
        self.native.outside = names;
    }

    /// Lets a plugin have this and nothing else, for whoever keeps such decisions elsewhere.
    pub fn grant(&mut self, plugin: &str, granted: Granted) {
        self.granted.insert(plugin.to_owned(), granted);
        self.apply_granted();
    }

    fn apply_granted(&mut self) {
        for plugin in &mut self.plugins {
            if let Some(granted) = self.granted.get(&plugin.name) {
                plugin.granted = granted.clone();
            }
        }
    }

    /// What native programs find, if any are allowed.
    pub fn programs(&self) -> Option<&Arc<Programs>> {
        self.native.programs.as_ref()
    }

    /// What an agent may touch at most, whatever its definition says: the operator's ceiling, and for
    /// an agent of the project the one for projects, too; never what decides over agents, and no native
    /// program or variable that nobody allowed.
    pub fn ceiling_for(&self, agent: &Agent) -> Grants {
        let ceiling = self.configured_ceiling_for(agent);
        let variables = self.native.programs.iter().flat_map(|programs| programs.env.keys());
        let variables: NamesGrant = variables.filter_map(|name| name.parse().ok()).collect();
        Grants {
            files: self.kept_back.taken_from(ceiling.files),
            commands: ceiling.commands.narrow(&self.native.commands),
            env: ceiling.env.narrow(&variables),
            outside: ceiling.outside.narrow(&self.native.outside),
            ..ceiling
        }
    }

    /// What anybody may touch of the workspace, at most.
    pub(crate) fn workspace_ceiling(&self) -> FilesGrant {
        let ceiling = self.settings.ceiling.clone().unwrap_or_else(Grants::everything);
        self.kept_back.taken_from(ceiling.files)
    }

    /// The operator's ceiling alone: what a service may touch that somebody configured, at most.
    pub(crate) fn configured_ceiling_for(&self, agent: &Agent) -> Grants {
        let ceilings = [
            self.settings.ceiling.as_ref(),
            self.settings.project_ceiling.as_ref().filter(|_| agent.origin.layer == Layer::Project),
        ];
        ceilings.into_iter().flatten().fold(Grants::everything(), |all, ceiling| all.narrow(ceiling))
    }

    /// What counts under each name.
    fn effective(&self) -> impl Iterator<Item = &Found> {
        self.stacks.values().filter_map(|stack| stack.found.first())
    }

    fn strongest(&self, name: &str) -> Option<&Found> {
        self.stacks.get(name)?.found.first()
    }

    /// Puts a definition before those that are not stronger: of two in one layer the later one counts.
    fn insert(&mut self, found: Found) {
        if let found::State::Broken(rejected) = &found.state {
            self.problems.extend(rejected.notices.iter().cloned());
        }
        self.warnings.extend(found.warnings.iter().cloned());
        let stack = self.stacks.entry(found.name.clone()).or_default();
        let place = stack.found.partition_point(|other| other.cmp_strength(&found).is_gt());
        stack.found.insert(place, found);
        stack.renew_shadows();
    }
}

impl Stack {
    fn renew_shadows(&mut self) {
        self.shadows = self.found.iter().skip(1).map(|found| Shadowed { origin: found.listed() }).collect();
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::built_in()
    }
}

#[cfg(test)]
mod tests;
