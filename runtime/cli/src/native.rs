//! Native programs, where the operator or the user allows them.

use std::path::{Path, PathBuf};

use palisade_catalog::Registry;
use palisade_grants::CommandsGrant;
use palisade_sandbox::Programs;

use crate::{
    config::{Exec, Typed},
    settings::{self, Settings},
};

/// Tells a registry what is allowed: nothing, unless the configuration of the operator or the user says so.
pub(crate) fn allow(typed: &Typed, settings: &Settings, registry: &mut Registry) {
    let Typed { exec, outside, .. } = typed;
    registry.allow_outside(outside.allow.iter().filter_map(|name| name.parse().ok()).collect());
    // What is no command was refused when the configuration was read.
    let commands: CommandsGrant = exec.allow.iter().filter_map(|command| command.parse().ok()).collect();
    if !commands.is_empty() {
        registry.allow_programs(commands, programs(exec, settings));
    }
}

/// What native programs find.
pub(crate) fn programs(exec: &Exec, settings: &Settings) -> Programs {
    let standard = Programs::standard(settings.worker.clone());
    let folders = |given: &[String]| given.iter().map(|folder| below_home(folder, settings)).collect();
    let environment = settings::environment();
    let variable = |given: &String| match given.split_once('=') {
        Some((name, value)) => Some((name.to_owned(), value.to_owned())),
        None => {
            let (_, value) = environment.iter().find(|(name, _)| name.to_str() == Some(given))?;
            Some((given.clone(), value.to_str()?.to_owned()))
        }
    };
    Programs {
        path: folders(&exec.path),
        read: folders(&exec.read),
        env: exec.env.iter().filter_map(variable).collect(),
        network: exec.network,
        time: exec.time.unwrap_or(standard.time),
        memory: exec.memory.unwrap_or(standard.memory),
        ..standard
    }
}

/// A folder as it is written, with the home for `~`.
pub(crate) fn below_home(folder: &str, settings: &Settings) -> PathBuf {
    match (folder.strip_prefix("~/"), &settings.home) {
        (Some(below), Some(home)) => home.join(below),
        _ => Path::new(folder).to_owned(),
    }
}
