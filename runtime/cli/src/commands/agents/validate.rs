//! `palisade agents validate`.

use std::path::PathBuf;

use palisade_catalog::{Checked, Notice, Severity, available, effective, skills_of};
use serde_json::json;

use crate::{
    Exit,
    places::Lookup,
    render::{Line, Style, Terminal, words},
    settings::Settings,
};

/// Check definitions: what is wrong, where, and how to mend it.
///
/// Without a path every definition that would be loaded is checked.
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 nothing is wrong (there may be warnings), 1 there are errors")]
pub(crate) struct Arguments {
    /// Files (.md, .yaml, .yml, .json) or folders to check.
    paths: Vec<PathBuf>,
    #[command(flatten)]
    lookup: Lookup,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (_, registry) = arguments.lookup.open(settings)?;
    let mut checked =
        if arguments.paths.is_empty() { registry.check() } else { palisade_catalog::check_paths(&arguments.paths)? };
    let (available, skills) = (available(&registry), registry.skills());
    let Checked { agents, notices, files } = &mut checked;
    for agent in agents.iter() {
        let effective = effective(agent, &available, &registry);
        for warning in effective.warnings.iter().chain(&skills_of(&effective, &skills).warnings) {
            notices.push(Notice::warning(agent.origin.path.as_deref().unwrap_or(&agent.name), warning));
        }
    }
    let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    report(&Findings { what: "agents", names: &names, notices, files: *files }, arguments.json, terminal)
}

/// What was found in files that were checked.
pub(crate) struct Findings<'a> {
    /// What is in the files: `agents`.
    pub(crate) what: &'a str,
    /// The names of those that can be used.
    pub(crate) names: &'a [&'a str],
    pub(crate) notices: &'a [Notice],
    pub(crate) files: usize,
}

/// Prints what was found.
pub(crate) fn report(findings: &Findings<'_>, json: bool, terminal: &Terminal) -> anyhow::Result<Exit> {
    let Findings { what, names, notices, files } = findings;
    let errors = notices.iter().filter(|notice| notice.severity == Severity::Error).count();
    let warnings = notices.len() - errors;
    if json {
        let of = |severity: Severity| notices.iter().filter(|notice| notice.severity == severity).collect::<Vec<_>>();
        terminal.json(&json!({
            "files": files,
            (*what): names,
            "errors": of(Severity::Error),
            "warnings": of(Severity::Warning),
        }))?;
    } else {
        for notice in notices.iter() {
            let style = if notice.severity == Severity::Error { Style::Bad } else { Style::Caution };
            let word = if notice.severity == Severity::Error { "error" } else { "warning" };
            let line = Line::new().add(Style::Bold, &notice.place()).add(Style::Plain, ": ").add(style, word);
            terminal.line(&line.add(Style::Plain, &format!(": {}", notice.message)))?;
            if let Some(fix) = &notice.fix {
                terminal.line(&Line::new().add(Style::Dim, &format!("    {fix}")))?;
            }
        }
        let summary = format!(
            "{}, {}, {}",
            words::count(*files, "file", "files"),
            words::count(errors, "error", "errors"),
            words::count(warnings, "warning", "warnings")
        );
        terminal.note(&Line::new().add(if errors > 0 { Style::Bad } else { Style::Good }, &summary));
    }
    Ok(if errors > 0 { Exit::Failed } else { Exit::Done })
}
