//! `palisade skills trust` and `untrust`: whether a repository's own skills reach agents.

use anyhow::{Context as _, bail};
use palisade_catalog::{Skills, Status, Trust};
use serde_json::json;

use crate::{
    Exit,
    commands::completions as complete,
    places::Lookup,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Let skills of this workspace reach agents, as their files are now; a changed file is asked about again.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Their names; `palisade skills show NAME` shows what a file says.
    #[arg(required_unless_present = "all", add = complete::skills())]
    skills: Vec<String>,
    /// All skills of the workspace.
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
    let skills = arguments.lookup.registry(settings, &workspace)?.skills();
    let file = places.trust.context("there is no place to keep decisions; set HOME or PALISADE_DATA_DIR")?;
    let names = if arguments.all { all(&skills)? } else { arguments.skills.clone() };
    let mut trust = Trust::load(&file);
    for name in &names {
        let found = skills.find(name).ok_or_else(|| skills.unknown(name))?;
        let decision = found
            .project
            .as_ref()
            .with_context(|| format!("`{name}` is no skill of this workspace; only those need to be trusted"))?;
        match is_trusted {
            true => trust.trust_digest(&workspace, &decision.relative, &decision.digest),
            false => trust.revoke(&workspace, &decision.relative),
        }
    }
    trust.save(&file)?;
    if arguments.json {
        terminal.json(&json!({ "trusted": is_trusted, "skills": names }))?;
    } else {
        let word = if is_trusted { "trusted: " } else { "no longer trusted: " };
        terminal.line(&Line::new().add(Style::Good, word).add(Style::Plain, &names.join(", ")))?;
    }
    Ok(Exit::Done)
}

fn all(skills: &Skills) -> anyhow::Result<Vec<String>> {
    let of_project = skills.entries().filter(|found| found.project.is_some() && found.status() != Status::Broken);
    let names: Vec<String> = of_project.map(|found| found.name.clone()).collect();
    if names.is_empty() {
        bail!("this workspace has no skills of its own");
    }
    Ok(names)
}
