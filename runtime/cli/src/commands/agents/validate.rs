//! `palisade agents validate`.

use std::path::PathBuf;

use palisade_catalog::{Checked, Severity, available, effective};
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
    let available = available(&registry);
    let Checked { agents, notices, files } = &mut checked;
    for agent in agents.iter() {
        for warning in effective(agent, &available, &registry).warnings {
            notices
                .push(palisade_catalog::Notice::warning(agent.origin.path.as_deref().unwrap_or(&agent.name), warning));
        }
    }
    let errors = notices.iter().filter(|notice| notice.severity == Severity::Error).count();
    let warnings = notices.len() - errors;
    if arguments.json {
        let of = |severity: Severity| notices.iter().filter(|notice| notice.severity == severity).collect::<Vec<_>>();
        terminal.json(&json!({
            "files": files,
            "agents": agents.iter().map(|agent| &agent.name).collect::<Vec<_>>(),
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
