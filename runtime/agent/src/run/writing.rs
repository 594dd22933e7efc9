//! What a run does is written down before it counts: what was said before the next thing is asked, what will be
//! called before it is called, what came of a call as soon as it is known.

use tokio::time::Instant;

use super::{Run, Stop};
use crate::{
    Batch, CallRecord, CallState, Intent, RunEnd, Spending, StoreError, ToolCall, ToolResult, Transcript, passing,
};

/// How much of a run is written down.
#[derive(Debug)]
pub(super) struct Written {
    /// How many entries of the transcript are.
    entries: usize,
    /// What an earlier process had used up for this run.
    pub(super) before: Spending,
    /// How many calls this process has made for it.
    calls: u64,
    since: Instant,
}

impl Written {
    /// What a run begins with was written by whoever said it.
    pub(super) fn so_far(transcript: &Transcript) -> Self {
        let entries = transcript.entries().len();
        Self { entries, before: Spending::default(), calls: 0, since: Instant::now() }
    }
}

impl Run<'_> {
    /// Writes down what was said since the last time.
    pub(super) async fn write(&mut self) -> Result<(), Stop> {
        self.write_intents(Vec::new()).await
    }

    /// Writes down what was said, and which calls will be made now.
    pub(super) async fn write_intents(&mut self, calls: Vec<&ToolCall>) -> Result<(), Stop> {
        self.written.calls += calls.len() as u64;
        let known = |call: &ToolCall| self.known.iter().any(|record| record.intent.call.id == call.id);
        let intent =
            |call: &ToolCall| Intent { call: call.clone(), idempotent: self.toolbox.is_idempotent(&call.tool) };
        let entries = self.transcript.entries();
        let intents: Vec<Intent> = calls.into_iter().filter(|call| !known(call)).map(intent).collect();
        let begun = intents.iter().map(|intent| CallRecord { intent: intent.clone(), state: CallState::Unfinished });
        self.known.extend(begun.collect::<Vec<_>>());
        if !self.journal.keeps() {
            return Ok(());
        }
        let batch = Batch {
            entries: entries.get(self.written.entries..).unwrap_or_default().to_vec(),
            intents,
            results: Vec::new(),
            spending: Some(self.spending()),
        };
        if batch.entries.is_empty() && batch.intents.is_empty() {
            return Ok(());
        }
        passing("run.before_write");
        self.journal.record(batch).await.map_err(Stop::Unwritten)?;
        passing("run.after_write");
        self.written.entries = self.transcript.entries().len();
        Ok(())
    }

    /// Writes down what came of a call. It is the toolbox's result, so it is no longer than a model may read.
    pub(super) async fn write_result(&self, call: &ToolCall, result: &ToolResult) -> Result<(), StoreError> {
        if !self.journal.keeps() {
            return Ok(());
        }
        let results = vec![(call.id.clone(), result.clone())];
        passing("run.before_result");
        self.journal.record(Batch { results, ..Batch::default() }).await?;
        passing("run.after_result");
        Ok(())
    }

    /// Writes down the rest and how the run ended. What cannot be written down did not happen: an answer is
    /// given only when it is.
    pub(super) async fn write_end(&mut self, stop: Stop) -> Stop {
        if matches!(stop, Stop::Unwritten(_)) {
            return stop;
        }
        if let Err(unwritten) = self.write().await {
            return unwritten;
        }
        let end = RunEnd { ending: stop.ending(), spending: self.spending() };
        passing("run.before_end");
        match self.journal.end(end).await {
            Ok(()) => stop,
            Err(error) => Stop::Unwritten(error),
        }
    }

    /// What the run has used up so far, this process and earlier ones together.
    fn spending(&self) -> Spending {
        let Written { before, calls, since, .. } = &self.written;
        let mut usage = before.usage;
        usage += self.usage;
        Spending {
            steps: before.steps.saturating_add(self.steps),
            calls: before.calls.saturating_add(*calls),
            usage,
            time: before.time.saturating_add(since.elapsed()),
        }
    }
}
