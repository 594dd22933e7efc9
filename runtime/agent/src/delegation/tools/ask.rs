//! `agent_ask`: another question to an agent that was given a task before. It has the rights that it has now,
//! and none that it had not then.

use serde::Deserialize;
use serde_json::Value;

use super::{Asking, read, task};
use crate::delegation::{
    Reserve,
    engage::{Lower, Way},
    keep::Keep,
    order::{Engaged, Order},
    refusal::Refusal,
};
use crate::{FailureKind, SessionKey, StoreError, ToolResult};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(alias = "agentId", alias = "session_id")]
    agent_id: String,
    #[serde(alias = "prompt", alias = "content")]
    message: String,
}

/// One call.
pub(super) async fn call(asking: Asking<'_>, input: &str) -> Result<ToolResult, Refusal> {
    let Input { agent_id, message } = read(input)?;
    let message = message.trim();
    if message.is_empty() {
        return Err(Refusal::invalid("message must not be empty"));
    }
    let order = order(asking, agent_id.trim(), message).await?;
    let mut underway = asking.hub.start(order);
    let ended = async {
        underway.begun().await?;
        underway.ended().await
    };
    let report = asking.place.waiting(ended).await?;
    Ok(task::show(asking.hub, &report))
}

async fn order(asking: Asking<'_>, agent_id: &str, message: &str) -> Result<Order, Refusal> {
    let Asking { hub, place, .. } = asking;
    let seat = place.seat()?;
    let key = SessionKey::new(&seat.session.tenant, agent_id);
    let session = match hub.store.session(&key).await {
        Ok(session) if session.origin.parent.as_deref() == Some(seat.session.id.as_str()) => session,
        // Whose it is is nobody else's business.
        Ok(_) | Err(StoreError::NoSession(_)) => return Err(unknown(agent_id)),
        Err(error) => return Err(error.into()),
    };
    let stored = session.origin.ceiling.clone().unwrap_or_else(|| seat.ceiling.clone());
    let asked = |name: &str| session.attributes.get(name).and_then(Value::as_str);
    let name = asked("asked").unwrap_or(&session.agent).to_owned();
    let (asker, recruit) = hub.engage(place, &name, Some(&stored), Way::Ruled).await?;
    if asked("fingerprint") != Some(hub.mark(&asker, &name, &stored)?.as_str()) {
        return Err(Refusal::denied(
            "definition_changed",
            format!(
                "agent `{}` is not what it was when it was asked first: its definition, its tools or its model have \
                 changed; start anew with `task`",
                session.agent
            ),
        ));
    }
    let (account, allowance) = hub.account(&asker, &recruit, Lower::default())?;
    let keep = match hub.pool.reserve_session(&key.tenant, &key.id) {
        Reserve::Reserved => Keep::pooled(hub, key),
        Reserve::Unknown => Keep::Stays,
        Reserve::Busy => {
            let text = "this agent is at work; wait for its answer before you ask it again".to_owned();
            return Err(Refusal { code: "agent_busy", kind: FailureKind::Failed, text });
        }
    };
    let engaged = Engaged { asker, recruit, account, allowance };
    let doing = Some(message.to_owned());
    Ok(Order { keep, doing, ..asking.order(&name, engaged, session, message) })
}

fn unknown(agent_id: &str) -> Refusal {
    let text = format!(
        "you have asked no agent with the agent_id `{}`; `task` gives one with its result",
        crate::clip(agent_id, 128)
    );
    Refusal { code: "agent_not_found", kind: FailureKind::InvalidInput, text }
}
