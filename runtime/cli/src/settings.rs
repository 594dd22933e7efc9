//! What the environment says, read once. No other file reads it.
#![expect(clippy::disallowed_methods, reason = "the one file that reads the environment")]

use std::{
    collections::BTreeMap,
    env,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use palisade_model::Environment;

/// Where this process keeps and finds things.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Compiled components, sealed; without a home there is none.
    pub(crate) cache: Option<PathBuf>,
    /// Compilers for the authors of plugins, each installed once.
    pub(crate) toolchains: Option<PathBuf>,
    /// The key of the seals; elsewhere, so that one leak does not open both.
    pub(crate) data: Option<PathBuf>,
    /// The user's own settings and agents.
    pub(crate) config: Option<PathBuf>,
    /// The operator's configuration.
    pub(crate) operator_config: PathBuf,
    /// The variables that begin with `PALISADE_`.
    pub(crate) variables: BTreeMap<String, String>,
    /// The user's home.
    pub(crate) home: Option<PathBuf>,
    /// Folders of this program that are somebody else's.
    pub(crate) of_others: Vec<PathBuf>,
    /// This program, which also is the compile worker.
    pub(crate) worker: PathBuf,
    current: PathBuf,
}

/// The folder, among what is kept, in which each tenant has one to work in.
pub(crate) const WORKSPACES: &str = "workspaces";

/// Whether to use colours on each stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colours {
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
    /// Whether the terminal can do more than print one line after the other.
    pub(crate) moves: bool,
}

impl Settings {
    /// For somebody who has everything in a folder, and nothing of the user's own: neither agents nor plugins nor what
    /// was trusted. What is the user's own is not there, whatever workspace that is.
    pub(crate) fn in_folder(&self, folder: &Path, workspace: &Path) -> Self {
        // In there each has a folder to work in.
        let is_in_data = |data: &&PathBuf| workspace.starts_with(data.join(WORKSPACES));
        let data = self.data.as_ref().filter(|data| !is_in_data(data));
        let of_others = data.into_iter().chain(&self.config).cloned().collect();
        let folder = Some(folder.to_owned());
        Self { data: folder.clone(), config: folder, home: None, of_others, ..self.clone() }
    }

    /// The variables that say where things are; others override the configuration.
    pub(crate) const VARIABLES: [&str; 6] = [
        "PALISADE_CACHE_DIR",
        "PALISADE_DATA_DIR",
        "PALISADE_CONFIG_DIR",
        "PALISADE_OPERATOR_CONFIG",
        "PALISADE_COMPLETE",
        "PALISADE_TOOLCHAINS",
    ];

    /// Reads the environment.
    pub(crate) fn of_this_process() -> anyhow::Result<Self> {
        let home = absolute("HOME");
        let below_home = |folder: &str| home.as_ref().map(|home| home.join(folder));
        let place = |own: &str, standard: &str, default: &str| {
            let shared = absolute(standard).or_else(|| below_home(default)).map(|folder| folder.join("palisade"));
            absolute(own).or(shared)
        };
        let operator = env::var_os("PALISADE_OPERATOR_CONFIG").map(PathBuf::from);
        if operator.as_ref().is_some_and(|path| !path.is_absolute()) {
            bail!("PALISADE_OPERATOR_CONFIG is no absolute path");
        }
        let cache = place("PALISADE_CACHE_DIR", "XDG_CACHE_HOME", ".cache");
        Ok(Self {
            toolchains: absolute("PALISADE_TOOLCHAINS").or_else(|| Some(cache.as_ref()?.join("toolchains"))),
            operator_config: operator.unwrap_or_else(|| PathBuf::from("/etc/palisade/config.toml")),
            variables: own_variables(),
            cache,
            data: place("PALISADE_DATA_DIR", "XDG_DATA_HOME", ".local/share"),
            config: place("PALISADE_CONFIG_DIR", "XDG_CONFIG_HOME", ".config"),
            home: home.clone(),
            of_others: Vec::new(),
            worker: env::current_exe().context("this program cannot find its own file")?,
            current: env::current_dir().context("the current folder cannot be found")?,
        })
    }

    /// The folder to work in: the given one or the current one, with every link resolved.
    pub(crate) fn workspace(&self, given: Option<&Path>) -> anyhow::Result<PathBuf> {
        let folder = given.unwrap_or(&self.current);
        let real =
            folder.canonicalize().with_context(|| format!("the workspace {} cannot be opened", folder.display()))?;
        if !real.is_dir() {
            bail!("the workspace {} is not a folder", folder.display());
        }
        Ok(real)
    }
}

/// Colours where a person looks, unless `NO_COLOR` is set.
pub(crate) fn colours() -> Colours {
    let moves = env::var_os("TERM").is_none_or(|value| value != "dumb");
    let wanted = moves && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Colours { stdout: wanted && io::stdout().is_terminal(), stderr: wanted && io::stderr().is_terminal(), moves }
}

/// The value of a variable that holds a key; none if it is empty.
pub(crate) fn secret(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Everything this process was started with, for a program outside of the sandbox to be given a part of.
pub(crate) fn environment() -> Environment {
    env::vars_os().collect()
}

fn own_variables() -> BTreeMap<String, String> {
    let readable = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
    };
    env::vars_os().filter_map(readable).filter(|(name, _)| name.starts_with("PALISADE_")).collect()
}

/// A variable that names a place. The XDG rules say to ignore relative ones, and so do we.
fn absolute(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
