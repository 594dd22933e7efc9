//! MCP servers: which there are, and meeting those that nobody has met.

use std::{path::Path, sync::Arc};

use palisade_agent::Agent;
use palisade_catalog::{
    ConfiguredServer, Met, Registry, Server, ServerSettings, SharedRegistry, definition::Connection,
};
use palisade_grants::{Grants, Pattern};

use crate::{
    assemble::Assembly,
    config::{Config, ServerTable, Typed},
    native,
    render::{Line, Style, Terminal, words},
    settings::{self, Settings},
};

/// Tells a registry which servers there may be: what the operator and the user configured, and under what the project's
/// are started once they are trusted.
pub(crate) fn allow(typed: &Typed, settings: &Settings, registry: &mut Registry) {
    registry.allow_servers(ServerSettings {
        configured: typed.servers.iter().map(|(name, table)| configured(name, table, settings)).collect(),
        programs: Some(native::programs(&typed.exec, settings)),
        variables: Some(Arc::new(variable)),
    });
}

fn configured(name: &str, table: &ServerTable, settings: &Settings) -> ConfiguredServer {
    let connection = match (table.command.split_first(), &table.url) {
        (Some((program, arguments)), _) => {
            let given = |given: &String| match given.split_once('=') {
                Some((name, value)) => Some((name.to_owned(), value.to_owned())),
                None => Some((given.clone(), variable(given)?)),
            };
            let env = table.env.iter().filter_map(given).collect();
            Some(Connection::Program { program: program.clone(), arguments: arguments.to_vec(), env })
        }
        (None, Some(url)) => Some(Connection::Http { url: url.clone(), headers: table.headers.clone() }),
        (None, None) => None,
    };
    ConfiguredServer {
        name: name.to_owned(),
        connection,
        read: table.read.iter().map(|folder| native::below_home(folder, settings)).collect(),
        network: table.network,
        // What is no pattern was refused when the configuration was read.
        read_only: table.read_only.iter().filter_map(|tool| Pattern::parse(tool).ok()).collect(),
        time: table.time,
        place: table.place.clone(),
    }
}

fn variable(name: &str) -> Option<String> {
    let environment = settings::environment();
    let (_, value) = environment.iter().find(|(own, _)| own.to_str() == Some(name))?;
    value.to_str().map(str::to_owned)
}

/// Meets the servers that an agent names and that nobody has met. One that cannot be met is told and left out.
pub(crate) fn met(
    mut registry: Registry,
    agent: &Agent,
    workspace: &Path,
    config: &Config,
    settings: &Settings,
    terminal: &Terminal,
) -> anyhow::Result<Registry> {
    let ceiling = Grants::everything();
    let unmet = registry.unmet(agent, &ceiling);
    if unmet.is_empty() {
        return Ok(registry);
    }
    let assembly = Assembly::start(settings, terminal)?.reaching(config);
    for server in unmet {
        if let Some(met) = assembly.first_seen(&server, &registry, workspace, &ceiling) {
            keep(&mut registry, &server, met, terminal);
        }
    }
    Ok(registry)
}

/// Meets a server for an agent that is asked by another one or by a client, under its ceiling. Says whether it can be
/// used.
pub(crate) fn met_under(
    assembly: &Assembly,
    server: &Server,
    registry: &SharedRegistry,
    workspace: &Path,
    ceiling: &Grants,
) -> bool {
    let Some(met) = assembly.first_seen(server, &registry.now(), workspace, ceiling) else { return false };
    registry.change(|registry| keep(registry, server, met, assembly.terminal()));
    true
}

fn keep(registry: &mut Registry, server: &Server, met: Met, terminal: &Terminal) {
    let count = words::count(met.pinned.tools.len(), "tool", "tools");
    match registry.pin(server, met.pinned, false) {
        Ok(_) => {
            let text = format!("{count} of the MCP server {} kept as they are now described", server.name);
            terminal.note(&Line::new().add(Style::Dim, &text));
        }
        Err(error) => terminal.warning(&format!("the MCP server `{}` is not used: {error}", server.name)),
    }
}
