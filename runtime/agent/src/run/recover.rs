//! Calls that an earlier run left open, because it was stopped or its process ended.

use super::{Run, Stop};
use crate::{CallRecord, CallState, Entry, FailureKind, Reply, ToolCall, ToolResult, Transcript};

/// What the model reads of a call that was dropped with its run.
pub(super) const CUT_OFF: &str = "the run ended before this call did";

/// What the model reads of a call of which nobody knows whether it did anything.
const INTERRUPTED: &str = "interrupted, outcome unknown: the process ended while this call was under way; \
                           it may have had its effect, so look before you make it again";

impl Transcript {
    /// Takes up a task and says which entries that adds. Calls that an earlier run left open are not made
    /// again: there is something new to work on.
    pub fn take_up(&mut self, task: &str, known: &[CallRecord]) -> Vec<Entry> {
        let before = self.entries().len();
        self.close_with(known);
        self.record_user(task);
        self.entries().get(before..).unwrap_or_default().to_vec()
    }

    /// Gives every open call the result that is known of it.
    fn close_with(&mut self, known: &[CallRecord]) {
        let open: Vec<ToolCall> = self.open_calls().cloned().collect();
        for call in open {
            let result = match find(known, &call) {
                Some(CallState::Finished(result)) => result.clone(),
                Some(CallState::Unfinished) => ToolResult::failed(FailureKind::Interrupted, INTERRUPTED),
                None => ToolResult::failed(FailureKind::Cancelled, CUT_OFF),
            };
            self.record_result(&call.id, result);
        }
    }
}

impl Run<'_> {
    /// Finishes what an earlier process began: an answer that was given is the answer; a result that is known
    /// is used; a call that was never begun, or does no harm when made twice, is made; of any other the model is
    /// told that nobody knows.
    pub(super) async fn recover(&mut self) -> Result<(), Stop> {
        if let Some(Entry::Reply { text, calls, .. }) = self.transcript.entries().last()
            && calls.is_empty()
        {
            let reply = Reply::answer(text.clone());
            return self.close(&reply);
        }
        let open: Vec<ToolCall> = self.transcript.open_calls().cloned().collect();
        let is_wanted = |call: &&ToolCall| match find(&self.known, call) {
            Some(CallState::Finished(_)) => false,
            Some(CallState::Unfinished) => self.toolbox.is_idempotent(&call.tool),
            None => true,
        };
        let again: Vec<ToolCall> = open.iter().filter(is_wanted).cloned().collect();
        let (results, stopped) = if again.is_empty() { (Vec::new(), Ok(())) } else { self.call_all(&again).await? };
        for (call, result) in again.into_iter().zip(results) {
            self.known.retain(|record| record.intent.call.id != call.id);
            let intent = crate::Intent { idempotent: self.toolbox.is_idempotent(&call.tool), call };
            self.known.push(CallRecord { intent, state: CallState::Finished(result) });
        }
        self.transcript.close_with(&self.known);
        self.known.clear();
        stopped?;
        self.write().await
    }
}

fn find<'a>(known: &'a [CallRecord], call: &ToolCall) -> Option<&'a CallState> {
    known.iter().find(|record| record.intent.call.id == call.id).map(|record| &record.state)
}
