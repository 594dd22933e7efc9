//! The host's side of one call: what its guests ask for is decided here, by the host's own tools. What the process
//! says of itself gives it nothing: it can ask for no more than the tools that really are at work in the call have.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use palisade_grants::{Denial, PermittedKey};

use super::{
    protocol::{Answer, Ask, Blob},
    web::Requests,
};
use crate::{
    Call, Engine, Limits, Report, StorageError,
    bindings::process::{Command, Error, Outcome},
    capabilities::{
        commands::{self, Decided},
        http::Http,
        preopens::Files,
        process::{self, Time},
        storage::StorageSpace,
    },
    engine::Slot,
    host::MAX_DENIALS,
    sandbox,
    scope::{LinkedTool, Tools},
};

/// One call of a guest that runs in another process.
pub(super) struct Live {
    tools: Tools,
    call: Call,
    pub(super) engine: Engine,
    /// The tool that a shell may call next, and with what.
    commanded: Mutex<Option<(String, String)>>,
    /// The tools at work: the one that was called, the one that it calls, and so on.
    at_work: Mutex<Vec<AtWork>>,
    pub(super) requests: Requests,
}

struct AtWork {
    tool: Arc<LinkedTool>,
    deadline: Instant,
    http: Option<Box<Http>>,
    /// The right of a called tool to be alive; that of the first is its caller's.
    _slot: Option<Slot>,
}

/// What a process may not say, and is ended for.
type Answered<T = Answer> = Result<T, String>;

/// The longest text of a denial.
const MAX_TEXT: usize = 16 << 10;

impl Live {
    pub(super) fn begin(tool: Arc<LinkedTool>, tools: &Tools, call: &Call) -> Self {
        let deadline = Instant::now() + tool.limits.call_time;
        let (requests, engine) = (Requests::new(&tool.limits), tool.engine.clone());
        let first = AtWork { http: http(&tool, deadline), tool, deadline, _slot: None };
        Self {
            tools: Arc::clone(tools),
            call: call.clone(),
            engine,
            commanded: Mutex::default(),
            at_work: Mutex::new(vec![first]),
            requests,
        }
    }

    /// Answers a guest that waits.
    pub(super) fn answer(&self, depth: u32, ask: Ask) -> Answered {
        Ok(match ask {
            Ask::Enter { tool, input } => self.enter(depth, &tool, &input)?,
            Ask::Leave => self.leave(depth)?,
            Ask::Get { key } => {
                let value = self.space(depth, &key)?.and_then(|(space, key)| space.storage.get(&space.space, &key));
                Answer::Value(value.map(|value| value.map(Blob)))
            }
            Ask::Set { key, value: Blob(value) } => Answer::Kept(
                self.space(depth, &key)?
                    .and_then(|(space, key)| space.storage.set(&space.space, &key, &value, space.grant.bytes)),
            ),
            Ask::Delete { key } => {
                Answer::Kept(self.space(depth, &key)?.and_then(|(space, key)| space.storage.delete(&space.space, &key)))
            }
            Ask::Keys { prefix } => {
                let space = self.last(depth)?.storage.clone().ok_or_else(no_space);
                Answer::Keys(space.and_then(|space| space.storage.keys(&space.space, &prefix)))
            }
            Ask::Programs => {
                let tool = self.last(depth)?;
                let programs = tool.native.as_ref().map(|native| native.names()).unwrap_or_default();
                Answer::Programs(tool.commands.keys().cloned().chain(programs).collect())
            }
            Ask::Run(command) => match self.run(depth, &command)? {
                Ok(outcome) => Answer::Ran(Ok(outcome), Vec::new()),
                Err((error, denial)) => Answer::Ran(Err(error), denial.into_iter().collect()),
            },
            Ask::Command(command) => return self.command(depth, command),
            Ask::Progress(message) => {
                self.last(depth)?;
                if let Some(progress) = self.call.progress() {
                    progress.report(process_text(&message));
                }
                Answer::Done
            }
            Ask::Web(_) => return Err("it asked in the wrong way".to_owned()),
        })
    }

    /// Lets one tool call another, if the first is made to and the second may be called.
    fn enter(&self, depth: u32, name: &str, input: &str) -> Answered {
        let caller = self.last(depth)?;
        let commanded = self.commanded.lock().unwrap_or_else(PoisonError::into_inner).take();
        let is_command = commanded.is_some_and(|(tool, with)| tool == name && with == input);
        if !is_command && !caller.compiled.needs().toolbox.contains(name) {
            return Err("it called a tool that is not one of the caller's".to_owned());
        }
        let (slot, tool) = match sandbox::enter(&self.tools, name, input, depth + 1) {
            Ok(entered) => entered,
            Err(report) => {
                let Report { outcome, denials, .. } = *report;
                return Ok(Answer::Entered(outcome.map(drop).map_err(|failure| (failure, denials))));
            }
        };
        let mut at_work = self.at_work();
        let caller = at_work.last().ok_or("nobody is at work")?;
        let deadline = caller.deadline.min(Instant::now() + tool.limits.call_time);
        let mut http = http(&tool, deadline);
        if let (Some(http), Some(callers)) = (&mut http, &caller.http) {
            http.share(callers);
        }
        at_work.push(AtWork { http, tool, deadline, _slot: Some(slot) });
        Ok(Answer::Entered(Ok(())))
    }

