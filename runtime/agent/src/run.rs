//! The loop: one request worked on until it is answered. Read this file first.

use std::future::Future;

use futures_util::stream::{FuturesUnordered, StreamExt};
use thiserror::Error;

use crate::event::brief;
use crate::hearing::Hearing;
use crate::tool::Said;
use crate::{
    Agent, Cancellation, Ending, Event, FailureKind, Progress, Prompt, Provider, ProviderError, Remaining, Reply,
    ReplySettings, Spent, ToolCall, ToolResult, Toolbox, Transcript, Usage, Watcher, instructions,
};

/// How many calls of one reply are made; the others are answered with a failure.
pub const CALLS_PER_REPLY: usize = 32;

/// What the model reads of a call that was dropped with its run.
const CUT_OFF: &str = "the run ended before this call did";

/// One request being worked on. The transcript stays, and stays valid, however the run ends.
pub struct Run<'a> {
    agent: &'a Agent,
    provider: &'a dyn Provider,
    toolbox: &'a Toolbox,
    watcher: &'a dyn Watcher,
    cancellation: Cancellation,
    budget: Remaining,
    transcript: Transcript,
    settings: ReplySettings,
    steps: u32,
    usage: Usage,
}

/// How a run ended without an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The model's answer.
    Answered(String),
    /// There is nothing left of the budget.
    Spent(Spent),
    /// It was ended from outside.
    Cancelled,
}

/// Why a run could not go on; for the user.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// The provider gave no reply.
    #[error("no reply from {0}")]
    Provider(ProviderError),
}

impl<'a> Run<'a> {
    /// A run that continues `transcript`. Its time starts now.
    pub fn new(
        agent: &'a Agent,
        provider: &'a dyn Provider,
        toolbox: &'a Toolbox,
        watcher: &'a dyn Watcher,
        cancellation: Cancellation,
        transcript: Transcript,
    ) -> Self {
        let budget = agent.budget().begin();
        let settings = ReplySettings {
            temperature: agent.temperature,
            reasoning_effort: agent.reasoning_effort,
            max_tokens: agent.max_tokens,
            answer_schema: None,
        };
        let usage = Usage::default();
        Self { agent, provider, toolbox, watcher, cancellation, budget, transcript, settings, steps: 0, usage }
    }

    /// Works on `task` until it is answered or the run must end.
    pub async fn answer(&mut self, task: &str) -> Result<Outcome, RunError> {
        let (agent, provider) = (self.agent.name.clone(), self.provider.name().to_owned());
        self.watcher.watch(Event::RunStarted { agent, provider, model: self.provider.model().to_owned() });
        // An earlier run may have been dropped in the middle of its calls.
        self.transcript.close_calls(CUT_OFF);
        self.transcript.record_user(task);
        let instructions = instructions(self.agent, self.toolbox.specs(), task);

        let stop = loop {
            if let Err(stop) = self.step(&instructions).await {
                break stop;
            }
        };

        self.watcher.watch(Event::RunEnded { ending: stop.ending(), steps: self.steps, usage: self.usage });
        stop.outcome()
    }

    /// One reply and the results of its calls.
    async fn step(&mut self, instructions: &str) -> Result<(), Stop> {
        self.budget.spend_step()?;
        let reply = self.ask(instructions).await?;
        let calls = self.transcript.record_reply(&reply);
        if calls.is_empty() {
            return Err(Stop::Answered(reply.text));
        }
        let (results, stopped) = self.call_all(&calls).await;
        for (call, result) in calls.iter().zip(results) {
            self.transcript.record_result(&call.id, result);
        }
        stopped
    }

    async fn ask(&mut self, instructions: &str) -> Result<Reply, Stop> {
        self.steps += 1;
        self.watcher.watch(Event::StepStarted { step: self.steps });
        let (tools, transcript) = (self.toolbox.specs(), &self.transcript);
        let deadline = self.budget.deadline();
        let prompt = Prompt { instructions, tools, transcript, settings: &self.settings, deadline };
        let listener = Hearing::new(self.watcher);
        let reply = self.unless_stopped(self.provider.reply(prompt, &listener)).await?.map_err(Stop::Failed)?;
        self.usage += reply.usage;
        self.budget.spend_tokens(reply.usage.total());
        let (text, calls) = (reply.text.clone(), reply.calls.len());
        self.watcher.watch(Event::ModelReplied { text, calls, usage: reply.usage });
        Ok(reply)
    }

