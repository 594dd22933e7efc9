//! `palisade chat`: a conversation with an agent. What was said before is known in every run of it.

mod input;
mod slash;

use std::time::Instant;

use palisade_catalog::{Registry, available, effective};

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
    ended::Ended,
    outside::Place,
    places::Lookup,
    render::{Line, Style, Terminal, Timeline},
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
}

const AFTER_HELP: &str = "\
Examples:
  palisade chat explore
  printf '%s\\n' \"what is this?\" \"where does it start?\" | palisade chat explore

Nothing of a conversation is kept but what `/save FILE` writes, the lines that were typed, and for a week the outputs
of tools that were too long for the model.

Exit codes: as those of `palisade run`, for the last message";

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (workspace, registry) = arguments.lookup.open(settings)?;
    let config = arguments.lookup.config(settings, &workspace, &registry).accepted(terminal)?;
    let agent = config.budgeted(registry.find(&arguments.agent)?);
    let mut effective = effective(&agent, &available(&registry), &registry);
    let place = Place { config: &config, settings, workspace: &workspace };
    let Spoken { provider, warning, .. } = assemble::spoken(arguments.model.as_deref(), &mut effective, &place)?;
    config.warn(terminal);
    warning.iter().for_each(|warning| terminal.warning(warning));
    effective.warnings.iter().for_each(|warning| terminal.warning(warning));
    let asker = Person::at(terminal);
    let traces = config.typed.traces.clone();
    let topic = Topic { registry: &registry, effective, provider, workspace, asker, expected: None, traces };
    let conversation = Conversation::open(topic, settings, terminal)?;
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
        loop {
            let message = match input.next(&self.conversation.effective.agent.name)? {
                Next::Message(message) => message,
                Next::Nothing => continue,
                Next::End => return Ok(self.exit),
            };
            match Slash::parse(&message) {
                None => self.answer(&message)?,
                Some(Ok(Slash::Quit)) => return Ok(self.exit),
                Some(Ok(slash)) => {
                    if let Err(error) = slash.obey(&mut self) {
                        self.terminal.error(&format!("{error:#}"));
                    }
                }
                Some(Err(error)) => self.terminal.error(&error.to_string()),
            }
        }
    }

    /// One run of the conversation.
    fn answer(&mut self, message: &str) -> anyhow::Result<()> {
        let started = Instant::now();
        let timeline = Timeline::speaking(self.terminal);
        let lively = self.terminal.lively();
        let outcome = self.conversation.ask(message, &timeline, self.conversation.interrupts.begin())?;
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
