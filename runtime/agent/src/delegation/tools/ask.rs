//! `agent_ask`: another question to an agent that was given a task before. It has the rights that it has now,
//! and none that it had not then.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::{read, task};
use crate::delegation::{
    Delegation, Reserve,
    engage::{Lower, Way},
    fresh,
    keep::Keep,
    order::{Order, WhenBusy},
    place::Place,
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
pub(super) async fn call(
    hub: &Arc<Delegation>,
    place: &Arc<Place>,
    input: &str,
    call: &str,
) -> Result<ToolResult, Refusal> {
    let Input { agent_id, message } = read(input)?;
    let message = message.trim();
    if message.is_empty() {
        return Err(Refusal::invalid("message must not be empty"));
    }
    let order = order(hub, place, agent_id.trim(), message, call).await?;
    let mut underway = hub.start(order);
    let ended = async {
        underway.begun().await?;
        underway.ended().await
    };
    let report = place.waiting(ended).await?;
    Ok(task::show(hub, &report))
}

async fn order(
    hub: &Arc<Delegation>,
    place: &Arc<Place>,
    agent_id: &str,
    message: &str,
    call: &str,
) -> Result<Order, Refusal> {
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
    let (asker, recruit) = hub.engage(place, &name, Some(&stored), Way::Ruled)?;
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
    Ok(Order {
        task: fresh::task_id(),
        name,
        place: Arc::clone(place),
        messages: asker.messages,
        cancellation: asker.cancellation.clone(),
        asker,
        recruit,
        session,
        created: false,
        keep,
        call: call.to_owned(),
        text: message.to_owned(),
        doing: Some(message.to_owned()),
        description: message.to_owned(),
        account,
        allowance,
        background: false,
        when_busy: WhenBusy::Refuse,
        calls_back: false,
    })
}

fn unknown(agent_id: &str) -> Refusal {
    let text = format!(
        "you have asked no agent with the agent_id `{}`; `task` gives one with its result",
        crate::clip(agent_id, 128)
    );
    Refusal { code: "agent_not_found", kind: FailureKind::InvalidInput, text }
}
