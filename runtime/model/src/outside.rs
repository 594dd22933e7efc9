//! Agents that run outside of the sandbox: `claude`, `codex` and `pi` as child processes.
//!
//! Such a program has the rights of whoever started this one, and nothing that a definition says of
//! tools, files or approvals can be enforced on it. So it needs an [`OutsideGrant`] of the operator, and a
//! definition that would rely on being enforced is refused ([`suited`]). One file per program has its
//! arguments and its events, `child` owns the process.

mod child;
mod claim;
mod claude;
mod codex;
mod conversation;
mod cost;
mod environment;
mod family;
mod fault;
mod grant;
mod lines;
mod options;
mod pi;
mod program;
mod session;
mod suited;
mod telling;

use std::path::{Component, PathBuf};

use async_trait::async_trait;
use palisade_agent::{Listener, Prompt, Provider, ProviderError, ProviderFailure, Reply};
use thiserror::Error;

pub use environment::Environment;
pub use grant::{NotAllowed, OutsideGrant, PermittedExternal, PermittedProgram, UnknownOutsider};
pub use program::Program;
pub use session::{BadSessionId, SessionId};
pub use suited::{Unenforceable, suited};

use crate::{Secrets, dialect::Fault};
use child::{Launch, Running};
use claim::Claim;
use conversation::{Conversation, Keepsake};
use program::{Asked, Sitting};
use telling::Telling;

/// How a program is started; its user's or the operator's to say, never a project's.
#[derive(Clone, Debug)]
pub struct Outside {
    /// The program: a name that is looked for in the `PATH`, or an absolute path.
    pub command: PathBuf,
    /// Further arguments. Options that are set here anyway are refused.
    pub args: Vec<String>,
    /// Variables it gets beside the usual ones, such as `ANTHROPIC_API_KEY`.
    pub env_names: Vec<String>,
    /// What this process was started with. Only the usual variables and `env_names` are passed on.
    pub environment: Environment,
    /// Where it works.
    pub workspace: PathBuf,
    /// A folder of ours, outside of the workspace, in which sessions in use are marked.
    pub state: PathBuf,
}

/// A program outside of the sandbox, spoken to as a model. One reply is one whole run of the program, with
/// all the calls it makes of its own tools.
#[derive(Debug)]
pub struct CliAgent {
    program: Program,
    model: Option<String>,
    outside: Outside,
    environment: Environment,
    /// What the program is given and may show, such as by printing its variables.
    secrets: Secrets,
}

/// Why a program cannot be spoken to as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OutsideError {
    /// An argument says what is said here already.
    #[error("{program}: the argument `{argument}` is set by this program; remove it from `args`{instead}")]
    Managed {
        /// The program's name.
        program: &'static str,
        /// The argument.
        argument: String,
        /// What to do in its place, if there is something.
        instead: &'static str,
    },
    /// A variable that is never passed on.
    #[error("{program}: the variable `{name}` is not passed on; remove it from `env`")]
    Variable {
        /// The program's name.
        program: &'static str,
        /// The variable.
        name: String,
    },
    /// A program or folder that depends on where it is looked from.
    #[error("{program}: {what} `{path}` {problem}")]
    Place {
        /// The program's name.
        program: &'static str,
        /// What it is for.
        what: &'static str,
        /// Which one.
        path: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A model's name that would be read as an option.
    #[error("{program}: `{model}` is no name of a model")]
    Model {
        /// The program's name.
        program: &'static str,
        /// The name.
        model: String,
    },
}

impl CliAgent {
    /// A program that may run, with a model of its own choice or this one.
    pub fn new(permitted: PermittedProgram, outside: Outside, model: Option<String>) -> Result<Self, OutsideError> {
        let program = permitted.program();
        let name = program.name();
        options::check(program, &outside.args)?;
        environment::check(name, &outside.env_names)?;
        check_places(name, &outside)?;
        if let Some(model) = model.as_ref().filter(|model| model.trim().is_empty() || model.starts_with('-')) {
            return Err(OutsideError::Model { program: name, model: model.clone() });
        }
        let environment = environment::passed_on(&outside);
        let secrets = environment::secrets(&environment, &outside.env_names);
        Ok(Self { program, model, outside, environment, secrets })
    }

