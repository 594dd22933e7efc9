//! `palisade agents`: which agents there are.

use serde_json::json;

use crate::{
    Exit, assemble,
    render::{Line, Style, Terminal, words},
};

/// Which agents there are.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// List the agents, with their tools and what they may do.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(command: &Command, terminal: &Terminal) -> anyhow::Result<Exit> {
    let Command::List { json } = command;
    let registry = assemble::registry()?;
    if *json {
        let agents = registry.all().iter().map(|definition| {
            let agent = &definition.agent;
            json!({
                "name": agent.name,
                "description": agent.description,
                "tools": agent.tools,
                "grants": definition.grants,
                "budget": agent.budget,
            })
        });
        terminal.json(&agents.collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    for definition in registry.all() {
        let agent = &definition.agent;
        let title = Line::new().column(Style::Bold, &agent.name, 10).add(Style::Plain, &agent.description);
        let margin = " ".repeat(12);
        let tools = format!("{margin}tools: {}", agent.tools.join(", "));
        terminal.line(&title)?;
        terminal.line(&Line::new().add(Style::Dim, &tools))?;
        terminal.line(&Line::new().add(Style::Dim, &format!("{margin}{}", words::grants(&definition.grants))))?;
    }
    Ok(Exit::Done)
}
