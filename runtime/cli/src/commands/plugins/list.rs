//! `palisade plugins list`.

use palisade_catalog::{Plugin, Registry};
use serde_json::{Value, json};

use crate::{
    Exit,
    places::Lookup,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// List the plugins, with what they bring and whether they can be used.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    lookup: Lookup,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (_, registry) = arguments.lookup.open(settings)?;
    if arguments.json {
        terminal.json(&registry.plugins().iter().map(|plugin| value(plugin, &registry)).collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    for plugin in registry.plugins() {
        print(plugin, &registry, terminal)?;
    }
    if registry.plugins().is_empty() {
        terminal.note(&Line::new().add(Style::Dim, "there are no plugins"));
    }
    Ok(Exit::Done)
}

/// The agents that a plugin brings, by name.
fn agents<'a>(plugin: &'a Plugin, registry: &'a Registry) -> Vec<&'a str> {
    let mut names: Vec<&str> = registry
        .entries()
        .into_iter()
        .filter(|entry| entry.origin.plugin.as_deref() == Some(plugin.name.as_str()))
        .map(|entry| entry.name)
        .collect();
    names.sort_unstable();
    names
}

/// Whether it can be used, in a word and in a sentence.
fn status(plugin: &Plugin) -> (&'static str, Option<String>) {
    match (&plugin.broken, plugin.disabled) {
        (Some(rejected), _) => ("broken", Some(rejected.to_string())),
        (None, true) => ("disabled", None),
        (None, false) => ("ok", None),
    }
}

fn value(plugin: &Plugin, registry: &Registry) -> Value {
    let (status, reason) = status(plugin);
    let tools = plugin.tools.iter().map(|tool| {
        json!({
            "name": tool.manifest.name,
            "description": tool.manifest.description,
            "component": tool.manifest.component,
            "command": tool.manifest.command,
            "refused": tool.refused,
        })
    });
    json!({
        "name": plugin.name,
        "version": plugin.version,
        "description": plugin.description,
        "path": plugin.path,
        "status": status,
        "reason": reason,
        "tools": tools.collect::<Vec<_>>(),
        "agents": agents(plugin, registry),
    })
}

fn print(plugin: &Plugin, registry: &Registry, terminal: &Terminal) -> anyhow::Result<()> {
    let margin = " ".repeat(16);
    let dim = |text: &str| terminal.line(&Line::new().add(Style::Dim, &format!("{margin}{text}")));
    let mut title = Line::new().column(Style::Bold, &plugin.name, 14);
    if let Some(version) = &plugin.version {
        title = title.add(Style::Plain, version).add(Style::Plain, "  ");
    }
    terminal.line(&title.add(Style::Plain, plugin.description.as_deref().unwrap_or_default()))?;
    for (what, names) in [
        ("tools", plugin.tools.iter().map(|tool| tool.manifest.name.as_str()).collect::<Vec<_>>()),
        ("agents", agents(plugin, registry)),
    ] {
        if !names.is_empty() {
            dim(&format!("{what}: {}", names.join(", ")))?;
        }
    }
    dim(&format!("from: {}", plugin.path.display()))?;
    for tool in &plugin.tools {
        if let Some(reason) = &tool.refused {
            let text = format!("{margin}{} is not there: {reason}", tool.manifest.name);
            terminal.whole(&Line::new().add(Style::Caution, &text))?;
        }
    }
    let (word, reason) = status(plugin);
    if word != "ok" {
        let mut line = Line::new().add(Style::Plain, &margin).add(Style::Bad, word);
        if let Some(reason) = reason {
            line = line.add(Style::Plain, ": ").add(Style::Plain, &reason);
        }
        terminal.whole(&line)?;
    }
    Ok(())
}