    async fn run(&self, prompt: &Prompt<'_>, listener: &dyn Listener) -> Result<Reply, Fault> {
        let conversation = Conversation::of(prompt.transcript, self.program.name());
        let (sitting, before) = match conversation.resumed {
            Some(Keepsake { session, spent }) => (Sitting::Resumed(session), spent),
            None => (Sitting::New(SessionId::random()?), Default::default()),
        };
        let asked = Asked {
            instructions: prompt.instructions,
            model: self.model.as_deref(),
            effort: prompt.settings.reasoning_effort,
            sitting: &sitting,
        };
        let arguments = self.program.arguments(&asked, &self.outside.args)?;
        let claim = Claim::take(&self.outside.state, sitting.session())?;
        let launch = Launch {
            command: &self.outside.command,
            arguments: &arguments,
            environment: &self.environment,
            folder: &self.outside.workspace,
            input: claim.holding(&conversation.words)?,
            secrets: &self.secrets,
        };

        let mut running = Running::start(launch)?;
        let mut events = self.program.events(before);
        let mut telling = Telling::to(listener);
        let ended = running.read(&mut |event| events.event(event, &mut telling)).await?;
        let finished = ended.unless_failed(events.finish())?;
        let session = match (finished.session, sitting) {
            // A program may continue a session under another name.
            (Some(session), _) => session.parse().map_err(|_| fault::malformed("its session has no usable name"))?,
            (None, sitting) => sitting.into_session(),
        };
        let kept = Keepsake { session, spent: finished.total }.kept(self.program.name());
        Ok(Reply {
            text: finished.text,
            thinking: finished.thinking,
            usage: finished.usage,
            ended: finished.ended,
            kept: Some(kept),
            ..Reply::default()
        })
    }

    fn error(&self, fault: Fault) -> ProviderError {
        let provider = self.program.name().to_owned();
        ProviderError { provider, kind: fault.kind, message: fault.message }
    }
}

#[async_trait]
impl Provider for CliAgent {
    fn name(&self) -> &str {
        self.program.name()
    }

    fn model(&self) -> &str {
        self.model.as_deref().unwrap_or_default()
    }

    fn counts_cost(&self) -> bool {
        match self.program {
            Program::Claude => true,
            // One says nothing of it, the other says nothing costs what it knows no price of.
            Program::Codex | Program::Pi => false,
        }
    }

    async fn reply(&self, prompt: Prompt<'_>, listener: &dyn Listener) -> Result<Reply, ProviderError> {
        let late = || Fault {
            kind: ProviderFailure::TimedOut,
            message: "it was not done when the run's time was over, and was ended".to_owned(),
        };
        let run = tokio::time::timeout_at(prompt.deadline, self.run(&prompt, listener));
        run.await.unwrap_or_else(|_| Err(late())).map_err(|fault| self.error(fault))
    }
}

/// A relative program would be looked for in the workspace, whose files decide nothing.
fn check_places(program: &'static str, outside: &Outside) -> Result<(), OutsideError> {
    let wrong = |what, path: &PathBuf, problem| {
        Err(OutsideError::Place { program, what, path: path.display().to_string(), problem })
    };
    let is_name = matches!(outside.command.components().collect::<Vec<_>>()[..], [Component::Normal(_)]);
    if !outside.command.is_absolute() && !is_name {
        return wrong("the command", &outside.command, "is neither a name nor an absolute path");
    }
    if outside.command.starts_with(&outside.workspace) {
        return wrong("the command", &outside.command, "is in the workspace, which is not trusted");
    }
    if !outside.workspace.is_absolute() {
        return wrong("the workspace", &outside.workspace, "is not an absolute path");
    }
    if !outside.state.is_absolute() || outside.state.starts_with(&outside.workspace) {
        return wrong("the folder", &outside.state, "must be an absolute path outside of the workspace");
    }
    Ok(())
}
