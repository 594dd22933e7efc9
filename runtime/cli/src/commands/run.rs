//! `palisade run`: an agent works on a task in a folder.

use std::{
    io::{self, Read as _},
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use palisade_agent::{
    Agent, Canceller, ENTRY_LIMIT, Entry, Outcome, PermissionMode, Provider, Run, RunError, Spent, Transcript, Usage,
    cancellation,
};
use palisade_catalog::{Effective, available, effective};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{
    Exit,
    ask::Person,
    assemble::{self, Assembly},
    places::Lookup,
    render::{Line, Style, Terminal, Timeline, Totals, words},
    settings::Settings,
};

/// Run an agent on a task.
///
/// The answer is printed on standard output, what happens on the way on standard error. Ctrl-C ends the
/// run and keeps what there is; a second one ends the program.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The agent's name; `palisade agents list` shows them.
    agent: String,
    /// What to do, in words; `-` reads it from standard input. Without, the code base is mapped.
    task: Vec<String>,
    #[command(flatten)]
    lookup: Lookup,
    /// The model provider.
    #[arg(long, value_name = "NAME", default_value = "offline")]
    model: String,
    /// Print the answer and nothing else.
    #[arg(long, short)]
    quiet: bool,
    /// Print one JSON object in place of the answer.
    #[arg(long)]
    json: bool,
    /// With --json: print all that was said and done, too.
    #[arg(long, requires = "json")]
    transcript: bool,
    /// Take fewer steps than the agent may.
    #[arg(long, value_name = "N")]
    max_steps: Option<u32>,
    /// Take less time than the agent may.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

const AFTER_HELP: &str = "\
Examples:
  palisade run explore \"where are errors turned into exit codes?\"
  palisade run explore --workspace ../other --json
  git diff | palisade run explore -

Exit codes:
  0    answered
  1    an error
  2    wrong usage
  3    the budget (steps or time) is spent
  130  cancelled";

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (workspace, registry) = arguments.lookup.open(settings)?;
    let agent = lowered(registry.find(&arguments.agent)?, arguments);
    let effective = effective(&agent, &available(&registry), &registry);
    let provider = assemble::provider(&arguments.model)?;
    let task = task(&arguments.task)?;
    let assembly = Assembly::start(settings, terminal)?;
    let mut equipped = assembly.equip(&effective, &workspace)?;
    let may_ask = !arguments.quiet && !arguments.json && agent.permission_mode != Some(PermissionMode::DontAsk);
    if let Some(person) = Person::at(terminal).filter(|_| may_ask) {
        equipped.toolbox = equipped.toolbox.asking(person);
    }
    if !arguments.quiet {
        effective.warnings.iter().for_each(|warning| terminal.warning(warning));
    }
    for tool in &equipped.left_out {
        terminal.warning(&format!("the tool `{}` is left out: {}", tool.tool, tool.reason));
    }

    let started = Instant::now();
    let timeline = if arguments.quiet { Timeline::silent() } else { Timeline::on(terminal) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (canceller, cancellation) = cancellation();
    let interrupts = {
        let _runtime = runtime.enter();
        signal(SignalKind::interrupt())?
    };
    runtime.spawn(cancel_on_interrupt(interrupts, canceller));
    // Whoever has read the first line can count on Ctrl-C.
    if !arguments.quiet {
        terminal.note(&header(&effective, provider.as_ref(), &workspace));
    }
    let mut run = Run::new(&agent, provider.as_ref(), &equipped.toolbox, &timeline, cancellation, Transcript::new());
    let outcome = runtime.block_on(run.answer(&task));
    let ended = Ended { outcome, totals: timeline.totals(), usage: run.usage(), transcript: run.into_transcript() };

    if !arguments.quiet {
        terminal.note(&ended.summary(started.elapsed()));
    }
    if arguments.json {
        terminal.json(&ended.json(&agent, arguments.transcript))?;
    } else {
        ended.print(terminal)?;
    }
    Ok(ended.exit())
}

/// A run that is over.
struct Ended {
    outcome: Result<Outcome, RunError>,
    totals: Totals,
    usage: Usage,
    transcript: Transcript,
}

impl Ended {
    fn exit(&self) -> Exit {
        match &self.outcome {
            Ok(Outcome::Answered(_)) => Exit::Done,
            Ok(Outcome::Spent(_)) => Exit::Spent,
            Ok(Outcome::Cancelled) => Exit::Cancelled,
            Ok(Outcome::Circling) | Err(_) => Exit::Failed,
        }
    }

    fn print(&self, terminal: &Terminal) -> io::Result<()> {
        match &self.outcome {
            Ok(Outcome::Answered(answer)) => return terminal.text(answer),
            Ok(Outcome::Spent(spent)) => terminal.error(&format!("{spent}; {}", remedy(*spent))),
            Ok(Outcome::Circling) => terminal.error(CIRCLING),
            Ok(Outcome::Cancelled) => terminal.error("the run was cancelled"),
            Err(error) => terminal.error(&error.to_string()),
        }
        if let Some(text) = self.said_last() {
            terminal.block("what was said last:", text);
        }
        Ok(())
    }

    /// `3 steps, 12 calls (1 failed), 2 refusals, 140 ms`
    fn summary(&self, time: Duration) -> Line {
        let Totals { steps, calls, failed, denials } = self.totals;
        let mut text = words::count(steps as usize, "step", "steps");
        text += &format!(", {}", words::count(calls, "call", "calls"));
        if failed > 0 {
            text += &format!(" ({failed} failed)");
        }
        if denials > 0 {
            text += &format!(", {}", words::count(denials, "refusal", "refusals"));
        }
        Line::new().add(Style::Dim, &format!("{text}, {}", words::time(time)))
    }

    fn json(&self, agent: &Agent, with_transcript: bool) -> serde_json::Value {
        let (outcome, answer, error) = match &self.outcome {
            Ok(Outcome::Answered(answer)) => ("answered", Some(answer.as_str()), None),
            Ok(Outcome::Spent(spent)) => ("spent", None, Some(spent.to_string())),
            Ok(Outcome::Circling) => ("circling", None, Some(CIRCLING.to_owned())),
            Ok(Outcome::Cancelled) => ("cancelled", None, Some("the run was cancelled".to_owned())),
            Err(error) => ("failed", None, Some(error.to_string())),
        };
        let mut value = json!({
            "agent": agent.name,
            "outcome": outcome,
            "answer": answer,
            "steps": self.totals.steps,
            "calls": self.totals.calls,
            "usage": self.usage,
        });
        if let Some(error) = error {
            value["error"] = error.into();
            value["said_last"] = self.said_last().into();
        }
        if with_transcript {
            value["transcript"] = json!(self.transcript);
        }
        value
    }

    fn said_last(&self) -> Option<&str> {
        self.transcript.entries().iter().rev().find_map(|entry| match entry {
            Entry::Reply { text, .. } if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        })
    }
}

/// The agent with a budget that the arguments can only lower.
fn lowered(agent: &Agent, arguments: &Arguments) -> Agent {
    let own = agent.budget();
    let mut agent = agent.clone();
    agent.budget.steps = Some(own.steps.min(arguments.max_steps.unwrap_or(u32::MAX)));
    agent.budget.time = Some(own.time.min(arguments.timeout.map_or(Duration::MAX, Duration::from_secs)));
    agent
}

fn task(words: &[String]) -> anyhow::Result<String> {
    if words != ["-"] {
        return Ok(words.join(" "));
    }
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(ENTRY_LIMIT as u64)
        .read_to_string(&mut text)
        .context("the task cannot be read from standard input")?;
    Ok(text)
}

/// `explore · offline: … · /home/me/project · files: . read-only`
fn header(effective: &Effective, provider: &dyn Provider, workspace: &Path) -> Line {
    let model = match provider.name() {
        palisade_model::Offline::NAME => "offline: deterministic survey, no language model",
        name => name,
    };
    Line::new()
        .add(Style::Bold, &effective.agent.name)
        .add(Style::Plain, &format!(" · {model} · {} · ", workspace.display()))
        .add(Style::Plain, &words::grants(&effective.grants))
}

fn remedy(spent: Spent) -> &'static str {
    match spent {
        Spent::Steps => "ask for less, or let it take more steps (--max-steps, or `max_steps` of the agent)",
        Spent::Tokens => "ask for less, or let it use more tokens (`budget: { tokens: … }` of the agent)",
        Spent::Calls => "ask for less, or let it make more calls (`budget: { calls: … }` of the agent)",
        Spent::Cost => "ask for less, or let it cost more (`budget: { cost: … }` of the agent)",
        Spent::Reply => "let replies be longer (`max_tokens` of the agent), or ask for less at once",
        Spent::Time => "ask for less, or let it take more time (--timeout, or `timeout` of the agent)",
    }
}

const CIRCLING: &str = "the model did nothing but repeat itself; put the task in other words, or try another model";

/// The first Ctrl-C ends the run, the second the program.
async fn cancel_on_interrupt(mut interrupts: Signal, canceller: Canceller) {
    if interrupts.recv().await.is_some() {
        canceller.cancel();
        if interrupts.recv().await.is_some() {
            exit_at_once();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "whoever presses Ctrl-C twice does not want to wait for main")]
fn exit_at_once() {
    std::process::exit(i32::from(Exit::Cancelled.code()));
}
