//! The calls of one reply: made side by side, answered in their order, each exactly once.

use futures_util::stream::{FuturesUnordered, StreamExt};

use super::recover::CUT_OFF;
use super::{Run, Stop};
use crate::circles::REPEATS;
use crate::event::brief;
use crate::tool::Said;
use crate::{Event, FailureKind, Progress, Spent, StoreError, ToolCall, ToolResult};

/// How many calls of one reply are made; the model is told that the others were dropped.
pub const CALLS_PER_REPLY: usize = 32;

/// What came of the calls of a reply, one result for each, and why the run cannot go on, if it cannot.
pub(super) type Called = (Vec<ToolResult>, Result<(), Stop>);

/// What becomes of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Made,
    /// It would give what it gave before.
    Stale,
    /// The budget has no calls left.
    TooMany,
}

impl Run<'_> {
    /// Makes the calls at the same time. The results are in the order of the calls, and there is one for
    /// each, also when the run is stopped: calls still open then are dropped. None is made before it is
    /// written down that it will be.
    pub(super) async fn call_all(&mut self, calls: &[ToolCall]) -> Result<Called, Stop> {
        let fates = self.fates(calls);
        let made = calls.iter().zip(&fates).filter(|(_, fate)| **fate == Fate::Made).map(|(call, _)| call);
        self.write_intents(made.collect()).await?;
        let (sender, mut progress) = Progress::queue();
        let mut results: Vec<Option<ToolResult>> = vec![None; calls.len()];
        for call in calls {
            let (id, tool, input) = (call.id.clone(), call.tool.clone(), brief(&call.input));
            self.watcher.watch(Event::CallStarted { id, tool, input });
        }
        let mut pending: FuturesUnordered<_> = calls
            .iter()
            .zip(&fates)
            .enumerate()
            .map(|(at, (call, fate))| self.call(at, call, *fate, Progress::of_call(&call.id, &sender)))
            .collect();

        let all = async {
            loop {
                tokio::select! {
                    biased;
                    Some(Said { id, message }) = progress.recv() => self.watcher.watch(Event::CallProgress { id, message }),
                    finished = pending.next() => match finished {
                        Some((at, Ok(result))) => results[at] = Some(result),
                        Some((_, Err(error))) => break Err(Stop::Unwritten(error)),
                        None => break Ok(()),
                    },
                }
            }
        };
        let stopped = self.unless_stopped(all).await.and_then(|all| all);
        drop(pending);
        self.remember(calls, &fates, &results);
        let close = |(call, result): (&ToolCall, Option<ToolResult>)| result.unwrap_or_else(|| self.cut_off(call));
        let results = calls.iter().zip(results).map(close).collect();
        Ok((results, stopped.and_then(|()| self.go_on_after(&fates))))
    }

    /// Decides which of the calls are made.
    fn fates(&mut self, calls: &[ToolCall]) -> Vec<Fate> {
        let stale: Vec<bool> = calls.iter().map(|call| self.circles.is_stale(call)).collect();
        let mut left = self.account.spend_calls(stale.iter().filter(|stale| !**stale).count());
        let decide = |stale: bool| {
            if stale {
                return Fate::Stale;
            }
            left = match left.checked_sub(1) {
                Some(left) => left,
                None => return Fate::TooMany,
            };
            Fate::Made
        };
        stale.into_iter().map(decide).collect()
    }

    async fn call(
        &self,
        at: usize,
        call: &ToolCall,
        fate: Fate,
        progress: Progress,
    ) -> (usize, Result<ToolResult, StoreError>) {
        let result = match fate {
            Fate::Made => {
                let result = self.toolbox.call(call, &progress).await;
                if let Err(error) = self.write_result(call, &result).await {
                    return (at, Err(error));
                }
                result
            }
            Fate::Stale => ToolResult::failed(
                FailureKind::Skipped,
                format!(
                    "not called: with this input it gave the same result {REPEATS} times; go another way, or answer"
                ),
            ),
            Fate::TooMany => ToolResult::failed(FailureKind::Skipped, format!("not called: {}", Spent::Calls)),
        };
        self.watcher.watch(Event::finished(&call.id, &call.tool, &result));
        (at, Ok(result))
    }

    fn remember(&mut self, calls: &[ToolCall], fates: &[Fate], results: &[Option<ToolResult>]) {
        for ((call, fate), result) in calls.iter().zip(fates).zip(results) {
            if let (Fate::Made, Some(result)) = (fate, result) {
                self.circles.remember(call, result, self.toolbox.is_read_only(&call.tool));
            }
        }
    }

    fn go_on_after(&mut self, fates: &[Fate]) -> Result<(), Stop> {
        let made = fates.iter().filter(|fate| **fate == Fate::Made).count();
        if fates.contains(&Fate::TooMany) {
            return Err(Stop::Spent(Spent::Calls));
        }
        if self.circles.is_circling(made) { Err(Stop::Circling) } else { Ok(()) }
    }

    pub(super) fn tell_of_dropped_calls(&mut self, dropped: usize) {
        if dropped > 0 {
            self.tell(&format!(
                "{dropped} further calls of your reply were dropped: one reply may have {CALLS_PER_REPLY}; \
                 what is still wanted can be called in the next"
            ));
        }
    }

    /// The result of a call that was dropped with the run.
    fn cut_off(&self, call: &ToolCall) -> ToolResult {
        let result = ToolResult::failed(FailureKind::Cancelled, CUT_OFF);
        self.watcher.watch(Event::finished(&call.id, &call.tool, &result));
        result
    }
}
