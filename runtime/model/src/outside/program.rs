//! The programs there are, and what each has to be able to do.

use palisade_agent::{ProviderFailure, ReasoningEffort, ReplyEnd, Usage};
use serde_json::Value;

use super::{SessionId, claude, codex, fault::fault, pi, telling::Telling};
use crate::dialect::{Fault, Progress, effort};

/// A program that is an agent of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Pi.
    Pi,
}

/// What a run of a program is to do.
pub(super) struct Asked<'a> {
    pub(super) instructions: &'a str,
    pub(super) model: Option<&'a str>,
    pub(super) effort: Option<ReasoningEffort>,
    pub(super) sitting: &'a Sitting,
}

impl Asked<'_> {
    /// What is asked, as options of the programs that call most of them alike.
    pub(super) fn options(&self, resume: &str, think: &str) -> Vec<String> {
        let (session, name) = match self.sitting {
            Sitting::New(session) => ("--session-id", session),
            Sitting::Resumed(session) => (resume, session),
        };
        let said = [
            (session, Some(name.as_str())),
            ("--model", self.model),
            (think, self.effort.and_then(effort)),
            ("--append-system-prompt", Some(self.instructions).filter(|text| !text.is_empty())),
        ];
        let said = said.into_iter().filter_map(|(option, value)| Some([option.to_owned(), value?.to_owned()]));
        said.flatten().collect()
    }
}

/// The session a run works in.
pub(super) enum Sitting {
    /// One that begins; programs that name their sessions themselves ignore the name.
    New(SessionId),
    /// One that goes on.
    Resumed(SessionId),
}

/// Reads the events of one run. Does no I/O.
pub(super) trait Events: Send {
    /// Takes one event.
    fn event(&mut self, event: &Value, telling: &mut Telling<'_>) -> Result<Progress, Fault>;

    /// What came of the run, once its output is over.
    fn finish(self: Box<Self>) -> Result<Finished, Fault>;
}

/// What came of a run.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Finished {
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) ended: ReplyEnd,
    /// What the program calls the session.
    pub(super) session: Option<String>,
    /// What this run cost.
    pub(super) usage: Usage,
    /// What the session has cost so far.
    pub(super) total: Usage,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Pi];

    /// The program of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.name() == name)
    }

    /// What it is called as a provider.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude-cli",
            Self::Codex => "codex-cli",
            Self::Pi => "pi-cli",
        }
    }

    /// What its file is called, unless somebody says otherwise.
    pub fn command(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Pi => "pi",
        }
    }

    /// The options that are set here, and so by nobody else.
    pub(super) fn managed(self) -> &'static [&'static str] {
        match self {
            Self::Claude => claude::MANAGED,
            Self::Codex => codex::MANAGED,
            Self::Pi => pi::MANAGED,
        }
    }

    /// The arguments of a run.
    pub(super) fn arguments(self, asked: &Asked<'_>, extra: &[String]) -> Result<Vec<String>, Fault> {
        let arguments = match self {
            Self::Claude => claude::arguments(asked, extra),
            Self::Codex => codex::arguments(asked, extra),
            Self::Pi => pi::arguments(asked, extra),
        };
        // The system takes no longer ones and would only say that the list is too long.
        match arguments.iter().map(String::len).max() {
            Some(length) if length > ARGUMENT_LIMIT => Err(fault(
                ProviderFailure::Rejected,
                format!(
                    "an argument would have {length} bytes and may have {ARGUMENT_LIMIT}; shorten the agent's instructions"
                ),
            )),
            _ => Ok(arguments.into_iter().map(|argument| argument.replace('\0', "\u{fffd}")).collect()),
        }
    }

    /// Reads the events of a run in a session that has cost this much before.
    pub(super) fn events(self, before: Usage) -> Box<dyn Events> {
        match self {
            Self::Claude => Box::new(claude::Reader::new(before)),
            Self::Codex => Box::new(codex::Reader::new(before)),
            Self::Pi => Box::new(pi::Reader::new(before)),
        }
    }
}

/// The longest argument Linux takes is 128 KiB, with the zero at its end.
const ARGUMENT_LIMIT: usize = (128 << 10) - 1;

impl Sitting {
    pub(super) fn session(&self) -> &SessionId {
        match self {
            Self::New(session) | Self::Resumed(session) => session,
        }
    }

    pub(super) fn into_session(self) -> SessionId {
        match self {
            Self::New(session) | Self::Resumed(session) => session,
        }
    }
}
