//! `palisade run`: an agent works on a task in a folder.

mod bounds;

use std::{
    fs,
    io::{self, Read as _},
    path::PathBuf,
    sync::Arc,
    time::Instant,
};

use anyhow::{Context as _, bail};
use palisade_agent::{ENTRY_LIMIT, Event, Watcher as _};
use palisade_catalog::skills_of;
use serde_json::Value;

use crate::{
    Exit, WrongUsage,
    ask::Person,
    assemble::{self, Spoken},
    commands::{completions as complete, run::bounds::Bounds},
    conversation::{Conversation, Topic},
    database::{self, Database},
    ended::Ended,
    events::EventLines,
    outside::Place,
    places::Lookup,
    render::{Line, Terminal, Timeline},
    servers,
    sessions::{self, Held, Work},
    settings::Settings,
};

/// Run an agent on a task.
///
/// The answer is printed on standard output, what happens on the way on standard error. Ctrl-C ends the
/// run and keeps what there is; a second one ends the program. What was said and done is kept in a session, which
/// --continue goes on with.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The agent's name; `palisade agents list` shows them.
    #[arg(add = complete::agents())]
    agent: String,
    /// What to do, in words; `-` adds standard input below them. Without, the code base is mapped.
    task: Vec<String>,
    #[command(flatten)]
    lookup: Lookup,
    /// The model: a configured name, `provider:model`, `offline` or `scripted:FILE` [default: the agent's].
    #[arg(long, value_name = "NAME", add = complete::models())]
    model: Option<String>,
    /// Print the answer and nothing else.
    #[arg(long, short)]
    quiet: bool,
    /// How to print: the answer, one JSON object in its place, or each event as one JSON object
    /// (docs/events.md describes them).
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    output_format: Format,
    /// Short for --output-format json.
    #[arg(long, conflicts_with = "output_format")]
    json: bool,
    /// With JSON: print all that was said and done, too.
    #[arg(long)]
    transcript: bool,
    /// The answer has to be JSON that fits this JSON Schema: a file, or the schema itself.
    #[arg(long, value_name = "FILE|JSON")]
    json_schema: Option<String>,
    /// Write down what the model replies, without keys, to be replayed with `--model scripted:FILE`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Run the tools in a process of their own that has nothing but the workspace (docs/apart.md).
    #[arg(long)]
    apart: bool,
    #[command(flatten)]
    sessions: sessions::Flags,
    #[command(flatten)]
    bounds: Bounds,
}

/// How a run is printed.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Json,
    StreamJson,
}

const AFTER_HELP: &str = "\
Examples:
  palisade run explore \"where are errors turned into exit codes?\"
  palisade run explore --continue \"and where are they tested?\"
  palisade run explore --workspace ../other --json
  git diff | palisade run explore \"which tests does this need?\" -
  palisade run explore --output-format stream-json | jq -r .event

