//! `palisade mcp list`: the servers whose tools agents may have. None is started.

use palisade_catalog::{PinnedServer, Registry, Server, definition::Connection};
use serde_json::{Value, json};

use crate::{
    Exit,
    places::Lookup,
    render::{Line, Style, Terminal, words},
    settings::Settings,
};

/// List the MCP servers whose tools agents may have, and what they said of them.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    lookup: Lookup,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (workspace, registry) = arguments.lookup.open(settings)?;
    arguments.lookup.config(settings, &workspace, &registry).accepted(terminal)?;
    if arguments.json {
        terminal.json(&registry.servers().iter().map(|server| described(server, &registry)).collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    for warning in registry.warnings().iter().filter(|notice| notice.file == palisade_catalog::PROJECT_SERVERS) {
        terminal.warning(&warning.without_severity());
    }
    if registry.servers().is_empty() {
        let text =
            "there are no MCP servers; `[mcp.NAME]` in the configuration or .mcp.json in the workspace names some";
        terminal.line(&Line::new().add(Style::Dim, text))?;
    }
    for server in registry.servers() {
        let pinned = registry.pinned(server);
        let (style, state) = match (&server.refused, pinned) {
            (Some(_), _) => (Style::Caution, "not used".to_owned()),
            (None, None) => (Style::Dim, "not met".to_owned()),
            (None, Some(pinned)) => (Style::Good, words::count(pinned.tools.len(), "tool", "tools")),
        };
        let at = server.connection.as_ref().map(Connection::shown).unwrap_or_default();
        let line = Line::new()
            .column(Style::Bold, &server.name, 12)
            .column(style, &state, 10)
            .column(Style::Plain, &at, 32)
            .add(Style::Dim, &server.place);
        terminal.line(&line)?;
        if let Some(why) = &server.refused {
            terminal.line(&Line::new().add(Style::Plain, "  ").add(Style::Caution, why))?;
            continue;
        }
        for (name, tool) in pinned.iter().flat_map(|pinned| &pinned.tools) {
            let effect = if server.only_reads(name) { "read-only" } else { "may write" };
            let line = Line::new()
                .add(Style::Plain, "  ")
                .column(Style::Plain, &format!("mcp__{}__{name}", server.name), 32)
                .column(Style::Dim, effect, 9)
                .add(Style::Plain, &crate::offers::described(&tool.description));
            terminal.line(&line)?;
        }
    }
    Ok(Exit::Done)
}

/// All that is known of a server, without values of variables and headers.
fn described(server: &Server, registry: &Registry) -> Value {
    let pinned = registry.pinned(server);
    let state = match (&server.refused, pinned) {
        (Some(_), _) => "refused",
        (None, None) => "unmet",
        (None, Some(_)) => "ready",
    };
    let (kind, given) = match &server.connection {
        Some(connection @ Connection::Program { .. }) => ("program", connection.given()),
        Some(connection @ Connection::Http { .. }) => ("http", connection.given()),
        None => ("unknown", Vec::new()),
    };
    json!({
        "name": server.name,
        "kind": kind,
        "at": server.connection.as_ref().map(Connection::shown),
        "given": given,
        "place": server.place,
        "project": server.is_of_project,
        "state": state,
        "reason": server.refused,
        "tools": pinned.map(|pinned| tools(server, pinned)).unwrap_or_default(),
    })
}

fn tools(server: &Server, pinned: &PinnedServer) -> Vec<Value> {
    let one = |(name, tool): (&String, &palisade_catalog::PinnedTool)| {
        json!({
            "name": format!("mcp__{}__{name}", server.name),
            "description": tool.description,
            "input_schema": tool.schema,
            "read_only": server.only_reads(name),
            "pin": tool.pin(name),
        })
    };
    pinned.tools.iter().map(one).collect()
}
