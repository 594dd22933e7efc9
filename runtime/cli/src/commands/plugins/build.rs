//! `palisade plugins build`.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::author;
use crate::{
    Exit,
    assemble::Assembly,
    authoring::{BuiltTool, Project, Workshop},
    render::{Line, Style, Terminal, words},
    settings::Settings,
};

/// Build a plugin's sources into `dist`, which can be installed.
///
/// How is said by `build` in its `plugin.json`. Compilers run as you, outside of the sandbox; what they
/// make is then asked what it is, with nothing lent to it.
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 it was built, 1 it was not")]
pub(crate) struct Arguments {
    /// The project's folder.
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let project = Project::open(&arguments.folder)?;
    let assembly = Assembly::start(settings, terminal)?;
    let built = match (Workshop { settings, terminal, assembly: &assembly }).build(&project) {
        Ok(built) => built,
        Err(error) => return author::mistake(error, arguments.json, terminal),
    };
    if arguments.json {
        let tools: Vec<Value> = built.iter().map(value).collect();
        terminal.json(&json!({ "name": project.manifest.name, "dist": project.dist(), "tools": tools }))?;
        return Ok(Exit::Done);
    }
    for tool in &built {
        print(tool, terminal)?;
    }
    let next = format!("next: palisade plugins install {}", arguments.folder.join("dist").display());
    terminal.note(&Line::new().add(Style::Dim, &next));
    Ok(Exit::Done)
}

/// What was built, as the model will see it.
pub(super) fn print(tool: &BuiltTool, terminal: &Terminal) -> anyhow::Result<()> {
    let description = &tool.description;
    let needs = author::capabilities(description);
    let facts = format!("{}, needs {needs}", words::size(tool.size as u64));
    terminal.line(
        &Line::new().add(Style::Good, "built ").add(Style::Bold, &tool.name).add(Style::Dim, &format!("  {facts}")),
    )?;
    for line in description.description.lines() {
        terminal.line(&Line::new().add(Style::Plain, &format!("  {line}")))?;
    }
    let schema: Value = serde_json::from_str(&description.input_schema).unwrap_or_default();
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let kind = property["type"].as_str().map_or_else(|| "any".to_owned(), str::to_owned);
        let must = if required.contains(&name.as_str()) { "" } else { ", may be left out" };
        let about = property["description"].as_str().unwrap_or_default();
        terminal.line(
            &Line::new()
                .add(Style::Bold, &format!("    {name}"))
                .add(Style::Dim, &format!(" ({kind}{must}) "))
                .add(Style::Plain, about),
        )?;
    }
    Ok(())
}

fn value(tool: &BuiltTool) -> Value {
    let description = &tool.description;
    json!({
        "name": tool.name,
        "component": tool.path,
        "bytes": tool.size,
        "changed": tool.changed,
        "description": description.description,
        "input_schema": serde_json::from_str::<Value>(&description.input_schema).unwrap_or_default(),
        "capabilities": description.capabilities.iter().map(|capability| capability.name()).collect::<Vec<_>>(),
        "imports": tool.compiled.needs().imports.iter().map(|import| &import.name).collect::<Vec<_>>(),
        "read_only": description.read_only,
        "idempotent": description.idempotent,
    })
}
