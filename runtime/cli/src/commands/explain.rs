//! `palisade explain`: what an agent may do, and why.

use palisade_catalog::{Explanation, available, effective, skills_of};
use palisade_grants::Decision;
use serde_json::Value;

use crate::{
    Exit, WrongUsage,
    places::Lookup,
    render::{Line, Style, Terminal, words},
    settings::Settings,
};

/// Show what an agent may do: its tools, skills, grants, limits, and why a tool is not there.
///
/// Nothing is run, and no model is asked. The same function decides here and in a run.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The agent's name, or `plugin/name`.
    agent: String,
    #[command(flatten)]
    lookup: Lookup,
    /// Say what would become of a call, such as `bash {"command": "ls"}`; may be given several times.
    #[arg(long, value_name = "TOOL JSON")]
    call: Vec<String>,
    /// Print JSON (docs/explain.md describes it).
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  palisade explain explore
  palisade explain reviewer --agents-dir ./agents --json
  palisade explain explore --call 'bash {\"command\": \"ls; rm -rf x\"}'

Exit codes: 0 explained, 1 there is no such agent, or its file or the configuration is broken, 2 wrong usage";

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let calls = arguments.call.iter().map(|text| call(text)).collect::<Result<Vec<_>, _>>()?;
    let (workspace, registry) = arguments.lookup.open(settings)?;
    let config = arguments.lookup.config(settings, &workspace, &registry).accepted(terminal)?;
    let found = registry.look_up(&arguments.agent)?;
    let effective = effective(&config.budgeted(found.agent), &available(&registry), &registry);
    let skills = skills_of(&effective, &registry.skills());
    let explanation = Explanation::new(&effective, &skills, found.shadows, found.warnings(), &calls);
    if arguments.json {
        terminal.json(&explanation)?;
    } else {
        print(&explanation, terminal)?;
    }
    Ok(Exit::Done)
}

/// Reads `TOOL JSON`; without JSON the input is empty.
fn call(text: &str) -> Result<(String, Value), WrongUsage> {
    let text = text.trim();
    let (tool, input) = text.split_once(char::is_whitespace).unwrap_or((text, "{}"));
    if tool.is_empty() {
        return Err(WrongUsage("--call needs a tool and its input, such as 'bash {\"command\": \"ls\"}'".to_owned()));
    }
    match serde_json::from_str(input) {
        Ok(input @ Value::Object(_)) => Ok((tool.to_owned(), input)),
        Ok(_) => {
            let example = "such as {\"path\": \"README.md\"}";
            Err(WrongUsage(format!("the input of `{tool}` must be a JSON object, {example}")))
        }
        Err(error) => Err(WrongUsage(format!("the input of `{tool}` is not JSON: {error}"))),
    }
}

