//! `palisade agents new`.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use palisade_agent::Agent;
use palisade_catalog::{Trust, definition, write_new};
use palisade_grants::{Rule, split_list};
use serde_json::json;

use crate::{
    Exit,
    places::Lookup,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Write the file of a new agent, ready to be edited.
///
/// It goes into `.palisade/agents` of the workspace, or of your home with --user. What you write so is
/// trusted as it is; after a change by anybody it has to be trusted again.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Its name: letters, digits, `-` and `_`.
    name: String,
    /// What it is for, in a sentence.
    #[arg(long, default_value = "Say here in a sentence what this agent is for; others choose it by that.")]
    description: String,
    /// Its tools, with commas between them.
    #[arg(long, value_name = "LIST", default_value = "read, grep, glob, ls")]
    tools: String,
    /// Begin with the definition of another agent.
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,
    /// Write it for all your workspaces.
    #[arg(long)]
    user: bool,
    #[command(flatten)]
    lookup: Lookup,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  palisade agents new reviewer --tools 'read, grep, Bash(git diff:*)'
  palisade agents new my-explore --from explore --user";

const PROMPT: &str = "\
Say here what this agent should do, how it should go about it, and what its answer should look like.

The task: {{task}}";

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let name = &arguments.name;
    if !definition::is_valid_name(name) {
        bail!(
            "`{name}` is no name for an agent; it begins with a letter or digit and has letters, digits, `-` and `_`, at most 100"
        );
    }
    let workspace = arguments.lookup.workspace(settings)?;
    let mut agent = match &arguments.from {
        Some(from) => {
            let registry = arguments.lookup.registry(settings, &workspace)?;
            let agent = registry.find(from)?.clone();
            Agent { name: name.clone(), native: false, ..agent }
        }
        None => {
            let rules = split_list(&arguments.tools).into_iter().map(Rule::parse).collect::<Result<Vec<_>, _>>();
            let mut agent = Agent::new(name.as_str(), arguments.description.as_str()).with_prompt(PROMPT);
            agent.scope.tools = Some(rules.context("a tool of --tools cannot be read")?);
            agent
        }
    };
    agent.origin = Default::default();
    let root = match arguments.user {
        true => settings.home.clone().context("there is no home folder; set HOME")?,
        false => workspace.clone(),
    };
    let text = definition::to_markdown(&agent);
    let relative = PathBuf::from(format!(".palisade/agents/{name}.md"));
    let path = write_new(&root, &relative, text.as_bytes())
        .with_context(|| format!("the agent `{name}` cannot be written"))?;
    let decisions = arguments.lookup.places(settings, &workspace).trust.filter(|_| !arguments.user);
    if let Some(file) = decisions {
        let mut trust = Trust::load(&file);
        trust.trust(&workspace, &relative, text.as_bytes());
        trust.save(&file)?;
    }
    if arguments.json {
        terminal.json(&json!({ "name": name, "path": path }))?;
    } else {
        terminal.line(&Line::new().add(Style::Good, "written: ").add(Style::Plain, &path.display().to_string()))?;
        terminal.note(
            &Line::new()
                .add(Style::Dim, &format!("edit it, then: palisade agents validate && palisade explain {name}")),
        );
    }
    Ok(Exit::Done)
}
