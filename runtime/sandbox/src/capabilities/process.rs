//! `palisade:host/process`: native programs, confined.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use palisade_grants::{CommandsGrant, Denial, NamesGrant, WorkspacePath};
use serde_json::json;
use wasmtime::component::{HasSelf, Linker};

use crate::{
    Call, Cost, Engine, Failure, Gate, Limits, Programs, Report,
    bindings::process::{self, Command, Error, Outcome},
    capabilities::preopens::Files,
    host::Host,
    process::{Asked, NotRun, Ran, run},
};

/// The native programs that one guest may run, and what they find.
#[derive(Clone)]
pub(crate) struct Native {
    pub(crate) programs: Arc<Programs>,
    pub(crate) commands: CommandsGrant,
    /// Variables that are passed on, of those that the operator names.
    pub(crate) env: NamesGrant,
    /// Asked before each one, with `{"program": …, "arguments": […]}`.
    pub(crate) gate: Option<Gate>,
}

/// What is left of a call's time for the guest to say what became of its program.
pub(crate) const MARGIN: Duration = Duration::from_millis(500);

pub(crate) fn link(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    process::add_to_linker::<Host, HasSelf<Host>>(linker, |host| host)
}

impl process::Host for Host {
    fn run(&mut self, command: Command) -> wasmtime::Result<Result<Outcome, Error>> {
        Ok(self.run_program(&command))
    }
}

impl Host {
    /// The names of the programs that may be run: those that are granted by name, or all that are there.
    pub(crate) fn program_names(&self) -> Vec<String> {
        if let Some(host) = &self.asked {
            return host.program_names();
        }
        self.native.as_ref().map(Native::names).unwrap_or_default()
    }

    /// Runs a program, if it is granted. It takes the time of the call.
    pub(crate) fn run_program(&mut self, command: &Command) -> Result<Outcome, Error> {
        if let Some(host) = self.asked.clone() {
            let (ran, denials) = host.run_program(command);
            denials.into_iter().for_each(|denial| Self::deny(&mut self.denials, denial));
            return ran;
        }
        // Only a tool that is being described has none: its interfaces are linked to nothing.
        let native = self.native.clone().ok_or_else(nothing_granted)?;
        let time = Time { deadline: self.deadline, call: &self.cancelled };
        native.run(command, &self.files, self.output, &time).map_err(|(error, denial)| {
            denial.into_iter().for_each(|denial| Self::deny(&mut self.denials, denial));
            error
        })
    }
}

/// Only a tool that is being described can get here: its interfaces are linked to nothing.
pub(crate) fn nothing_granted() -> Error {
    Error::Failed("no program is granted".to_owned())
}

/// How long a call has, and whether it is still wanted.
pub(crate) struct Time<'a> {
    pub(crate) deadline: Instant,
    pub(crate) call: &'a Call,
}

impl Native {
    /// Runs a program, if it is granted: for a guest that sees these files and may be told this many bytes.
    pub(crate) fn run(
        &self,
        command: &Command,
        files: &Files,
        output: usize,
        time: &Time<'_>,
    ) -> Result<Outcome, (Error, Option<Denial>)> {
        let refused = |denial: Denial| (Error::Denied(denial.to_string()), Some(denial));
        let permitted = self.commands.permit(&command.program, &command.arguments).map_err(refused)?;
        if let Some(gate) = &self.gate {
            let words = json!({ "program": command.program, "arguments": command.arguments }).to_string();
            gate(&words).map_err(refused)?;
        }
        let failed = |text: String| (Error::Failed(text), None);
        let directory = WorkspacePath::parse(&command.directory)
            .map_err(|error| failed(format!("the folder `{}`: {error}", command.directory)))?;
        let workspace = files.workspace();
        let is_seen = workspace.is_some_and(|(_, files)| files.access(&directory).is_some());
        if !directory.is_root() && !is_seen {
            return Err(failed(format!("there is no folder `{directory}`")));
        }
        let ran = run(
            &self.programs,
            &Asked {
                command: permitted,
                workspace,
                directory,
                folder: None,
                input: &command.input,
                env: self.variables(),
                deadline: time.deadline.checked_sub(MARGIN).unwrap_or(time.deadline),
                // Both streams become one text, in which each byte may take three.
                output: output / 8,
                is_cancelled: &|| time.call.is_cancelled(),
            },
        );
        ran.map(Outcome::from).map_err(|error| (error.into(), None))
    }
}