Exit codes:
  0    answered
  1    an error
  2    wrong usage
  3    the budget (steps, tokens, calls, cost or time) is spent
  4    the model gave no reply; the same run may work later
  5    the answer does not fit the schema
  6    the model went in circles
  130  cancelled";

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let format = if arguments.json { Format::Json } else { arguments.output_format };
    if arguments.transcript && format == Format::Text {
        let wrong = "--transcript is printed with JSON: add --json or --output-format stream-json";
        return Err(WrongUsage(wrong.to_owned()).into());
    }
    let (workspace, registry) = arguments.lookup.open(settings)?;
    let mut config = arguments.lookup.config(settings, &workspace, &registry).accepted(terminal)?;
    config.typed.apart |= arguments.apart;
    let config = Arc::new(config);
    let agent = arguments.bounds.lower(&config.budgeted(registry.find(&arguments.agent)?));
    let registry = servers::met(registry, &agent, &workspace, &config, settings, terminal)?;
    let (runtime, database) = (database::runtime()?, Database::of(&config, settings));
    let (wanted, elsewhere) = (arguments.sessions.wanted()?, arguments.lookup.elsewhere());
    let held = runtime.block_on(Held::find(wanted, database, &agent.name, &workspace, elsewhere))?;
    let mut effective = sessions::effective_in(held.known(), &agent, &registry);
    let place = Place { config: &config, data: settings.data.as_deref(), workspace: &workspace };
    let mut spoken = assemble::spoken(arguments.model.as_deref(), &mut effective, &place)?;
    let recording = arguments.record.as_deref().map(|file| spoken.record(file)).transpose()?;
    let Spoken { provider, warning, .. } = spoken;
    sessions::refuse_outside(held.known(), provider.name())?;
    let task = task(&arguments.task)?;
    let expected = arguments.json_schema.as_deref().map(schema).transpose()?;
    if !arguments.quiet {
        config.warn(terminal);
        warning.iter().for_each(|warning| terminal.warning(warning));
        effective.warnings.iter().chain(&effective.cut).for_each(|warning| terminal.warning(warning));
        skills_of(&effective, &registry.skills()).warnings.iter().for_each(|warning| terminal.warning(warning));
    }
    let asker = Person::at(terminal).filter(|_| !arguments.quiet && format == Format::Text);
    let traces = config.typed.traces.clone();
    let topic = Topic {
        registry: &registry,
        effective,
        provider,
        workspace,
        config,
        asker,
        expected,
        traces,
        held,
        runtime,
        ended_by: None,
    };
    let mut conversation = Conversation::open(topic, settings, terminal)?;
    // Whoever goes on with a session and says nothing wants it to finish what it was at.
    let goes_on = arguments.task.is_empty() && conversation.held.session().is_some();
    let begun = conversation.begin(if goes_on { Work::Unfinished } else { Work::Task(&task) })?;

    let expected_form = arguments.json_schema.is_some();
    let started = Instant::now();
    let timeline = Arc::new(match (arguments.quiet, format) {
        (true, _) => Timeline::silent(),
        // An answer with a form is data: it is printed as it is, and when it fits.
        (false, Format::Text) if expected_form => Timeline::on(terminal, 0),
        (false, Format::Text) => Timeline::speaking(terminal),
        (false, Format::Json | Format::StreamJson) => Timeline::on(terminal, 0),
    });
    let cancellation = conversation.interrupts.begin();
    // Whoever has read the first line can count on Ctrl-C.
    if !arguments.quiet {
        terminal.note(&conversation.header());
    }
    let lively = (!arguments.quiet).then(|| terminal.lively()).flatten();
    let outcome = match format {
        Format::Text | Format::Json => conversation.carry_out(begun, timeline.clone(), cancellation)?,
        Format::StreamJson => {
            let lines = Arc::new(EventLines::begin(terminal, &conversation, begun.ids.as_ref())?);
            let (printed, shown) = (Arc::clone(&lines), Arc::clone(&timeline));
            let both = move |event: Event| {
                printed.watch(event.clone());
                shown.watch(event);
            };
            let outcome = conversation.carry_out(begun, Arc::new(both), cancellation)?;
            lines.end()?;
            outcome
        }
    };
    drop(lively);
    if let Some(Err(error)) = recording.map(|recording| recording.finish()) {
        terminal.warning(&format!("the run is not recorded as a whole: {error}"));
    }
    let ended = Ended::new(outcome, &timeline, &conversation.transcript, started.elapsed());

    if !arguments.quiet {
        if timeline.spoke() {
            terminal.note(&Line::new());
        }
        terminal.note(&ended.summary());
    }
    let transcript = arguments.transcript.then_some(&conversation.transcript);
    match format {
        Format::Text if expected_form => ended.print_data(terminal)?,
        Format::Text => ended.print(terminal)?,
        Format::Json => terminal.json(&ended.json(&agent, transcript))?,
        Format::StreamJson => terminal.json_line(&ended.json(&agent, transcript))?,
    }
    if let Some(session) = ended.session().filter(|_| !arguments.quiet) {
        terminal.note(&session);
    }
    Ok(ended.exit())
}

/// Reads a schema: the text itself if it is an object, otherwise the file of that name.
#[expect(clippy::disallowed_methods, reason = "the user names the file")]
fn schema(given: &str) -> anyhow::Result<Value> {
    if given.trim_start().starts_with('{') {
        return serde_json::from_str(given).context("the schema is not JSON");
    }
    let text = fs::read_to_string(given).with_context(|| format!("the schema {given} cannot be read"))?;
    serde_json::from_str(&text).with_context(|| format!("the schema {given} is not JSON"))
}

/// The words; and below them, if one of them is `-`, what standard input says.
fn task(words: &[String]) -> anyhow::Result<String> {
    let said: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "-").collect();
    let said = said.join(" ");
    if !words.iter().any(|word| word == "-") {
        return Ok(said);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().take(ENTRY_LIMIT as u64 + 1).read_to_end(&mut bytes).context("standard input cannot be read")?;
    if bytes.len() > ENTRY_LIMIT {
        bail!("standard input has more than the {ENTRY_LIMIT} bytes of a task; put it into a file of the workspace");
    }
    let text = String::from_utf8(bytes).context("standard input is no text")?;
    Ok(if said.is_empty() { text } else { format!("{said}\n\n{text}") })
}
