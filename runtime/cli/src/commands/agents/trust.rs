//! `palisade agents trust` and `untrust`: whether a repository's own agents may run.

use anyhow::{Context as _, bail};
use palisade_catalog::{Registry, Status, Trust};
use serde_json::json;

use crate::{
    Exit,
    places::Lookup,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Let agents of this workspace run, as their files are now; a changed file is asked about again.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Their names; `palisade agents show NAME` shows what a file says.
    #[arg(required_unless_present = "all")]
    agents: Vec<String>,
    /// All agents of the workspace.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    lookup: Lookup,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn trust(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    change(arguments, settings, terminal, true)
}

pub(crate) fn untrust(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    change(arguments, settings, terminal, false)
}

fn change(arguments: &Arguments, settings: &Settings, terminal: &Terminal, is_trusted: bool) -> anyhow::Result<Exit> {
    let workspace = arguments.lookup.workspace(settings)?;
    let places = arguments.lookup.places(settings, &workspace);
    let registry = arguments.lookup.registry(settings, &workspace)?;
    let file = places.trust.context("there is no place to keep decisions; set HOME or PALISADE_DATA_DIR")?;
    let names = names(arguments, &registry)?;
    let mut trust = Trust::load(&file);
    for name in &names {
        let decision = registry
            .project_file(name)
            .with_context(|| format!("`{name}` is no agent of this workspace; only those need to be trusted"))?;
        match is_trusted {
            true => trust.trust_digest(&workspace, &decision.relative, &decision.digest),
            false => trust.revoke(&workspace, &decision.relative),
        }
    }
    trust.save(&file)?;
    if arguments.json {
        terminal.json(&json!({ "trusted": is_trusted, "agents": names }))?;
    } else {
        let word = if is_trusted { "trusted: " } else { "no longer trusted: " };
        terminal.line(&Line::new().add(Style::Good, word).add(Style::Plain, &names.join(", ")))?;
    }
    Ok(Exit::Done)
}

fn names(arguments: &Arguments, registry: &Registry) -> anyhow::Result<Vec<String>> {
    if !arguments.all {
        return Ok(arguments.agents.clone());
    }
    let of_project = registry.entries().into_iter().filter(|entry| registry.project_file(entry.name).is_some());
    let names: Vec<String> =
        of_project.filter(|entry| entry.status != Status::Broken).map(|entry| entry.name.to_owned()).collect();
    if names.is_empty() {
        bail!("this workspace has no agents of its own");
    }
    Ok(names)
}
