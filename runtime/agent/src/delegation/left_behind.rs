//! What a process that is gone has left behind: runs of agents that were asked, and somebody who still expects an answer.

use std::{collections::HashSet, sync::PoisonError};

use serde_json::{Value, json};

use super::Delegation;
use crate::{AuditRecord, Ending, RunEnd, RunState, SessionKey, StoreError};

/// How many of the last audit records are looked at.
const LOOKED_AT: usize = 512;

/// What the one that asked is told.
const INTERRUPTED: &str = "interrupted: the process that it ran in has ended, and how far it came is not known; look at \
                           what it was to do before you ask again";

impl Delegation {
    /// Ends the runs below a session that were left behind, once in this process. Whoever did not wait for one is told.
    pub(super) async fn end_left_behind(&self, session: &SessionKey) -> Result<(), StoreError> {
        if !self.tended.lock().unwrap_or_else(PoisonError::into_inner).insert(session.clone()) {
            return Ok(());
        }
        let mut spawns = self.store.audits(&session.tenant, None, LOOKED_AT).await?;
        spawns.retain(|record| record.kind == "spawn");
        let mut above = HashSet::from([session.id.clone()]);
        // Who asks was asked before.
        for AuditRecord { session: child, run, detail, .. } in spawns.into_iter().rev() {
            let said = |name: &str| detail.get(name).and_then(Value::as_str);
            let (Some(child), Some(run), Some(parent)) = (child, run, said("parent")) else { continue };
            if !above.contains(parent) || !self.end_if_left_behind(session, parent, &child, &run, &detail).await? {
                continue;
            }
            above.insert(child);
        }
        Ok(())
    }

    /// Says whether it was.
    async fn end_if_left_behind(
        &self,
        session: &SessionKey,
        parent: &str,
        child: &str,
        run: &str,
        detail: &Value,
    ) -> Result<bool, StoreError> {
        let tenant = &session.tenant;
        let record = match self.store.run(tenant, run).await {
            Ok(record) => record,
            Err(StoreError::NoRun(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        if !matches!(&record.state, RunState::Open { owner } if *owner != self.owner) {
            return Ok(false);
        }
        let lease = match self.store.claim(tenant, run, &self.owner, self.lease).await {
            Ok(lease) => lease,
            // It is alive, or was ended by somebody else meanwhile.
            Err(StoreError::Busy { .. } | StoreError::NoRun(_) | StoreError::NoSession(_) | StoreError::Fenced(_)) => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let key = SessionKey::new(tenant, child);
        let audited = self.audit(&key, Some(run), "left_behind", json!({ "parent": parent })).await;
        // Before it ends: who is gone before that tries again.
        let calls_back = detail.get("calls_back").and_then(Value::as_bool) == Some(true);
        if let Some(task) = detail.get("task").and_then(Value::as_str).filter(|_| calls_back && parent == session.id) {
            self.enqueue_answer(session, task, child, INTERRUPTED, None).await?;
        }
        self.store.end(&lease, &RunEnd { ending: Ending::Cancelled, spending: record.spending }).await?;
        audited.map(|()| true)
    }
}
