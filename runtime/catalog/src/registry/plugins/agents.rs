//! The agents of a plugin: the entries of its manifest, and the files in its folder `agents`.

use std::{collections::HashSet, path::Path, sync::Arc};

use palisade_agent::{Layer, Origin};

use super::Plugin;
use crate::{
    definition::{Manifest, ManifestAgent, Notice, Parsed, Presence, Rejected, Source, parse_plugin_agent},
    registry::{
        cache::FileCache,
        found::{Found, State},
        read::{self, ReadError},
        tree::Tree,
    },
};

/// Where a plugin may have agents that its manifest does not mention.
const FOLDER: &str = "agents";

/// Loads the agents of a plugin. No two of them have one name.
pub(super) fn load(
    plugin: &Plugin,
    manifest: &Manifest,
    cache: &mut FileCache,
    notices: &mut Vec<Notice>,
) -> Vec<Found> {
    let mut agents: Vec<Found> = manifest.agents.iter().map(|entry| from_entry(plugin, entry)).collect();
    let mut names: HashSet<String> = HashSet::new();
    agents.retain(|agent| names.insert(agent.name.clone()));

    let Some(dir) = folder(plugin, notices) else { return agents };
    // A file that the manifest speaks of is the agent of that entry and no second one, even if the
    // entry cannot be used: what the entry restricts, the file alone does not.
    let prompts = manifest.agents.iter().filter_map(|entry| read::inside(&entry.system_prompt_file).ok());
    let except: HashSet<String> = prompts.filter_map(|path| Some(path.strip_prefix("agents/")?.to_owned())).collect();
    let at = plugin.path.join(FOLDER);
    let tree = Tree { dir: &dir, at: &at, layer: Layer::Plugin, plugin: Some(&plugin.name), except: &except };
    for definition in tree.definitions(cache, notices) {
        if names.contains(&definition.name) {
            let message =
                format!("the agent `{}` is the one of the plugin's manifest; this file is not used", definition.name);
            notices.push(Notice::warning(definition.origin.path.unwrap_or_default(), message));
        } else {
            agents.push(definition.into_found());
        }
    }
    agents
}

fn from_entry(plugin: &Plugin, entry: &ManifestAgent) -> Found {
    let path = plugin.path.join(&entry.system_prompt_file).display().to_string();
    let origin = Origin::plugin(&plugin.name, &path);
    let source = Source {
        file: &path,
        origin: origin.clone(),
        fallback_name: None,
        required_name: None,
        description: Presence::Optional,
    };
    let (state, warnings) = match parse(plugin, entry, &source) {
        Ok(Parsed { agent, warnings }) => (State::Usable(Arc::new(agent)), warnings),
        Err(rejected) => (State::Broken(Arc::new(rejected)), Vec::new()),
    };
    Found { name: entry.name.clone(), origin, state, warnings, project: None }
}

fn parse(plugin: &Plugin, entry: &ManifestAgent, source: &Source<'_>) -> Result<Parsed, Rejected> {
    let file = &entry.system_prompt_file;
    let contents =
        read::inside(file).and_then(|path| read::read(&plugin.folder, path)).map_err(|error: ReadError| {
            let message = format!("Failed to read agent file '{file}': {error}");
            Rejected { notices: vec![Notice::error(source.file, message)] }
        })?;
    let mut parsed = parse_plugin_agent(entry, &plugin.name, &contents.bytes, source)?;
    // Who it is decides which bound tools work for it, so it is said here once more.
    parsed.agent.name.clone_from(&entry.name);
    parsed.agent.origin = source.origin.clone();
    Ok(parsed)
}

/// The plugin's folder of agents, if it has one.
fn folder(plugin: &Plugin, notices: &mut Vec<Notice>) -> Option<cap_std::fs::Dir> {
    match plugin.folder.open_dir(FOLDER) {
        Ok(dir) => Some(dir),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            let path = plugin.path.join(Path::new(FOLDER)).display().to_string();
            let message = format!("Failed to read agent directory: {}", ReadError::from(error));
            notices.push(Notice::warning(path, message));
            None
        }
    }
}
