//! Definitions are looked at for what is wrong with them, and used for nothing.

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
};

use cap_std::fs::Dir;
use palisade_agent::{Agent, Layer, Origin};

use super::{Registry, cache::FileCache, discover::Format, read, tree::Tree};
use crate::definition::{Notice, Presence, Rejected, Source, parse_config, parse_manifest, parse_markdown, parse_yaml};

/// What was looked at.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The agents that can be used.
    pub agents: Vec<Agent>,
    /// Everything that is worth saying.
    pub notices: Vec<Notice>,
    /// How many files there were.
    pub files: usize,
}

/// Why a path could not be looked at.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be looked at: {error}", path.display())]
pub struct CheckError {
    /// The path.
    pub path: PathBuf,
    /// Why not.
    pub error: io::Error,
}

impl Registry {
    /// Every definition that was found, whether or not it is used.
    pub fn check(&self) -> Checked {
        let found = || self.stacks.values().flat_map(|stack| &stack.found);
        Checked {
            agents: found().filter_map(|found| found.agent()).cloned().collect(),
            notices: self.problems.iter().chain(&self.warnings).cloned().collect(),
            files: found().filter(|found| found.origin.path.is_some()).count(),
        }
    }
}

/// Looks at files and folders that somebody names. A `plugin.json` is a manifest, other JSON files
/// are configurations.
pub fn check_paths(paths: &[PathBuf]) -> Result<Checked, CheckError> {
    let mut checked = Checked::default();
    for path in paths {
        match Dir::open_ambient_dir(path, cap_std::ambient_authority()) {
            Ok(dir) => checked.folder(&dir, path),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => checked.file(path)?,
            Err(error) => return Err(CheckError { path: path.clone(), error }),
        }
    }
    Ok(checked)
}

impl Checked {
    fn folder(&mut self, dir: &Dir, at: &Path) {
        let tree = Tree { dir, at, layer: Layer::User, plugin: None, except: &HashSet::new() };
        for definition in tree.definitions(&mut FileCache::default(), &mut self.notices) {
            self.files += 1;
            self.notices.extend(definition.reading.warnings.iter().cloned());
            match &definition.reading.outcome {
                Ok(agent) => self.agents.push(Agent::clone(agent)),
                Err(rejected) => self.notices.extend(rejected.notices.iter().cloned()),
            }
        }
    }

    fn file(&mut self, path: &Path) -> Result<(), CheckError> {
        let contents = read::read_named(path).map_err(|error| CheckError {
            path: path.to_owned(),
            error: io::Error::new(io::ErrorKind::InvalidInput, error),
        })?;
        let file = path.display().to_string();
        let source = Source {
            file: &file,
            origin: Origin::file(Layer::User, &file),
            fallback_name: path.file_stem().and_then(|stem| stem.to_str()),
            required_name: None,
            description: Presence::Required,
        };
        self.files += 1;
        let parsed = match (Format::of(&file), path.extension().and_then(|ending| ending.to_str())) {
            (Some(Format::Markdown), _) => parse_markdown(&contents.bytes, &source).map(|parsed| vec![parsed]),
            (Some(Format::Yaml), _) => parse_yaml(&contents.bytes, &source).map(|parsed| vec![parsed]),
            (None, Some("json")) if path.ends_with("plugin.json") => {
                parse_manifest(&contents.bytes, &file).map(|manifest| {
                    self.notices.extend(manifest.warnings);
                    Vec::new()
                })
            }
            (None, Some("json")) => {
                let source = Source {
                    origin: Origin::file(Layer::Configured, &file),
                    fallback_name: None,
                    description: Presence::Optional,
                    ..source
                };
                parse_config(&contents.bytes, &source).map(|config| {
                    self.notices.extend(config.warnings);
                    config.agents
                })
            }
            (None, _) => {
                let message = "a definition is a file that ends in .md, .yaml, .yml or .json";
                Err(Rejected { notices: vec![Notice::error(file.as_str(), message)] })
            }
        };
        match parsed {
            Ok(parsed) => {
                for parsed in parsed {
                    self.notices.extend(parsed.warnings);
                    self.agents.push(parsed.agent);
                }
            }
            Err(rejected) => self.notices.extend(rejected.notices),
        }
        Ok(())
    }
}
