//! `palisade mcp`: the tools of an agent, and agents, for a program that speaks MCP; and the MCP servers whose tools
//! agents may have.

mod list;
mod runs;
mod trust;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::Context as _;
use palisade_agent::{Cancellation, Canceller, cancellation};
use palisade_catalog::{SharedRegistry, available, effective};
use palisade_mcp::{Runs, serve};
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};

use crate::{
    Exit,
    assemble::Assembly,
    commands::{
        completions as complete,
        mcp::runs::{LocalRuns, Workplace},
    },
    conversation::LOOK_AGAIN,
    crew::Outfit,
    database, offers,
    places::Lookup,
    render::{Line, Style, Terminal, words},
    servers,
    settings::Settings,
};

/// Serve an agent's tools, and agents, to a program that speaks MCP.
///
/// The protocol is spoken on standard input and output, everything else is said on standard error. Each call is held to
/// the agent's rules and runs in its sandbox, as in a run; nobody is asked, so what would have to be asked is refused.
/// With --agent, the tools of that agent are served and nothing else. Without, those of `explore`, which change
/// nothing, and every agent as a tool: `agent_NAME` takes a task, runs the agent and gives its answer.
///
/// The commands below are about the servers of others, whose tools agents may have.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Serve the tools of this agent and nothing else [default: the tools of explore, and all agents].
    #[arg(long, value_name = "AGENT", add = complete::agents())]
    agent: Option<String>,
    #[command(flatten)]
    lookup: Lookup,
    /// The model of agents that are run: a configured name, `provider:model`, `offline` or `scripted:FILE` [default:
    /// each agent's].
    #[arg(long, value_name = "NAME", conflicts_with = "agent", add = complete::models())]
    model: Option<String>,
    /// Run the tools in a process of their own that has nothing but the workspace (docs/apart.md).
    #[arg(long)]
    apart: bool,
}

/// MCP servers whose tools agents may have.
#[derive(clap::Subcommand)]
enum Command {
    List(list::Arguments),
    Trust(trust::Arguments),
    Untrust(trust::Untrust),
}

const AFTER_HELP: &str = "\
Examples:
  palisade mcp --workspace ~/project
  palisade mcp --agent general --workspace ~/project
  palisade mcp list                     servers whose tools agents may have
  palisade mcp trust github             let one be used as it describes itself now

Claude Code:
  claude mcp add palisade -- palisade mcp --workspace \"$PWD\"

Editors and other clients, in their list of MCP servers:
  {\"mcpServers\": {\"palisade\": {\"command\": \"palisade\", \"args\": [\"mcp\", \"--workspace\", \"/home/me/project\"]}}}

It ends when standard input does, and on Ctrl-C; runs under way are ended and can be gone on with
(docs/mcp.md).

Exit codes: 0 the client has left, 1 an error, 2 wrong usage";

/// The agent whose tools are served where nobody names one: it changes nothing, so nobody has to think before adding it.
const DEFAULT: &str = "explore";

/// How long runs are waited for that were told to end.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    match &arguments.command {
        Some(Command::List(arguments)) => list::run(arguments, settings, terminal),
        Some(Command::Trust(arguments)) => trust::run(arguments, settings, terminal),
        Some(Command::Untrust(arguments)) => trust::revoke(arguments, settings, terminal),
        None => serve_agents(arguments, settings, terminal),
    }
}

fn serve_agents(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (workspace, registry) = arguments.lookup.open(settings)?;
    let mut config = arguments.lookup.config(settings, &workspace, &registry).accepted(terminal)?;
    config.typed.apart |= arguments.apart;
    config.warn(terminal);
    let config = Arc::new(config);
    let agent = config.budgeted(registry.find(arguments.agent.as_deref().unwrap_or(DEFAULT))?);
    let registry = servers::met(registry, &agent, &workspace, &config, settings, terminal)?;
    let own = effective(&agent, &available(&registry), &registry);
    own.warnings.iter().for_each(|warning| terminal.warning(warning));
    let grants = words::grants(&own.grants);
    let shared = SharedRegistry::new(registry).looking_every(LOOK_AGAIN);
    let place = workspace.display().to_string();
    let outfit = Arc::new(Outfit {
        assembly: Arc::new(Assembly::start_at(settings, terminal, config.typed.apart)?.reaching(&config)),
        config: Arc::clone(&config),
        workspace: workspace.clone(),
        ration: None,
        data: settings.data.clone(),
        connected: Mutex::default(),
        not_met: Arc::default(),
    });
    let (mut offer, left_out) =
        offers::tools(&outfit, &shared, &own, &agent.name, &place).map_err(anyhow::Error::msg)?;
    left_out.iter().for_each(|warning| terminal.warning(warning));

    let workplace = Workplace {
        settings: settings.clone(),
        terminal: terminal.clone(),
        config,
        workspace,
        shared,
        model: arguments.model.clone(),
    };
    let (runs, settled) = LocalRuns::new(workplace);
    if arguments.agent.is_none() {
        let agents = runs.offers()?;
        let runs: Arc<dyn Runs> = Arc::new(runs);
        offer = offer.with_agents(&agents, &runs)?;
        offer.instructions += " `agent_NAME` lets an agent work on a task of its own and gives its answer.";
    } else {
        drop(runs);
    }

    let count = words::count(offer.tools.specs().len(), "tool", "tools");
    let others = match offer.agents.specs().len() {
        0 => String::new(),
        others => format!(" and {}", words::count(others, "agent", "agents")),
    };
    let line = Line::new()
        .add(Style::Bold, &agent.name)
        .add(Style::Plain, &format!(" · {count}{others} · {place} · {grants}"));

    let runtime = database::runtime()?;
    let told_to_end = ended_by_signals(&runtime)?;
    // Whoever has read this line can count on Ctrl-C.
    terminal.note(&line);
    let served = runtime.block_on(async {
        let served = serve(offer, tokio::io::stdin(), tokio::io::stdout(), told_to_end).await;
        settled.wait(PATIENCE).await;
        served
    });
    // Standard input is read in a way that cannot be given up.
    runtime.shutdown_background();
    served?;
    Ok(Exit::Done)
}

/// Told when somebody wants the program to end, by Ctrl-C or as services are ended.
fn ended_by_signals(runtime: &Runtime) -> anyhow::Result<Cancellation> {
    let (canceller, told) = cancellation();
    let _runtime = runtime.enter();
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let mut signal = signal(kind).context("signals cannot be listened to")?;
        let canceller: Canceller = canceller.clone();
        runtime.spawn(async move {
            signal.recv().await;
            canceller.cancel();
        });
    }
    Ok(told)
}
