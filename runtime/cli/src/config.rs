//! The configuration: one TOML file each of the operator, the user and the project, and the
//! environment over them. Every value remembers where it comes from.
//!
//! A project's file is written by whoever wrote the project. It chooses among what the others
//! configured, and it decides nothing that widens what a run may reach: not where requests go, not
//! where a key comes from, not what is started.

pub(crate) mod key;
mod layers;
mod read;
mod schema;
mod servers;
mod setting;
mod store_url;
mod typed;
mod value;

use std::{
    collections::BTreeMap,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use palisade_agent::Agent;
use palisade_catalog::{Notice, Severity, definition::MAX_FILE};

use crate::{render::Terminal, settings::Settings};
use layers::Layers;
pub(crate) use layers::{Layer, Origin};
pub(crate) use schema::schema;
pub(crate) use servers::ServerTable;
pub(crate) use setting::Name;
pub(crate) use store_url::StoreUrl;
pub(crate) use typed::{Exec, Kept, Traces, Typed, is_header};
use value::Value;

/// What is in force.
#[derive(Debug)]
pub(crate) struct Config {
    /// What it means to the rest of the program.
    pub(crate) typed: Typed,
    /// The files that were looked for, the weakest first.
    pub(crate) files: Vec<File>,
    /// All that is wrong with them.
    pub(crate) notices: Vec<Notice>,
    layers: Layers,
}

/// A file that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) layer: Layer,
    pub(crate) path: PathBuf,
    pub(crate) state: State,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Read,
    Missing,
    Unreadable(String),
}

/// Where a configuration is looked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    pub(crate) operator: Option<PathBuf>,
    pub(crate) user: Option<PathBuf>,
    pub(crate) project: Option<PathBuf>,
    /// The `model` of the JSON file with agents, and that file.
    pub(crate) json_model: Option<(String, PathBuf)>,
    /// The variables whose names begin as this program's do.
    pub(crate) variables: BTreeMap<String, String>,
}

impl Sources {
    /// Where this process looks when it works in a folder.
    pub(crate) fn of(settings: &Settings, workspace: Option<&Path>) -> Self {
        Self {
            operator: Some(settings.operator_config.clone()),
            user: settings.config.as_ref().map(|folder| folder.join("config.toml")),
            project: workspace.map(|folder| folder.join(".palisade/config.toml")),
            json_model: None,
            variables: settings.variables.clone(),
        }
    }
}

impl Config {
    /// Reads what there is. What is wrong is kept for whoever wants to know; [`Config::accepted`]
    /// makes it count.
    pub(crate) fn load(sources: &Sources) -> Self {
        let (mut layers, mut files) = (Layers::default(), Vec::new());
        let places =
            [(Layer::Operator, &sources.operator), (Layer::User, &sources.user), (Layer::Project, &sources.project)];
        for (layer, path) in places {
            if let Some((model, file)) = sources.json_model.as_ref().filter(|_| layer == Layer::User) {
                layers.lay_model(layer, &file.display().to_string(), model);
            }
            let Some(path) = path else { continue };
            let shown = path.display().to_string();
            let state = match bytes(path) {
                Ok(None) => State::Missing,
                Ok(Some(bytes)) => {
                    let (found, notices) = read::read(&bytes, &shown);
                    layers.notices.extend(notices);
                    layers.lay(layer, &shown, found);
                    State::Read
                }
                Err(error) => {
                    layers.notices.push(Notice::error(&shown, format!("it cannot be read: {error}")));
                    State::Unreadable(error.to_string())
                }
            };
            files.push(File { layer, path: path.clone(), state });
        }
        layers.lay_environment(&sources.variables, &Settings::VARIABLES);
        let (typed, wrong) = Typed::of(&layers);
        let mut notices = std::mem::take(&mut layers.notices);
        notices.extend(wrong);
        Self { typed, files, notices, layers }
    }

    /// Says what has no effect or should be known.
    pub(crate) fn warn(&self, terminal: &Terminal) {
        for warning in self.notices.iter().filter(|notice| notice.severity == Severity::Warning) {
            terminal.warning(&warning.without_severity());
        }
    }

    /// The same, if it is without errors; all of them are said.
    pub(crate) fn accepted(self, terminal: &Terminal) -> anyhow::Result<Self> {
        let mut errors: Vec<&Notice> = self.errors().collect();
        let last = errors.pop().map(Notice::without_severity);
        errors.iter().for_each(|error| terminal.error(&error.without_severity()));
        match last {
            Some(last) => Err(anyhow::Error::msg(last)),
            None => Ok(self),
        }
    }

    /// An agent with the configured budget where its definition does not say.
    pub(crate) fn budgeted(&self, agent: &Agent) -> Agent {
        let mut agent = agent.clone();
        self.typed.budget.fill(&mut agent.budget);
        agent
    }

    /// What keeps it from being used.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &Notice> {
        self.notices.iter().filter(|notice| notice.severity == Severity::Error)
    }

    /// What is in force and where it comes from: what was set, and what is built in where nothing was.
    pub(crate) fn values(&self) -> Vec<(Name, Value, Origin)> {
        let set = self.layers.entries.iter();
        let set = set.map(|(name, entry)| (name.clone(), entry.value.clone(), entry.origin.clone()));
        let unset = layers::built_in().filter(|(name, _)| !self.layers.entries.contains_key(name));
        let mut values: Vec<_> = set.chain(unset.map(|(name, value)| (name, value, Origin::BuiltIn))).collect();
        values.sort_by(|one, other| one.0.cmp(&other.0));
        values
    }

    /// Whether the operator has the last word on a setting.
    pub(crate) fn is_locked(&self, name: &str) -> bool {
        self.is_locked_name(&Name::parse(name))
    }

    /// The same for a name that was read.
    pub(crate) fn is_locked_name(&self, name: &Name) -> bool {
        self.layers.is_locked(name)
    }

    /// Where a value comes from; what nobody set is built in.
    pub(crate) fn origin(&self, name: &str) -> Origin {
        self.layers.entries.get(&Name::parse(name)).map_or(Origin::BuiltIn, |entry| entry.origin.clone())
    }
}

/// A file's content, no more than one byte above what is accepted; nothing if there is no such file.
#[expect(clippy::disallowed_methods, reason = "the one place that opens configuration files")]
fn bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let is_file = match std::fs::metadata(path) {
        Ok(metadata) => metadata.is_file(),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    // A pipe would keep us waiting.
    if !is_file {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests;
