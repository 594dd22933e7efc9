//! `palisade tools`: which tools there are, what a component needs, and one call of one tool.

mod call;
mod inspect;
mod plugin;
mod served;
mod source;

use std::collections::BTreeSet;

use anyhow::bail;
use palisade_catalog::BuiltIn;
use palisade_sandbox::{Compiled, Description, Import};
use serde_json::{Value, json};

use crate::{
    Exit,
    assemble::Assembly,
    places::Lookup,
    render::{Line, Style, Terminal, words},
    settings::Settings,
};

/// List, inspect and call tools.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// List the built-in tools, those of plugins, and those of MCP servers that were met.
    List {
        #[command(flatten)]
        lookup: Lookup,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a built-in tool: what it does, its input, what it needs.
    Show {
        /// The tool's name.
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    Inspect(inspect::Arguments),
    Call(call::Arguments),
}

pub(crate) fn run(command: &Command, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    match command {
        Command::List { lookup, json } => list(lookup, *json, settings, terminal),
        Command::Show { name, json } => show(name, *json, settings, terminal),
        Command::Inspect(arguments) => inspect::run(arguments, settings, terminal),
        Command::Call(arguments) => call::run(arguments, settings, terminal),
    }
}

fn list(lookup: &Lookup, json: bool, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (_, registry) = lookup.open(settings)?;
    if json {
        let core = BuiltIn::all().map(|tool| described(&tool.description()));
        let all = core.chain(plugin::listed(&registry)).chain(served::listed(&registry));
        terminal.json(&all.collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    for tool in BuiltIn::all() {
        let description = tool.description();
        let line = Line::new()
            .column(Style::Bold, tool.name, 8)
            .column(Style::Plain, &capabilities(&description), 18)
            .column(Style::Dim, if description.read_only { "read-only" } else { "writes" }, 9)
            .add(Style::Plain, &first_sentence(&description.description));
        terminal.line(&line)?;
    }
    plugin::print(&registry, terminal)?;
    served::print(&registry, terminal)?;
    Ok(Exit::Done)
}

fn show(name: &str, json: bool, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let Some(tool) = BuiltIn::find(name) else { bail!("there is no built-in tool `{name}`; there are {}", known()) };
    let description = tool.description();
    let assembly = Assembly::start(settings, terminal)?;
    let compiled = tool.load(&assembly.engine, Some(assembly.compiler()))?;
    let imports = &compiled.needs().imports;
    if json {
        let mut value = described(&description);
        value["imports"] = imports.iter().map(import_json).collect();
        value["component_bytes"] = tool.wasm.len().into();
        value["code_bytes"] = tool.code_size().into();
        terminal.json(&value)?;
        return Ok(Exit::Done);
    }
    terminal.text(&format!("{name}: {}\n", description.description))?;
    terminal.line(&fact("needs", &capabilities(&description)))?;
    terminal.line(&fact("effect", effect(&description)))?;
    let sizes = [tool.wasm.len(), tool.code_size()].map(|size| words::size(size as u64));
    terminal.line(&fact("size", &format!("{} component, {} machine code", sizes[0], sizes[1])))?;
    print_imports(imports, terminal)?;
    let schema: Value = serde_json::from_str(&description.input_schema)?;
    terminal.line(&fact("input", ""))?;
    terminal.json(&schema)?;
    Ok(Exit::Done)
}

/// The first sentence; sentences of a description may go over several lines.
fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.split_once(". ").map_or(text.clone(), |(first, _)| format!("{first}."))
}

/// The names of the built-in tools.
fn known() -> String {
    BuiltIn::all().map(|tool| tool.name).collect::<Vec<_>>().join(", ")
}

fn fact(name: &str, value: &str) -> Line {
    Line::new().column(Style::Dim, name, 8).add(Style::Plain, value)
}

fn effect(description: &Description) -> &'static str {
    match (description.read_only, description.idempotent) {
        (true, _) => "read-only",
        (false, true) => "writes; twice is as once",
        (false, false) => "writes",
    }
}

fn capabilities(description: &Description) -> String {
    let host = description.capabilities.iter().map(|capability| capability.name());
    let all: Vec<&str> = host.chain(description.own_capabilities.iter().map(String::as_str)).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

fn print_imports(imports: &[Import], terminal: &Terminal) -> anyhow::Result<()> {
    let (plain, powers): (Vec<&Import>, Vec<&Import>) = imports.iter().partition(|import| import.is_plain());
    for import in powers {
        let needs: Vec<&str> = import.capabilities.iter().map(|capability| capability.name()).collect();
        terminal.line(&fact("imports", &format!("{} → {}", import.name, needs.join(" or "))))?;
    }
    // Of plain WASI, which every guest has, the packages are enough.
    let packages: BTreeSet<&str> = plain.iter().filter_map(|import| import.name.split('/').next()).collect();
    if !packages.is_empty() {
        let packages: Vec<&str> = packages.into_iter().collect();
        terminal.line(&fact("imports", &format!("{} → no authority", packages.join(", "))))?;
    }
    Ok(())
}

fn described(description: &Description) -> Value {
    let Description { name, description, input_schema, capabilities, own_capabilities, read_only, idempotent } =
        description;
    let schema = serde_json::from_str(input_schema).unwrap_or_else(|_| Value::String(input_schema.clone()));
    json!({
        "name": name,
        "description": description,
        "capabilities": capabilities,
        "own_capabilities": own_capabilities,
        "read_only": read_only,
        "idempotent": idempotent,
        "input_schema": schema,
    })
}

/// What is said of a component that offers no tool.
fn nothing_offered(compiled: &Compiled) -> String {
    let left = compiled.not_offered();
    let reasons: Vec<String> =
        left.iter().take(8).map(|left| format!("`{}`: {}", left.function, left.reason)).collect();
    match reasons.is_empty() {
        true => "it exports no function".to_owned(),
        false => format!("none of its functions can be a tool ({})", reasons.join("; ")),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn import_json(import: &Import) -> Value {
    json!({ "name": import.name, "capabilities": import.capabilities })
}
