//! `palisade skills check`.

use std::path::PathBuf;

use palisade_catalog::check_skills;

use crate::{
    Exit,
    commands::agents::validate::{Findings, report},
    places::Lookup,
    render::Terminal,
    settings::Settings,
};

/// Check skills: what is wrong, where, and how to mend it.
///
/// Without a path every skill that would be looked at is checked.
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 nothing is wrong (there may be warnings), 1 there are errors")]
pub(crate) struct Arguments {
    /// A `SKILL.md`, the folder of a skill, or a folder of such folders.
    paths: Vec<PathBuf>,
    #[command(flatten)]
    lookup: Lookup,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let checked = match arguments.paths.is_empty() {
        true => arguments.lookup.open(settings)?.1.skills().check(),
        false => check_skills(&arguments.paths)?,
    };
    let names: Vec<&str> = checked.skills.iter().map(String::as_str).collect();
    let findings = Findings { what: "skills", names: &names, notices: &checked.notices, files: checked.files };
    report(&findings, arguments.json, terminal)
}
