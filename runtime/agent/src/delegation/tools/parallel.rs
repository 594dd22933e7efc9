//! `parallel_task`: several tasks at the same time. One that fails takes no other with it, unless that is wanted.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Asking, fitted, read, task};
use crate::delegation::{engage::Way, refusal::Refusal, report::Report};
use crate::{FailureKind, ToolResult};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Read one by one: a bad one is a bad result, not a bad call.
    tasks: Vec<Value>,
    #[serde(default)]
    on_failure: OnFailure,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OnFailure {
    #[default]
    Continue,
    Stop,
}

type Done = Result<Arc<Report>, Refusal>;

/// One call.
pub(super) async fn call(asking: Asking<'_>, input: &str) -> Result<ToolResult, Refusal> {
    let results = all(asking, input).await?;
    let succeeded = results.iter().filter(|done| is_success(done)).count();
    let share = asking.hub.limits.answer / results.len().max(1);
    let text = fitted(share, |room| {
        let shown: Vec<Value> = results.iter().map(|done| show(done, room)).collect();
        json!({ "success": succeeded == results.len(), "succeeded": succeeded, "results": shown }).to_string()
    });
    Ok(if succeeded > 0 { ToolResult::done(text) } else { ToolResult::failed(FailureKind::Failed, text) })
}

/// Has all tasks done, so many at a time, and gives the results in the order of the tasks.
async fn all(asking: Asking<'_>, input: &str) -> Result<Vec<Done>, Refusal> {
    let Asking { hub, place, .. } = asking;
    let Input { tasks, on_failure } = read(input)?;
    let most = hub.limits.per_call;
    if tasks.is_empty() {
        return Err(Refusal::invalid("tasks must hold at least one task"));
    }
    if tasks.len() > most {
        let text = format!("tasks holds {}, and {most} are the most for one call; make several calls", tasks.len());
        return Err(Refusal::denied("task_limit_exceeded", text));
    }
    let (canceller, cancellation) = place.seat()?.cancellation.branch();
    let one = |task: Value| {
        let (canceller, cancellation) = (canceller.clone(), cancellation.clone());
        async move {
            if cancellation.is_cancelled() {
                return Err(stopped());
            }
            let done = one(asking, task, cancellation).await;
            if let Err(refusal) = &done {
                hub.audit_refusal(place, "parallel_task", refusal).await;
            }
            if on_failure == OnFailure::Stop && !is_success(&done) {
                canceller.cancel();
            }
            done
        }
    };
    let at_a_time = usize::try_from(hub.limits.live).unwrap_or(usize::MAX).max(1);
    Ok(stream::iter(tasks).map(one).buffered(at_a_time).collect().await)
}

async fn one(asking: Asking<'_>, input: Value, cancellation: crate::Cancellation) -> Done {
    let wanted = read::<task::Input>(&input.to_string())?.wanted(Way::Unruled("parallel_task"))?;
    if wanted.background {
        return Err(Refusal::invalid("tasks of one call are waited for; use `task` for one in the background"));
    }
    task::done(asking, wanted, cancellation).await
}

fn is_success(done: &Done) -> bool {
    done.as_ref().is_ok_and(|report| report.is_success())
}

fn stopped() -> Refusal {
    let text = "not begun: another task of the call failed, and `on_failure` is `stop`".to_owned();
    Refusal { code: "stopped", kind: FailureKind::Skipped, text }
}

fn show(done: &Done, room: usize) -> Value {
    match done {
        Ok(report) => Value::Object(report.envelope(room)),
        Err(refusal) => {
            let mut shown = Map::new();
            shown.insert("success".to_owned(), json!(false));
            shown.insert("error".to_owned(), json!(refusal.text));
            shown.insert("error_type".to_owned(), json!(refusal.code));
            Value::Object(shown)
        }
    }
}
