//! The loop: one request worked on until it is answered. Read this file first.

mod calls;
mod closing;
mod ending;
mod recover;
mod room;
mod writing;

use std::future::Future;

use crate::circles::Circles;
use crate::hearing::Hearing;
use crate::prompt::{Surroundings, instructions};
use crate::schema::Schema;
use crate::{
    Account, Agent, CallRecord, Cancellation, Event, Journal, Prompt, Provider, Reply, ReplySettings, Spent, Toolbox,
    Transcript, Unwritten, Usage, Watcher,
};
use closing::Attempts;
use ending::Stop;
use writing::Written;

pub use calls::CALLS_PER_REPLY;
pub(crate) use closing::BLANK;
pub use ending::{Outcome, RunError};

/// One request being worked on. The transcript stays, and stays valid, however the run ends.
pub struct Run<'a> {
    agent: &'a Agent,
    provider: &'a dyn Provider,
    toolbox: &'a Toolbox,
    watcher: &'a dyn Watcher,
    cancellation: Cancellation,
    surroundings: Surroundings,
    /// What the instructions say is to be done; absent: what the conversation began with.
    task: Option<String>,
    settings: ReplySettings,
    expected: Option<Schema>,
    account: Account,
    counts_cost: bool,
    journal: &'a dyn Journal,
    written: Written,
    /// Calls that were meant to be made and whose results are not in the transcript yet.
    known: Vec<CallRecord>,
    transcript: Transcript,
    circles: Circles,
    attempts: Attempts,
    steps: u32,
    usage: Usage,
}

impl<'a> Run<'a> {
    /// A run that continues `transcript`. Its time starts now, and nobody will continue it.
    pub fn new(
        agent: &'a Agent,
        provider: &'a dyn Provider,
        toolbox: &'a Toolbox,
        watcher: &'a dyn Watcher,
        cancellation: Cancellation,
        transcript: Transcript,
    ) -> Self {
        let budget = agent.budget();
        Self {
            agent,
            provider,
            toolbox,
            watcher,
            cancellation,
            surroundings: Surroundings::default(),
            task: None,
            settings: ReplySettings::of(agent),
            expected: None,
            account: Account::open(budget),
            counts_cost: budget.cost.is_some(),
            journal: &Unwritten,
            written: Written::so_far(&transcript),
            known: Vec::new(),
            transcript,
            circles: Circles::default(),
            attempts: Attempts::default(),
            steps: 0,
            usage: Usage::default(),
        }
    }

    /// The same run, told of what is around it.
    pub fn among(mut self, surroundings: Surroundings) -> Self {
        self.surroundings = surroundings;
        self
    }

    /// The same run, whose instructions say that this is to be done, whatever the conversation began with.
    pub fn doing(mut self, task: impl Into<String>) -> Self {
        self.task = Some(task.into());
        self
    }

    /// The same run, whose answer has to be JSON that fits a schema.
    pub fn expecting(mut self, schema: &serde_json::Value) -> Result<Self, crate::SchemaError> {
        self.expected = Some(Schema::new(schema)?);
        self.settings.answer_schema = Some(schema.clone());
        Ok(self)
    }

    /// The same run, whose every step is written down before it counts.
    pub fn written_to(mut self, journal: &'a dyn Journal) -> Self {
        self.journal = journal;
        self
    }

    /// The same run, which an earlier process began: what that meant to do, and what it used up.
    pub fn after(mut self, calls: Vec<CallRecord>, spent: crate::Spending) -> Self {
        self.known = calls;
        self.written.before = spent;
        self
    }

    /// The same run, drawing from an account that others may draw from, too.
    pub fn drawing_from(mut self, account: Account) -> Self {
        self.account = account;
        self
    }

    /// Works on `task` until it is answered or the run must end.
    pub async fn answer(&mut self, task: &str) -> Result<Outcome, RunError> {
        self.transcript.take_up(task, &self.known);
        self.resume().await
    }

    /// Goes on where the transcript ends: with a task that was just taken up, or where an earlier run broke off,
    /// for instance because its provider failed.
    pub async fn resume(&mut self) -> Result<Outcome, RunError> {
        let (agent, provider) = (self.agent.name.clone(), self.provider.name().to_owned());
        self.watcher.watch(Event::RunStarted { agent, provider, model: self.provider.model().to_owned() });
        let stop = self.work().await;
        let stop = self.write_end(stop).await;
        self.watcher.watch(Event::RunEnded { ending: stop.ending(), steps: self.steps, usage: self.usage });
        stop.outcome()
    }

    /// Takes one step after the other until there is a reason to stop.
    async fn work(&mut self) -> Stop {
        if self.counts_cost && !self.provider.counts_cost() {
            return Stop::CostUnknown { provider: self.provider.name().to_owned() };
        }
        let task = self.task.clone().unwrap_or_else(|| self.transcript.first_task().to_owned());
        self.surroundings.context_lines |= self.transcript.has_context_line();
        let instructions = instructions(self.agent, self.toolbox.specs(), &self.surroundings, &task);
        if let Err(stop) = self.recover().await {
            return stop;
        }
        loop {
            if let Err(stop) = self.step(&instructions).await {
                return stop;
            }
        }
    }

    /// One reply and the results of its calls.
    async fn step(&mut self, instructions: &str) -> Result<(), Stop> {
        self.account.spend_step()?;
        self.steps += 1;
        self.watcher.watch(Event::StepStarted { step: self.steps });
        let reply = self.ask(instructions).await?;
        let calls = self.transcript.record_reply(&reply);
        if calls.is_empty() {
            let closed = self.close(&reply);
            self.write().await?;
            return closed;
        }
        self.attempts = Attempts::default();
        let (results, stopped) = self.call_all(&calls).await?;
        for (call, result) in calls.iter().zip(results) {
            self.transcript.record_result(&call.id, result);
        }
        self.known.clear();
        self.tell_of_dropped_calls(reply.calls.len() - calls.len());
        stopped
    }

    /// Asks for a reply, and where the conversation has become too long, shortens it first.
    async fn ask(&mut self, instructions: &str) -> Result<Reply, Stop> {
        self.make_room(instructions).await?;
        let reply = match self.reply(instructions).await {
            Err(Stop::Failed(error)) if error.is_too_long() => {
                self.shorten(instructions, error).await?;
                self.reply(instructions).await?
            }
            reply => reply?,
        };
        let (text, calls) = (reply.text.clone(), reply.calls.len());
        self.watcher.watch(Event::ModelReplied { text, calls, usage: reply.usage });
        Ok(reply)
    }

    async fn reply(&mut self, instructions: &str) -> Result<Reply, Stop> {
        let (tools, transcript) = (self.toolbox.specs(), &self.transcript);
        let deadline = self.account.deadline();
        let prompt = Prompt { instructions, tools, transcript, settings: &self.settings, deadline };
        let listener = Hearing::new(self.watcher);
        let reply = self.unless_stopped(self.provider.reply(prompt, &listener)).await?.map_err(Stop::Failed)?;
        self.spend(reply.usage);
        Ok(reply)
    }

    fn spend(&mut self, usage: Usage) {
        self.usage += usage;
        self.account.spend_usage(usage);
    }

    /// Waits for the work, but no longer than until the run is cancelled or out of time.
    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = self.cancellation.cancelled() => Err(Stop::Cancelled),
            () = tokio::time::sleep_until(self.account.deadline()) => Err(Stop::Spent(Spent::Time)),
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

#[cfg(test)]
mod tests;
