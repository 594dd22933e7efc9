//! Other tools of an agent as commands of its shell: asked about like every call of them, and carried out in
//! their own sandbox.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Instant};

use palisade_grants::{Denial, Grants};

use crate::{
    Failure, Gate, Limits, ProgramCall, Report,
    bindings::process::{Command, Error, Outcome},
    capabilities::{
        preopens::{Files, Preopens},
        process::{Native, Time, run_permitted},
        trail::Trail,
    },
    host::Host,
    sandbox,
};

/// A tool of an agent as a command of its shell.
#[derive(Clone)]
pub struct ShellCommand {
    /// What it is called.
    pub name: String,
    /// How arguments become the tool's input.
    pub read: ReadArguments,
    /// Asked about the input before each call.
    pub gate: Gate,
    /// What carries it out.
    pub tool: CommandTool,
}

/// Makes the input of a tool, as JSON, of a command's arguments and of what is piped into it.
pub type ReadArguments = Arc<dyn Fn(&[String], &[u8]) -> Result<String, Printed> + Send + Sync>;

/// What a command says instead of calling its tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Printed {
    /// What was asked for, as by `--help`.
    Help(String),
    /// What is wrong with the arguments.
    Wrong(String),
}

/// What carries a command out.
#[derive(Clone)]
pub enum CommandTool {
    /// A component that is linked in the same scope, by its name.
    Linked(String),
    /// A native program, with no more than these of the agent's grants.
    Program(ProgramCall, Box<Grants>),
}

/// The commands of one shell.
pub(crate) type Commands = Arc<BTreeMap<String, Arc<Offered>>>;

/// A command with what its tool needs to run.
pub(crate) struct Offered {
    pub(crate) command: ShellCommand,
    /// What a native program finds; nothing for a component, or where none may be run.
    pub(crate) native: Option<(Native, Preopens, Limits)>,
}

/// What a command answers when its arguments make no sense.
const MISUSED: i32 = 2;

impl fmt::Debug for ShellCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShellCommand").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What became of a command before any guest was called.
pub(crate) enum Decided {
    /// It is over; this was denied.
    Ran(Result<Outcome, Error>, Vec<Denial>),
    /// It is a tool that is to be called with this.
    Call { tool: String, input: String },
}

impl Offered {
    /// The component that carries it out, if one does.
    pub(crate) fn linked(&self) -> Option<&str> {
        match &self.command.tool {
            CommandTool::Linked(tool) => Some(tool),
            CommandTool::Program(..) => None,
        }
    }
}

/// Runs a command for a shell, on what is left of its time.
pub(crate) async fn run(host: &mut Host, asked: Command) -> Result<Outcome, Error> {
    let name = asked.program.clone();
    let decided = match (host.asked.clone(), host.commands.get(&name).cloned()) {
        // The host knows which commands there are.
        (Some(elsewhere), _) => elsewhere.run_command(asked),
        (None, Some(offered)) => decide(&offered, &asked, &Time { deadline: host.deadline, call: &host.cancelled }),
        (None, None) => return host.run_program(&asked),
    };
    let (answered, denials) = match decided {
        Decided::Ran(ran, denials) => (ran, denials),
        Decided::Call { tool, input } => {
            let report = Box::pin(sandbox::call_from(host, &tool, &input)).await;
            let denials = report.denials.clone();
            (answer(&name, report), denials)
        }
    };
    // The other tool may have moved what this one remembers.
    host.trail = Trail::default();
    for denial in denials {
        Host::deny(&mut host.denials, denial);
    }
    answered
}

/// Decides about a command, and runs it if that takes no guest.
pub(crate) fn decide(offered: &Offered, asked: &Command, time: &Time<'_>) -> Decided {
    let ShellCommand { name, read, gate, tool } = &offered.command;
    let over = |ran| Decided::Ran(ran, Vec::new());
    let input = match read(&asked.arguments, &asked.input) {
        Ok(input) => input,
        Err(Printed::Help(text)) => return over(Ok(outcome(0, text, String::new()))),
        Err(Printed::Wrong(text)) => return over(Ok(outcome(MISUSED, String::new(), format!("{name}: {text}")))),
    };
    if let Err(denial) = gate(&input) {
        return Decided::Ran(Err(Error::Denied(denial.to_string())), vec![denial]);
    }
    match (tool, &offered.native) {
        (CommandTool::Linked(tool), _) => Decided::Call { tool: tool.clone(), input },
        (CommandTool::Program(program, _), Some((native, preopens, limits))) => {
            let program = ProgramCall { input: input.into_bytes(), ..program.clone() };
            // What a program writes is not counted by bytes.
            let files = Files::new(preopens, limits);
            let deadline = time.deadline.min(Instant::now() + limits.call_time);
            match run_permitted(native, &files, limits, &program, deadline, time.call) {
                Ok(ran) => over(ran.map(Outcome::from).map_err(Error::from)),
                Err(denial) => Decided::Ran(Err(Error::Denied(denial.to_string())), vec![denial]),
            }
        }
        (CommandTool::Program(..), None) => over(Err(Error::Denied("no native program is granted".to_owned()))),
    }
}

/// What a call came to, as a command says it.
fn answer(name: &str, report: Report) -> Result<Outcome, Error> {
    match report.outcome {
        Ok(text) => Ok(outcome(0, text, String::new())),
        Err(failure @ (Failure::Denied(_) | Failure::Refused(_))) => Err(Error::Denied(failure.to_string())),
        Err(Failure::OutOfTime { .. }) => Err(Error::OutOfTime),
        Err(failure) => {
            let code = if matches!(failure, Failure::InvalidInput(_)) { MISUSED } else { 1 };
            Ok(outcome(code, String::new(), format!("{name}: {failure}")))
        }
    }
}

fn outcome(code: i32, stdout: String, stderr: String) -> Outcome {
    let line = |mut text: String| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.into_bytes()
    };
    Outcome { code: Some(code), stdout: line(stdout), stderr: line(stderr), omitted: 0 }
}