    /// Makes the calls at the same time. The results are in the order of the calls, and there is one for
    /// each, also when the run is stopped: calls still open then are dropped.
    async fn call_all(&self, calls: &[ToolCall]) -> (Vec<ToolResult>, Result<(), Stop>) {
        let (sender, mut progress) = Progress::queue();
        let mut results: Vec<Option<ToolResult>> = vec![None; calls.len()];
        for call in calls {
            let (id, tool, input) = (call.id.clone(), call.tool.clone(), brief(&call.input));
            self.watcher.watch(Event::CallStarted { id, tool, input });
        }
        let mut pending: FuturesUnordered<_> = calls
            .iter()
            .enumerate()
            .map(|(at, call)| self.call(at, call, Progress::of_call(&call.id, &sender)))
            .collect();

        let all = async {
            loop {
                tokio::select! {
                    biased;
                    Some(Said { id, message }) = progress.recv() => self.watcher.watch(Event::CallProgress { id, message }),
                    finished = pending.next() => match finished {
                        Some((at, result)) => results[at] = Some(result),
                        None => break,
                    },
                }
            }
        };
        let stopped = self.unless_stopped(all).await;
        drop(pending);
        let close = |(call, result): (&ToolCall, Option<ToolResult>)| result.unwrap_or_else(|| self.cut_off(call));
        (calls.iter().zip(results).map(close).collect(), stopped)
    }

    async fn call(&self, at: usize, call: &ToolCall, progress: Progress) -> (usize, ToolResult) {
        let result = if at < CALLS_PER_REPLY {
            self.toolbox.call(call, &progress).await
        } else {
            let text = format!("not called: one reply may have {CALLS_PER_REPLY} calls; call it again in the next");
            ToolResult::failed(FailureKind::Skipped, text)
        };
        self.watcher.watch(Event::finished(&call.id, &call.tool, &result));
        (at, result)
    }

    /// The result of a call that was dropped with the run.
    fn cut_off(&self, call: &ToolCall) -> ToolResult {
        let result = ToolResult::failed(FailureKind::Cancelled, CUT_OFF);
        self.watcher.watch(Event::finished(&call.id, &call.tool, &result));
        result
    }

    /// Waits for the work, but no longer than until the run is cancelled or out of time.
    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = self.cancellation.cancelled() => Err(Stop::Cancelled),
            () = tokio::time::sleep_until(self.budget.deadline()) => Err(Stop::Spent(Spent::Time)),
            value = work => Ok(value),
        }
    }

    /// What was said and done so far.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The transcript, when the run is no longer needed.
    pub fn into_transcript(self) -> Transcript {
        self.transcript
    }

    /// What all replies so far cost.
    pub fn usage(&self) -> Usage {
        self.usage
    }
}

/// Why the loop does not go on.
enum Stop {
    Answered(String),
    Spent(Spent),
    Cancelled,
    Failed(ProviderError),
}

impl From<Spent> for Stop {
    fn from(spent: Spent) -> Self {
        Self::Spent(spent)
    }
}

impl Stop {
    fn ending(&self) -> Ending {
        match self {
            Self::Answered(_) => Ending::Answered,
            Self::Spent(spent) => Ending::Spent(*spent),
            Self::Cancelled => Ending::Cancelled,
            Self::Failed(error) => Ending::Failed(error.to_string()),
        }
    }

    fn outcome(self) -> Result<Outcome, RunError> {
        match self {
            Self::Answered(text) => Ok(Outcome::Answered(text)),
            Self::Spent(spent) => Ok(Outcome::Spent(spent)),
            Self::Cancelled => Ok(Outcome::Cancelled),
            Self::Failed(error) => Err(RunError::Provider(error)),
        }
    }
}

#[cfg(test)]
mod tests;
