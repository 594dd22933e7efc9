//! `palisade chat`: a conversation with an agent. What was said before is known in every run of it.

mod input;
mod slash;

use std::{path::PathBuf, sync::Arc, time::Instant};

use palisade_agent::Session;
use palisade_catalog::{Registry, skills_of};

use crate::{
    Exit,
    ask::Person,
    assemble::{self, Spoken},
    commands::{
        chat::{
            input::{Input, Next},
            slash::Slash,
        },
        completions as complete,
    },
    conversation::{Conversation, Topic},
    database::{self, Database},
    ended::Ended,
    outside::Place,
    places::Lookup,
    render::{Line, Style, Terminal, Timeline, words},
    servers,
    sessions::{self, Held, Work},
    settings::Settings,
};

/// Talk with an agent.
///
/// On a terminal: a line is a message, a backslash at its end goes on with the next one, `/help` lists the
/// commands. Ctrl-C stops a reply; on an empty line it ends the conversation, as does Ctrl-D. Otherwise
/// each line of standard input is a message, and the answers are printed on standard output.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The agent's name; `palisade agents list` shows them.
    #[arg(default_value = "general", add = complete::agents())]
    agent: String,
    #[command(flatten)]
    lookup: Lookup,
    /// The model: a configured name, `provider:model`, `offline` or `scripted:FILE` [default: the agent's].
    #[arg(long, value_name = "NAME", add = complete::models())]
    model: Option<String>,
    #[command(flatten)]
    sessions: sessions::Flags,
}

impl Arguments {
    /// A chat that goes on with a session in the folder that it is about.
    pub(crate) fn going_on_with(
        session: &Session,
        folder: PathBuf,
        model: Option<String>,
        config: Option<PathBuf>,
    ) -> Self {
        let (agent, sessions) = (session.agent.clone(), sessions::Flags::of(&session.id));
        Self { agent, lookup: Lookup::in_folder(folder, config), model, sessions }
    }
}

const AFTER_HELP: &str = "\
Examples:
  palisade chat explore
  palisade chat explore --continue
  printf '%s\\n' \"what is this?\" \"where does it start?\" | palisade chat explore

A conversation is kept as a session from its first message on (`palisade sessions list`), unless --ephemeral is given.
On a terminal the lines that were typed are remembered, too.

Exit codes: as those of `palisade run`, for the last message";

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (workspace, registry) = arguments.lookup.open(settings)?;
    let config = arguments.lookup.config(settings, &workspace, &registry).accepted(terminal)?;
    let config = Arc::new(config);
    let agent = config.budgeted(registry.find(&arguments.agent)?);
    let registry = servers::met(registry, &agent, &workspace, &config, settings, terminal)?;
    let (runtime, database) = (database::runtime()?, Database::of(&config, settings));
    let (wanted, elsewhere) = (arguments.sessions.wanted()?, arguments.lookup.elsewhere());
    let held = runtime.block_on(Held::find(wanted, database, &agent.name, &workspace, elsewhere))?;
    let mut effective = sessions::effective_in(held.known(), &agent, &registry);
    let place = Place { config: &config, data: settings.data.as_deref(), workspace: &workspace };
    let Spoken { provider, warning, .. } = assemble::spoken(arguments.model.as_deref(), &mut effective, &place)?;
    sessions::refuse_outside(held.known(), provider.name())?;
    config.warn(terminal);
    warning.iter().for_each(|warning| terminal.warning(warning));
    effective.warnings.iter().chain(&effective.cut).for_each(|warning| terminal.warning(warning));
    skills_of(&effective, &registry.skills()).warnings.iter().for_each(|warning| terminal.warning(warning));
    let asker = Person::at(terminal);
    let traces = config.typed.traces.clone();
    let topic = Topic {
        registry: &registry,
        effective,
        provider,
        workspace,
        config,
        asker,
        expected: None,
        traces,
        held,
        runtime,
        ended_by: None,
    };
    let mut conversation = Conversation::open(topic, settings, terminal)?;
    conversation.remember()?;
    let input = Input::of_this_process(settings, terminal)?;
    Chat { name: &arguments.agent, registry: &registry, conversation, terminal, exit: Exit::Done }.hold(input)
}

/// A conversation that is under way.
struct Chat<'a> {
    /// What the agent was called by.
    name: &'a str,
    registry: &'a Registry,
    conversation: Conversation<'a>,
    terminal: &'a Terminal,
    /// How the last message ended.
    exit: Exit,
}

impl Chat<'_> {
    /// Takes one message after the other, until there are no more.
    fn hold(mut self, mut input: Input) -> anyhow::Result<Exit> {
        self.terminal.note(&self.conversation.header());
        if input.is_person() {
            self.terminal.note(&Line::new().add(Style::Dim, "/help lists the commands, Ctrl-D ends"));
        }
        self.recall();
        loop {
            let message = match input.next(&self.conversation.effective.agent.name)? {
                Next::Message(message) => message,
                Next::Nothing => continue,
                Next::End => return Ok(self.leave()),
            };
            match Slash::parse(&message) {
                None => self.answer(&message)?,
                Some(Ok(Slash::Quit)) => return Ok(self.leave()),
                Some(Ok(slash)) => {
                    if let Err(error) = slash.obey(&mut self) {
                        self.terminal.error(&format!("{error:#}"));
                    }
                }
                Some(Err(error)) => self.terminal.error(&error.to_string()),
            }
        }
    }

    /// Says how to go on later.
    fn leave(self) -> Exit {
        if let Some(session) = self.conversation.held.session() {
            let line = format!("session {}", sessions::short(&session.id));
            self.terminal.note(&Line::new().add(Style::Dim, &line));
        }
        self.exit
    }

    /// Says which session goes on, and what was said in it last.
    fn recall(&self) {
        let Some(session) = self.conversation.held.session() else { return };
        let entries = words::count(self.conversation.transcript.entries().len(), "entry", "entries");
        let name = session.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        let what = format!("session {}{name} goes on after {entries}", sessions::short(&session.id));
        self.terminal.note(&Line::new().add(Style::Dim, &what));
        if let Some(snippet) = &session.last_snippet {
            self.terminal.note(&Line::new().add(Style::Dim, &format!("… {snippet}")));
        }
    }

    /// One run of the conversation. What keeps it from beginning is said, and the conversation goes on.
    fn answer(&mut self, message: &str) -> anyhow::Result<()> {
        let begun = match self.conversation.begin(Work::Task(message)) {
            Ok(begun) => begun,
            Err(error) => {
                self.terminal.error(&format!("{error:#}"));
                self.exit = Exit::Failed;
                return Ok(());
            }
        };
        let started = Instant::now();
        let timeline = Arc::new(Timeline::speaking(self.terminal));
        let lively = self.terminal.lively();
        let outcome = self.conversation.carry_out(begun, timeline.clone(), self.conversation.interrupts.begin())?;
        drop(lively);
        let ended = Ended::new(outcome, &timeline, &self.conversation.transcript, started.elapsed());
        if timeline.spoke() {
            self.terminal.note(&Line::new());
        }
        ended.print(self.terminal)?;
        self.terminal.note(&ended.summary());
        self.exit = ended.exit();
        Ok(())
    }
}
