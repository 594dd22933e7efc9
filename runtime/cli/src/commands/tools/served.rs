//! Tools of MCP servers, as the servers described them when they were met.

use palisade_catalog::{Available, Registry, ServerTool, available};
use serde_json::{Value, json};

use super::first_sentence;
use crate::render::{Line, Style, Terminal};

fn all(registry: &Registry) -> Vec<(Available, std::sync::Arc<ServerTool>)> {
    let tools = available(registry).into_iter();
    tools.filter_map(|tool| Some((tool.clone(), tool.server?))).collect()
}

/// The tools of servers.
pub(super) fn listed(registry: &Registry) -> impl Iterator<Item = Value> {
    all(registry).into_iter().map(|(tool, served)| {
        json!({
            "name": tool.candidate.name(),
            "server": served.server.name,
            "description": served.description,
            "capabilities": tool.candidate.capabilities(),
            "read_only": served.reads,
            "input_schema": served.schema,
            "unavailable": tool.unavailable,
        })
    })
}

pub(super) fn print(registry: &Registry, terminal: &Terminal) -> anyhow::Result<()> {
    for (tool, served) in all(registry) {
        let line = Line::new()
            .column(Style::Bold, tool.candidate.name(), 8)
            .column(Style::Plain, &tool.candidate.capabilities().join(", "), 18)
            .column(Style::Dim, &format!("server {}", served.server.name), 9);
        let line = match &tool.unavailable {
            Some(reason) => line.add(Style::Caution, &format!("unavailable: {reason}")),
            None => line.add(Style::Plain, &first_sentence(&served.description)),
        };
        terminal.line(&line)?;
    }
    Ok(())
}