/// Prints what an agent may do, for people.
pub(crate) fn print(explanation: &Explanation, terminal: &Terminal) -> anyhow::Result<()> {
    let place = explanation.path.as_deref().unwrap_or("part of this program");
    let title =
        Line::new().add(Style::Bold, &explanation.agent).add(Style::Dim, &format!("  {}, {place}", explanation.source));
    terminal.line(&title)?;
    for shadow in &explanation.shadows {
        row(
            terminal,
            Style::Caution,
            "instead of",
            &[shadow["source"].as_str(), shadow["path"].as_str()].into_iter().flatten().collect::<Vec<_>>().join(", "),
        )?;
    }
    row(
        terminal,
        Style::Plain,
        "model",
        explanation.model.as_deref().unwrap_or("as its parent's, or the configured one"),
    )?;
    row(terminal, Style::Plain, "pool key", &explanation.pool_key)?;

    head(terminal, "Tools")?;
    if explanation.tools.is_empty() {
        row(terminal, Style::Dim, "none", "")?;
    }
    for tool in &explanation.tools {
        let capabilities: Vec<&str> =
            tool["capabilities"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let needs = if capabilities.is_empty() { "needs nothing".to_owned() } else { capabilities.join(", ") };
        let source = tool["source"].as_str().unwrap_or_default();
        let line = Line::new()
            .add(Style::Plain, "  ")
            .column(Style::Good, tool["name"].as_str().unwrap_or_default(), 16)
            .column(Style::Plain, &needs, 20)
            .column(Style::Dim, source, 8);
        let line = match tool["unavailable"].as_str() {
            Some(reason) => line.add(Style::Caution, &format!("unavailable: {reason}")),
            None if tool["command"] == true => line.add(Style::Dim, "a command of bash"),
            None => line,
        };
        terminal.line(&line)?;
        if let Some(remedy) = tool["not_granted"]["remedy"].as_str() {
            let words: Vec<&str> =
                tool["not_granted"]["words"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let text = format!("not granted to its plugin: {}; {remedy}", words.join(", "));
            terminal.line(&Line::new().add(Style::Plain, &" ".repeat(18)).add(Style::Caution, &text))?;
        }
    }
    if !explanation.excluded.is_empty() {
        head(terminal, "Not there")?;
    }
    for tool in &explanation.excluded {
        let line =
            Line::new().add(Style::Plain, "  ").column(Style::Dim, &tool.name, 16).add(Style::Plain, &tool.reason);
        let line = match &tool.rule {
            Some(rule) if !tool.reason.contains(rule.as_str()) => line.add(Style::Dim, &format!("  ({rule})")),
            _ => line,
        };
        terminal.line(&line)?;
    }
    skills(explanation, terminal)?;

    head(terminal, "Grants")?;
    for (name, grant) in explanation.grants.as_object().into_iter().flatten() {
        let text = match grant {
            Value::Array(items) if items.is_empty() => "none".to_owned(),
            Value::Array(items) => items.iter().map(granted).collect::<Vec<_>>().join(", "),
            Value::Null => "none".to_owned(),
            other => other.to_string(),
        };
        let style = if text == "none" { Style::Dim } else { Style::Plain };
        row(terminal, style, name, &text)?;
    }
    head(terminal, "Limits of a call")?;
    for (name, limit) in explanation.limits.as_object().into_iter().flatten() {
        let number = limit.as_u64().unwrap_or_default();
        let text = match name.as_str() {
            "memory" | "stack" | "output" | "host_call" | "written" => words::size(number),
            "call_time_ms" => words::time(std::time::Duration::from_millis(number)),
            _ => number.to_string(),
        };
        row(terminal, Style::Plain, name.trim_end_matches("_ms"), &text)?;
    }
    head(terminal, "Budget of a run")?;
    for (name, limit) in explanation.budget.as_object().into_iter().flatten() {
        let text = if name == "time" { format!("{limit} s") } else { limit.to_string() };
        row(terminal, Style::Plain, name, &text)?;
    }
    if !explanation.calls.is_empty() {
        head(terminal, "Calls")?;
    }
    for call in &explanation.calls {
        let (style, word) = match call.decision {
            Decision::Allow => (Style::Good, "allow"),
            Decision::Ask => (Style::Caution, "ask"),
            Decision::Deny => (Style::Bad, "deny"),
        };
        let what = format!("{} {}", call.tool, words::arguments(&call.input.to_string()));
        terminal.line(&Line::new().add(Style::Plain, "  ").column(style, word, 5).add(Style::Plain, &what))?;
        terminal.line(&Line::new().add(Style::Plain, "         ").add(Style::Dim, &call.reason))?;
    }
    for warning in &explanation.warnings {
        terminal.warning(warning);
    }
    Ok(())
}

fn skills(explanation: &Explanation, terminal: &Terminal) -> std::io::Result<()> {
    if explanation.skills.is_empty() && explanation.skills_excluded.is_empty() {
        return Ok(());
    }
    head(terminal, "Skills")?;
    let line = || Line::new().add(Style::Plain, "  ");
    for skill in &explanation.skills {
        let text = |field: &str| skill[field].as_str().unwrap_or_default();
        let line = line().column(Style::Good, text("name"), 16).column(Style::Plain, text("given"), 14);
        terminal.line(&line.column(Style::Dim, text("source"), 8).add(Style::Dim, text("path")))?;
    }
    for skill in &explanation.skills_excluded {
        let why = format!("not there: {}", skill.reason);
        terminal.line(&line().column(Style::Dim, &skill.name, 16).add(Style::Plain, &why))?;
    }
    Ok(())
}

fn granted(item: &Value) -> String {
    match (item["path"].as_str(), item["access"].as_str(), item.as_str()) {
        (Some(path), Some(access), _) => format!("{path} {access}"),
        (_, _, Some(text)) => text.to_owned(),
        _ => item.to_string(),
    }
}

fn head(terminal: &Terminal, title: &str) -> std::io::Result<()> {
    terminal.line(&Line::new())?;
    terminal.line(&Line::new().add(Style::Bold, title))
}

fn row(terminal: &Terminal, style: Style, name: &str, text: &str) -> std::io::Result<()> {
    terminal.line(&Line::new().add(Style::Plain, "  ").column(Style::Dim, name, 16).add(style, text))
}