/// A call of a native program that is a tool.
#[derive(Clone, Debug)]
pub struct ProgramCall {
    /// The program.
    pub program: String,
    /// What it is called with.
    pub arguments: Vec<String>,
    /// The folder it is run in, which it may read: that of its plugin.
    pub folder: PathBuf,
    /// What it reads on its standard input.
    pub input: Vec<u8>,
}

/// Runs a program that is a tool, on one of the sandbox's threads. Dropping the future ends it.
pub(crate) async fn run_elsewhere(
    engine: &Engine,
    native: Native,
    files: Files,
    limits: Limits,
    program: ProgramCall,
    call: Call,
) -> Report {
    let _ended_when_dropped = call.ended_when_dropped();
    let work = engine
        .runtime()
        .spawn_blocking(move || run_tool(&native, &files, &limits, &program, Instant::now() + limits.call_time, &call));
    work.await.unwrap_or_else(|_| Report::failed(Failure::Host { reason: "the call's thread ended early".to_owned() }))
}

/// Runs a program that is a tool, on this thread.
pub(crate) fn run_tool(
    native: &Native,
    files: &Files,
    limits: &Limits,
    program: &ProgramCall,
    deadline: Instant,
    call: &Call,
) -> Report {
    let started = Instant::now();
    let ran = match run_permitted(native, files, limits, program, deadline, call) {
        Ok(ran) => ran,
        Err(denial) => return Report { denials: vec![denial.clone()], ..Report::failed(Failure::Denied(denial)) },
    };
    let outcome = match ran {
        Ok(Ran { code: Some(0), stdout, .. }) => Ok(String::from_utf8_lossy(&stdout).into_owned()),
        Ok(Ran { code, stdout, stderr, .. }) => Err(Failure::Failed(unsuccessful(code, &stdout, &stderr))),
        Err(NotRun::OutOfTime(limit)) => Err(Failure::OutOfTime { limit }),
        Err(NotRun::Cancelled) => Err(Failure::Cancelled),
        Err(NotRun::Denied(why)) => Err(Failure::Refused(why)),
        Err(NotRun::Failed(why)) => Err(Failure::Failed(why)),
    };
    let report = Report::failed(Failure::Cancelled);
    Report { outcome, cost: Cost { duration: started.elapsed(), ..report.cost }, ..report }
}

/// The same as what the program came to, if it may be run.
pub(crate) fn run_permitted(
    native: &Native,
    files: &Files,
    limits: &Limits,
    program: &ProgramCall,
    deadline: Instant,
    call: &Call,
) -> Result<Result<Ran, NotRun>, Denial> {
    let permitted = native.commands.permit(&program.program, &program.arguments)?;
    Ok(run(
        &native.programs,
        &Asked {
            command: permitted,
            workspace: files.workspace(),
            directory: WorkspacePath::ROOT,
            folder: Some(&program.folder),
            input: &program.input,
            env: native.variables(),
            deadline,
            output: limits.output / 4,
            is_cancelled: &|| call.is_cancelled(),
        },
    ))
}

fn unsuccessful(code: Option<i32>, stdout: &[u8], stderr: &[u8]) -> String {
    let ended = code.map_or_else(|| "a signal ended it".to_owned(), |code| format!("it ended with exit code {code}"));
    let [stdout, stderr] = [stdout, stderr].map(String::from_utf8_lossy);
    [ended.as_str(), stderr.trim_end(), stdout.trim_end()]
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join("\n")
}

impl Native {
    fn variables(&self) -> BTreeMap<String, String> {
        let is_granted = |name: &String| name.parse().is_ok_and(|name| self.env.covers(&name));
        let all = self.programs.env.iter();
        all.filter(|(name, _)| is_granted(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let named: Vec<String> = self.commands.programs().map(str::to_owned).collect();
        if named.is_empty() { self.programs.names() } else { named }
    }
}

impl From<Ran> for Outcome {
    fn from(ran: Ran) -> Self {
        let Ran { code, stdout, stderr, omitted } = ran;
        Self { code, stdout, stderr, omitted }
    }
}

impl From<NotRun> for Error {
    fn from(error: NotRun) -> Self {
        match error {
            NotRun::Denied(why) => Self::Denied(why),
            NotRun::OutOfTime(_) => Self::OutOfTime,
            NotRun::Cancelled | NotRun::Failed(_) => Self::Failed(error.to_string()),
        }
    }
}
