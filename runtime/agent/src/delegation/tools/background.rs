//! `task_cancel` and `task_result`: work in the background. An agent reaches only what it has asked for itself.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::json;

use super::{read, seconds, task};
use crate::delegation::{Delegation, Handle, Piece, place::Place, refusal::Refusal};
use crate::{FailureKind, ToolResult};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(alias = "responseId")]
    task_id: String,
    timeout: Option<f64>,
}

/// For how long the end of cancelled work is waited for.
const SOON: Duration = Duration::from_secs(5);

/// Ends a piece of work.
pub(super) async fn cancel(hub: &Arc<Delegation>, place: &Place, input: &str) -> Result<ToolResult, Refusal> {
    let Input { task_id, .. } = read(input)?;
    let mut piece = find(hub, place, &task_id)?;
    let was_over = piece.handle.report.borrow().is_some();
    piece.handle.cancel();
    let has_ended = tokio::time::timeout(SOON, piece.handle.ended()).await.is_ok();
    let status = match (was_over, has_ended) {
        (true, _) => "was over already",
        (false, true) => "cancelled",
        (false, false) => "cancelling",
    };
    Ok(ToolResult::done(json!({ "success": true, "task_id": task_id, "status": status }).to_string()))
}

/// The result of a piece of work, if it is over or will be soon enough.
pub(super) async fn result(hub: &Arc<Delegation>, place: &Place, input: &str) -> Result<ToolResult, Refusal> {
    let Input { task_id, timeout } = read(input)?;
    let mut piece = find(hub, place, &task_id)?;
    let wait = timeout.map(seconds).transpose()?.unwrap_or_default();
    let ended = place.waiting(tokio::time::timeout(wait, piece.handle.ended())).await;
    let Ok(report) = ended else {
        let shown = json!({ "success": true, "status": "running", "task_id": task_id, "agent_used": piece.agent });
        return Ok(ToolResult::done(shown.to_string()));
    };
    let report = report?;
    // It is in the table until the end of its task was seen there, too.
    hub.active.settle(&task_id);
    Ok(task::show(hub, &report))
}

fn find(hub: &Delegation, place: &Place, task_id: &str) -> Result<Piece<Handle>, Refusal> {
    let seat = place.seat()?;
    hub.active.find(task_id, &seat.session.tenant, &seat.session.id).ok_or_else(|| {
        let text = format!(
            "there is no task `{}` of yours in the background; its result may have been given already",
            crate::clip(task_id, 64)
        );
        Refusal { code: "task_not_found", kind: FailureKind::InvalidInput, text }
    })
}
