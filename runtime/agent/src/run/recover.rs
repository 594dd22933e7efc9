//! Calls that an earlier run left open, because it was stopped or its process ended.

use super::calls::CUT_OFF;
use super::{Run, Stop};
use crate::{CallState, FailureKind, ToolCall, ToolResult};

/// What the model reads of a call of which nobody knows whether it did anything.
const INTERRUPTED: &str = "interrupted, outcome unknown: the process ended while this call was under way; \
                           it may have had its effect, so look before you make it again";

impl Run<'_> {
    /// Gives every open call a result without making it again: there is something new to work on.
    pub(super) fn close_open_calls(&mut self) {
        let open: Vec<ToolCall> = self.transcript.open_calls().cloned().collect();
        for call in open {
            let result = self.known_result(&call).unwrap_or_else(|| match self.is_known(&call) {
                true => ToolResult::failed(FailureKind::Interrupted, INTERRUPTED),
                false => ToolResult::failed(FailureKind::Cancelled, CUT_OFF),
            });
            self.transcript.record_result(&call.id, result);
        }
    }

    /// Finishes what an earlier process began: a result that is known is used; a call that was never begun, or
    /// does no harm when made twice, is made; of any other the model is told that nobody knows.
    pub(super) async fn recover(&mut self) -> Result<(), Stop> {
        let open: Vec<ToolCall> = self.transcript.open_calls().cloned().collect();
        let is_wanted = |call: &ToolCall| {
            self.known_result(call).is_none() && (!self.is_known(call) || self.toolbox.is_idempotent(&call.tool))
        };
        let (again, done): (Vec<ToolCall>, Vec<ToolCall>) = open.iter().cloned().partition(is_wanted);
        if again.is_empty() {
            self.close_open_calls();
            return self.write().await;
        }
        let (results, stopped) = self.call_all(&again).await?;
        let mut made: Vec<(ToolCall, ToolResult)> = again.into_iter().zip(results).collect();
        made.extend(done.into_iter().map(|call| {
            let result = self.known_result(&call);
            let result = result.unwrap_or_else(|| ToolResult::failed(FailureKind::Interrupted, INTERRUPTED));
            (call, result)
        }));
        for call in &open {
            if let Some((_, result)) = made.iter().find(|(other, _)| other.id == call.id) {
                self.transcript.record_result(&call.id, result.clone());
            }
        }
        stopped
    }

    fn is_known(&self, call: &ToolCall) -> bool {
        self.known.iter().any(|record| record.intent.call.id == call.id)
    }

    fn known_result(&self, call: &ToolCall) -> Option<ToolResult> {
        let record = self.known.iter().find(|record| record.intent.call.id == call.id)?;
        match &record.state {
            CallState::Finished(result) => Some(result.clone()),
            CallState::Unfinished => None,
        }
    }
}
