//! `palisade agents list`.

use palisade_catalog::{Entry, Registry, Status, available, effective};
use serde_json::{Value, json};

use crate::{
    Exit,
    config::Config,
    places::Lookup,
    render::{Line, Style, Terminal, words},
    settings::Settings,
};

/// List the agents, with where they come from, their tools and what they may do.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    lookup: Lookup,
    /// List hidden agents, too.
    #[arg(long)]
    all: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (workspace, registry) = arguments.lookup.open(settings)?;
    let config = arguments.lookup.config(settings, &workspace, &registry);
    let entries = registry.entries();
    let shown = entries
        .iter()
        .filter(|entry| arguments.all || entry.agent.is_none_or(|agent| !agent.hidden && agent.ui_visible));
    if arguments.json {
        terminal.json(&shown.map(|entry| value(entry, &registry, &config)).collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    for entry in shown {
        print(entry, &registry, terminal)?;
    }
    for problem in registry.problems() {
        terminal.warning(&problem.to_string());
    }
    Ok(Exit::Done)
}

fn value(entry: &Entry<'_>, registry: &Registry, config: &Config) -> Value {
    let mut value = json!({
        "name": entry.name,
        "source": entry.origin.layer.name(),
        "plugin": entry.origin.plugin,
        "path": entry.origin.path,
        "status": entry.status.name(),
        "shadows": entry.shadows.iter().map(|shadow| json!({
            "source": shadow.origin.to_string(),
            "path": shadow.origin.path,
        })).collect::<Vec<_>>(),
        "warnings": entry.warnings,
    });
    if let Some(agent) = entry.agent {
        let effective = effective(&config.budgeted(agent), &available(registry), registry);
        value["display_name"] = agent.display_name().into();
        value["description"] = agent.description.as_str().into();
        value["hidden"] = agent.hidden.into();
        value["model"] = agent.model.as_ref().map(ToString::to_string).into();
        value["tools"] = effective.tools.iter().map(|tool| tool.candidate.name()).collect();
        value["grants"] = json!(effective.grants);
        value["budget"] = json!(effective.budget);
    }
    value
}

fn print(entry: &Entry<'_>, registry: &Registry, terminal: &Terminal) -> anyhow::Result<()> {
    let margin = " ".repeat(16);
    let (style, word) = (style(entry.status), entry.status.name());
    let title = Line::new().column(Style::Bold, entry.name, 14);
    let title = match entry.agent {
        Some(agent) => title.add(Style::Plain, &agent.description),
        None => title.add(style, word),
    };
    terminal.line(&title)?;
    let dim = |text: &str| terminal.line(&Line::new().add(Style::Dim, &format!("{margin}{text}")));
    if let Some(agent) = entry.agent {
        let effective = effective(agent, &available(registry), registry);
        let tools: Vec<&str> = effective.tools.iter().map(|tool| tool.candidate.name()).collect();
        dim(&format!("tools: {}", if tools.is_empty() { "none".to_owned() } else { tools.join(", ") }))?;
        dim(&words::grants(&effective.grants))?;
    }
    let mut from = format!("from: {}", entry.origin);
    if let Some(path) = &entry.origin.path {
        from += &format!(" {path}");
    }
    for shadow in entry.shadows {
        from += &format!("; overrides: {}", shadow.origin);
    }
    dim(&from)?;
    match entry.status {
        Status::Ok => {}
        Status::Broken | Status::Untrusted | Status::Refused => terminal.line(
            &Line::new()
                .add(Style::Plain, &margin)
                .add(style, word)
                .add(Style::Plain, ": ")
                .add(Style::Plain, &entry.advice()),
        )?,
    }
    Ok(())
}

fn style(status: Status) -> Style {
    match status {
        Status::Ok => Style::Good,
        Status::Untrusted => Style::Caution,
        Status::Broken | Status::Refused => Style::Bad,
    }
}
