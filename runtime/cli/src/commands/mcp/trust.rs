//! `palisade mcp trust` and `untrust`: whether a server may be used, as it is and as it describes its tools now.

use std::path::Path;

use anyhow::{Context as _, bail};
use palisade_catalog::{
    Met, PROJECT_SERVERS, PinnedServer, PinnedTool, Registry, Server, Trust, definition::Connection,
};
use palisade_grants::Grants;
use serde_json::json;

use crate::offers::described;
use crate::{
    Exit,
    assemble::Assembly,
    places::Lookup,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Let an MCP server be used as it describes its tools now.
///
/// It is started, with nothing but the workspace to look at, and asked for its tools; what it says is shown and kept, and
/// counts until this is said again. If the project names the server, its .mcp.json is trusted first, as it is now.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Its name; `palisade mcp list` shows them.
    server: String,
    #[command(flatten)]
    lookup: Lookup,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Trust the project's .mcp.json no longer: none of its servers is started.
#[derive(clap::Args)]
pub(super) struct Untrust {
    #[command(flatten)]
    lookup: Lookup,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What became of a tool since the server was last met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Same,
    New,
    Changed,
}

pub(super) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (workspace, mut registry) = arguments.lookup.open(settings)?;
    let config = arguments.lookup.config(settings, &workspace, &registry).accepted(terminal)?;
    let file = registry.servers_file().filter(|file| !file.trusted).map(|file| file.digest);
    let is_of_project = find(&registry, &arguments.server)?.is_of_project;
    let trusted = file.filter(|_| is_of_project);
    if let Some(digest) = &trusted {
        if !arguments.json {
            show_project(&registry, terminal)?;
        }
        decide(&arguments.lookup, settings, &workspace, Some(digest))?;
        registry = arguments.lookup.registry(settings, &workspace)?;
    }
    let server = find(&registry, &arguments.server)?.clone();
    let before = registry.pinned(&server).cloned();
    let assembly = Assembly::start(settings, terminal)?.reaching(&config);
    let met = assembly.meet(&server, &registry, &workspace, &Grants::everything());
    let Met { pinned, left_out } = met.with_context(|| format!("the MCP server `{}` was not met", server.name))?;
    let pinned = registry.pin(&server, pinned, true)?;
    let gone = gone(before.as_ref(), &pinned);
    if arguments.json {
        let tool = |(name, tool): (&String, &PinnedTool)| {
            let change = change(before.as_ref(), name, tool).word();
            json!({ "name": full(&server, name), "description": tool.description, "pin": tool.pin(name), "change": change })
        };
        terminal.json(&json!({
            "server": server.name,
            "trusted_file": trusted.is_some(),
            "tools": pinned.tools.iter().map(tool).collect::<Vec<_>>(),
            "gone": gone,
            "left_out": left_out,
        }))?;
        return Ok(Exit::Done);
    }
    print(&server, before.as_ref(), &pinned, terminal)?;
    for name in &gone {
        terminal.line(&Line::new().column(Style::Bad, "gone", 8).add(Style::Plain, &full(&server, name)))?;
    }
    for name in &left_out {
        terminal.warning(&format!("a tool called `{name}` is left out: no tool can be called so, or another one is"));
    }
    Ok(Exit::Done)
}

pub(super) fn revoke(arguments: &Untrust, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let workspace = arguments.lookup.workspace(settings)?;
    decide(&arguments.lookup, settings, &workspace, None)?;
    if arguments.json {
        terminal.json(&json!({ "trusted": false, "file": PROJECT_SERVERS }))?;
    } else {
        let line = Line::new().add(Style::Good, "no longer trusted: ").add(Style::Plain, PROJECT_SERVERS);
        terminal.line(&line)?;
    }
    Ok(Exit::Done)
}

/// Keeps a decision about the project's file.
fn decide(
    lookup: &Lookup,
    settings: &Settings,
    workspace: &Path,
    digest: Option<&palisade_catalog::FileDigest>,
) -> anyhow::Result<()> {
    let file = lookup.places(settings, workspace).trust;
    let file = file.context("there is no place to keep decisions; set HOME or PALISADE_DATA_DIR")?;
    let mut trust = Trust::load(&file);
    match digest {
        Some(digest) => trust.trust_digest(workspace, PROJECT_SERVERS, digest),
        None => trust.revoke(workspace, PROJECT_SERVERS),
    }
    trust.save(&file)?;
    Ok(())
}

fn find<'a>(registry: &'a Registry, name: &str) -> anyhow::Result<&'a Server> {
    match registry.servers().iter().find(|server| server.name == name) {
        Some(server) => Ok(server),
        None => {
            let known: Vec<&str> = registry.servers().iter().map(|server| server.name.as_str()).collect();
            let known =
                if known.is_empty() { "there are none".to_owned() } else { format!("there are {}", known.join(", ")) };
            bail!("there is no MCP server `{name}`; {known}")
        }
    }
}

/// What the project would have started, all of which is trusted with one of it.
fn show_project(registry: &Registry, terminal: &Terminal) -> anyhow::Result<()> {
    for server in registry.servers().iter().filter(|server| server.is_of_project) {
        let at = server.connection.as_ref().map_or("cannot be used".to_owned(), Connection::shown);
        let given = server.connection.as_ref().map(|own| own.given().join(", ")).filter(|given| !given.is_empty());
        let given = given.map(|given| format!(" (given: {given})")).unwrap_or_default();
        let line = Line::new()
            .column(Style::Good, "trusted", 8)
            .column(Style::Bold, &server.name, 12)
            .add(Style::Plain, &format!("{at}{given}"));
        terminal.line(&line)?;
    }
    Ok(())
}

fn print(
    server: &Server,
    before: Option<&PinnedServer>,
    pinned: &PinnedServer,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    for (name, tool) in &pinned.tools {
        let change = change(before, name, tool);
        let style = match change {
            Change::Same => Style::Dim,
            Change::New => Style::Good,
            Change::Changed => Style::Caution,
        };
        let line = Line::new().column(style, change.word(), 8).column(Style::Bold, &full(server, name), 32);
        terminal.line(&line.add(Style::Plain, &described(&tool.description)))?;
        let was = before.and_then(|before| before.tools.get(name)).filter(|_| change == Change::Changed);
        if let Some(was) = was {
            let text = format!("it was: {}", described(&was.description));
            terminal.line(&Line::new().column(Style::Plain, "", 8).add(Style::Dim, &text))?;
        }
    }
    Ok(())
}

fn full(server: &Server, tool: &str) -> String {
    format!("mcp__{}__{tool}", server.name)
}

fn change(before: Option<&PinnedServer>, name: &str, tool: &PinnedTool) -> Change {
    match before.and_then(|before| before.tools.get(name)) {
        None => Change::New,
        Some(was) if was.pin(name) == tool.pin(name) => Change::Same,
        Some(_) => Change::Changed,
    }
}

fn gone(before: Option<&PinnedServer>, now: &PinnedServer) -> Vec<String> {
    let names = before.iter().flat_map(|before| before.tools.keys());
    names.filter(|name| !now.tools.contains_key(*name)).cloned().collect()
}

impl Change {
    fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::New => "new",
            Self::Changed => "changed",
        }
    }
}