    /// A called tool is done.
    fn leave(&self, depth: u32) -> Answered {
        self.last(depth)?;
        let mut at_work = self.at_work();
        if at_work.len() < 2 {
            return Err("it left a tool that it did not call".to_owned());
        }
        Ok(Answer::Left(at_work.pop().map(|done| done.denials()).unwrap_or_default()))
    }

    /// What was denied to the tool that was called, over the network.
    pub(super) fn denials(&self) -> Vec<Denial> {
        self.at_work().first().map(AtWork::denials).unwrap_or_default()
    }

    /// Runs a command of a shell, or says which tool it is.
    fn command(&self, depth: u32, command: Command) -> Answered {
        let tool = self.last(depth)?;
        let Some(offered) = tool.commands.get(&command.program) else { return self.answer(depth, Ask::Run(command)) };
        let deadline = self.at_work().last().map_or_else(Instant::now, |last| last.deadline);
        Ok(match commands::decide(offered, &command, &Time { deadline, call: &self.call }) {
            Decided::Ran(ran, denials) => Answer::Ran(ran, denials),
            Decided::Call { tool, input } => {
                let next = (tool.clone(), input.clone());
                *self.commanded.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
                Answer::Call { tool, input }
            }
        })
    }

    fn run(&self, depth: u32, command: &Command) -> Answered<Result<Outcome, (Error, Option<Denial>)>> {
        let tool = self.last(depth)?;
        let deadline = self.at_work().last().map_or_else(Instant::now, |last| last.deadline);
        let Some(native) = &tool.native else { return Ok(Err((process::nothing_granted(), None))) };
        let files = Files::new(&tool.preopens, &tool.limits);
        Ok(native.run(command, &files, tool.limits.output, &Time { deadline, call: &self.call }))
    }

    fn space(&self, depth: u32, key: &str) -> Answered<Result<(StorageSpace, PermittedKey), StorageError>> {
        let Some(space) = self.last(depth)?.storage.clone() else { return Ok(Err(no_space())) };
        match space.grant.permit(key) {
            Ok(key) => Ok(Ok((space, key))),
            Err(_) => Err("it asked for a key that is none".to_owned()),
        }
    }

    /// The tool that runs now: while it does, those that called it wait.
    fn last(&self, depth: u32) -> Answered<Arc<LinkedTool>> {
        let at_work = self.at_work();
        match at_work.last() {
            Some(last) if at_work.len() == depth as usize + 1 => Ok(Arc::clone(&last.tool)),
            _ => Err("it asked for a tool that is not at work".to_owned()),
        }
    }

    /// What a tool at work asks hosts with; none if it has no network, or is done.
    pub(super) fn with_http<T>(&self, depth: u32, act: impl FnOnce(&mut Http) -> T) -> Option<T> {
        Some(act(self.at_work().get_mut(depth as usize)?.http.as_mut()?))
    }

    fn at_work(&self) -> MutexGuard<'_, Vec<AtWork>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AtWork {
    fn denials(&self) -> Vec<Denial> {
        self.http.as_ref().map(|http| http.denials()).unwrap_or_default()
    }
}

fn http(tool: &LinkedTool, deadline: Instant) -> Option<Box<Http>> {
    tool.web.as_ref().map(|web| Box::new(Http::new(web.clone(), tool.limits, deadline, None)))
}

fn no_space() -> StorageError {
    StorageError::Failed("no storage is granted".to_owned())
}

fn process_text(message: &str) -> &str {
    message.get(..message.floor_char_boundary(crate::capabilities::progress::MAX_MESSAGE)).unwrap_or_default()
}

/// Takes a report, if it is one that a guest's call can come to: the process counts, but the host does not believe it.
pub(super) fn within(report: Report, limits: &Limits) -> Result<Report, String> {
    let text = match &report.outcome {
        Ok(text) => text.len(),
        // The reason may be longer than what the guest said.
        Err(failure) => failure.to_string().len().saturating_sub(MAX_TEXT),
    };
    let printed = report.stdout.kept.len().max(report.stderr.kept.len());
    let is_long =
        |denial: &Denial| [&denial.asked, &denial.rule, &denial.remedy].iter().any(|text| text.len() > MAX_TEXT);
    if text > limits.output || printed > limits.output {
        return Err("it sent more output than there may be".to_owned());
    }
    if report.denials.len() > 2 * MAX_DENIALS || report.denials.iter().any(is_long) {
        return Err("it sent more denials than there may be".to_owned());
    }
    if report.cost.duration > limits.call_time + Duration::from_secs(60) {
        return Err("it sent a time that has not passed".to_owned());
    }
    Ok(report)
}
