//! The skills there are: folders with a `SKILL.md`, of plugins, the user and the project.
//!
//! Nothing is kept: whoever asks gets what the folders say now. As with agents, the strongest skill of a name
//! counts even if it cannot be used, and what is wrong with one leaves the others alone.

mod files;
mod look;

use std::{collections::BTreeMap, sync::Arc};

use cap_std::fs::Dir;
use palisade_agent::Origin;

use super::{Plugin, ProjectFile, Registry, Status, places::Places};
use crate::definition::{ConfigSettings, Notice, Rejected, Skill, nearest};

pub use files::SkillFile;
pub use look::{CheckedSkills, check_skills};

/// What a folder of skills is called.
pub(super) const FOLDER: &str = "skills";

/// The file that makes a folder a skill.
pub(crate) const SKILL_FILE: &str = "SKILL.md";

/// Where skills are looked for.
#[derive(Clone, Debug)]
pub struct SkillPlaces {
    places: Places,
    settings: ConfigSettings,
    compat: Vec<String>,
    plugins: Vec<Plugin>,
}

/// The skills there are, by name.
#[derive(Debug, Default)]
pub struct Skills {
    /// The strongest of a name first. There is always one.
    stacks: BTreeMap<String, Vec<FoundSkill>>,
    problems: Vec<Notice>,
}

/// A skill that was found, whether or not it may be used.
#[derive(Debug)]
pub struct FoundSkill {
    /// What it is called: like its folder.
    pub name: String,
    /// Where its `SKILL.md` is.
    pub origin: Origin,
    /// What is worth saying about the file.
    pub warnings: Vec<Notice>,
    /// The file, if it belongs to the project: what a decision about trust is about.
    pub project: Option<ProjectFile>,
    state: State,
    /// Of the bytes that were read.
    digest: Option<blake3::Hash>,
    /// What else of it is read through.
    folder: Option<Dir>,
}

#[derive(Debug)]
enum State {
    Usable(Arc<Skill>),
    Untrusted(Arc<Skill>),
    Broken(Rejected),
    Refused(String),
}

/// Why there is no skill to be used under a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    /// Nothing is called so.
    #[error("there is no skill `{name}`{}", suggestion.as_ref().map(|it| format!("; did you mean `{it}`?")).unwrap_or_default())]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// What was probably meant.
        suggestion: Option<String>,
    },
    /// Its file is no skill.
    #[error("{0}")]
    Broken(Rejected),
    /// It is the project's, and nobody has trusted it as it is.
    #[error(
        "the skill `{name}` is the project's, in {path}, {}; read the file, then allow it with `palisade skills trust {name}`",
        if *changed { "which has changed since it was trusted" } else { "which nobody has trusted yet" }
    )]
    Untrusted {
        /// Its name.
        name: String,
        /// The file.
        path: String,
        /// Whether it was trusted when it said something else.
        changed: bool,
    },
    /// The operator does not let it be used.
    #[error("{0}")]
    Refused(String),
}

impl Registry {
    /// The skills there are now.
    pub fn skills(&self) -> Skills {
        self.skill_places().map(|places| places.look()).unwrap_or_default()
    }

    /// Where skills are looked for; nowhere, if the registry was not loaded.
    pub fn skill_places(&self) -> Option<SkillPlaces> {
        let from = self.loaded_from.as_ref()?;
        Some(SkillPlaces {
            places: from.places.clone(),
            settings: self.settings.clone(),
            compat: from.compat.clone(),
            plugins: self.plugins.clone(),
        })
    }
}

impl Skills {
    /// What counts under each name, by name.
    pub fn entries(&self) -> impl Iterator<Item = &FoundSkill> {
        self.stacks.values().filter_map(|stack| stack.first())
    }

    /// Weaker skills of a name, the strongest first.
    pub fn shadows(&self, name: &str) -> &[FoundSkill] {
        self.stacks.get(name).and_then(|stack| stack.get(1..)).unwrap_or_default()
    }

    /// What stands under a name, or under `plugin/name`, also written `plugin:name`.
    pub fn find(&self, name: &str) -> Option<&FoundSkill> {
        match name.split_once(['/', ':']) {
            None => self.stacks.get(name)?.first(),
            Some((plugin, name)) => {
                self.stacks.get(name)?.iter().find(|found| found.origin.plugin.as_deref() == Some(plugin))
            }
        }
    }

    /// Why nothing stands under a name.
    pub fn unknown(&self, name: &str) -> SkillError {
        let suggestion = nearest(name, self.stacks.keys().map(String::as_str)).map(str::to_owned);
        SkillError::Unknown { name: name.to_owned(), suggestion }
    }

    /// What could not be read, and why: also of skills that keep their names.
    pub fn problems(&self) -> &[Notice] {
        &self.problems
    }

    fn insert(&mut self, found: FoundSkill) {
        if let State::Broken(rejected) = &found.state {
            self.problems.extend(rejected.notices.iter().cloned());
        }
        let stack = self.stacks.entry(found.name.clone()).or_default();
        // By layer; of two in one layer the later one counts, but among plugins the first by name.
        let is_stronger = |other: &FoundSkill| {
            let layers = other.origin.layer.cmp(&found.origin.layer);
            layers.then_with(|| found.origin.plugin.cmp(&other.origin.plugin)).is_gt()
        };
        let place = stack.partition_point(is_stronger);
        stack.insert(place, found);
    }
}

impl FoundSkill {
    /// The skill, if it can be used.
    pub fn usable(&self) -> Result<&Arc<Skill>, SkillError> {
        match &self.state {
            State::Usable(skill) => Ok(skill),
            State::Broken(rejected) => Err(SkillError::Broken(rejected.clone())),
            State::Refused(reason) => Err(SkillError::Refused(reason.clone())),
            State::Untrusted(_) => Err(SkillError::Untrusted {
                name: self.name.clone(),
                path: self.origin.path.clone().unwrap_or_default(),
                changed: self.project.as_ref().is_some_and(|file| file.changed),
            }),
        }
    }

    /// The skill, to be looked at: it can be untrusted.
    pub fn skill(&self) -> Option<&Skill> {
        match &self.state {
            State::Usable(skill) | State::Untrusted(skill) => Some(skill),
            State::Broken(_) | State::Refused(_) => None,
        }
    }

    /// Whether it can be used.
    pub fn status(&self) -> Status {
        match &self.state {
            State::Usable(_) => Status::Ok,
            State::Untrusted(_) => Status::Untrusted,
            State::Broken(_) => Status::Broken,
            State::Refused(_) => Status::Refused,
        }
    }

    /// `plugin/name` of a plugin's skill.
    pub fn full_name(&self) -> Option<String> {
        self.origin.plugin.as_ref().map(|plugin| format!("{plugin}/{}", self.name))
    }
}
