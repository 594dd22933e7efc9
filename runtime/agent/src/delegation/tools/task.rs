//! `task`: hands a task to another agent and gives its answer. Understands every spelling that models were
//! taught for it.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Asking, fitted, read, seconds};
use crate::delegation::{
    Delegation, PoolKey,
    engage::{Lower, Way},
    keep::Keep,
    order::{Engaged, Order},
    refusal::Refusal,
    report::Report,
    work::Underway,
};
use crate::prompt::fill;
use crate::{Cancellation, Recruit, Seat, Session, SessionKey, ToolResult};

/// The longest task, in characters.
const PROMPT: usize = 50_000;

/// What an agent is asked that is not named.
const USUAL: &str = "general";

/// The input, in all spellings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    #[serde(alias = "task_prompt")]
    prompt: Option<String>,
    #[serde(rename = "agent", alias = "type", alias = "agent_name", alias = "subagent_type")]
    name: Option<String>,
    description: Option<String>,
    timeout: Option<f64>,
    persist: Option<bool>,
    background: Option<bool>,
    thoroughness: Option<String>,
    max_steps: Option<u32>,
}

/// What is wanted, when the input makes sense.
#[derive(Clone)]
pub(super) struct Wanted {
    agent: String,
    way: Way,
    prompt: String,
    description: String,
    lower: Lower,
    persist: bool,
    pub(super) background: bool,
}

/// What the model is shown of the input: one spelling, and what is often needed.
pub(super) fn properties() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "prompt": text,
        "agent": { "type": "string", "description": "default: general" },
        "description": { "type": "string", "description": "in a few words, for people" },
        "background": { "type": "boolean", "description": "do not wait; see task_result" },
        "timeout": { "type": "number", "description": "seconds" },
    })
}

impl Input {
    /// Holds the input against its limits, before anything is done.
    pub(super) fn wanted(self, way: Way) -> Result<Wanted, Refusal> {
        let prompt = self.prompt.as_deref().map(str::trim).unwrap_or_default();
        if prompt.is_empty() {
            return Err(Refusal::invalid("prompt must say what is to be done"));
        }
        let length = prompt.chars().count();
        if length > PROMPT {
            return Err(Refusal::invalid(format!("prompt has {length} characters, and {PROMPT} are the most")));
        }
        if self.max_steps == Some(0) {
            return Err(Refusal::invalid("max_steps must be at least 1"));
        }
        let timeout = self.timeout.map(seconds).transpose()?;
        let thorough = self.thoroughness.as_deref().map(thoroughness).transpose()?.flatten();
        let time = timeout.into_iter().chain(thorough).min();
        let agent = self.name.as_deref().map(str::trim).unwrap_or(USUAL).to_owned();
        let description = self.description.filter(|text| !text.trim().is_empty());
        Ok(Wanted {
            agent,
            way,
            description: description.unwrap_or_else(|| prompt.to_owned()),
            prompt: prompt.to_owned(),
            lower: Lower { time, steps: self.max_steps },
            persist: self.persist.unwrap_or(true),
            background: self.background.unwrap_or(false),
        })
    }
}

/// How long an agent may take that is to be so thorough; it never gets more time than its definition says.
fn thoroughness(word: &str) -> Result<Option<Duration>, Refusal> {
    match word.trim().to_lowercase().as_str() {
        "quick" => Ok(Some(Duration::from_secs(60))),
        "medium" => Ok(Some(Duration::from_secs(300))),
        "very thorough" | "thorough" => Ok(None),
        _ => Err(Refusal::invalid("thoroughness is `quick`, `medium` or `very thorough`")),
    }
}

/// One call.
pub(super) async fn call(asking: Asking<'_>, input: &str) -> Result<ToolResult, Refusal> {
    let wanted = read::<Input>(input)?.wanted(Way::Ruled)?;
    if wanted.background {
        return started(asking, wanted).await;
    }
    let cancellation = asking.place.seat()?.cancellation.clone();
    let report = done(asking, wanted, cancellation).await?;
    Ok(show(asking.hub, &report))
}

/// Has a task done and waits for its end.
pub(super) async fn done(
    asking: Asking<'_>,
    wanted: Wanted,
    cancellation: Cancellation,
) -> Result<Arc<Report>, Refusal> {
    let ended = async {
        let (mut underway, _) = begun(asking, wanted, cancellation).await?;
        underway.ended().await
    };
    asking.place.waiting(ended).await
}

/// Has a task begun and does not wait for its end.
async fn started(asking: Asking<'_>, wanted: Wanted) -> Result<ToolResult, Refusal> {
    let seat = asking.place.seat()?;
    asking.hub.check_background(seat)?;
    let (underway, shown) = begun(asking, wanted, seat.cancellation.clone()).await?;
    underway.leave();
    Ok(ToolResult::done(shown.to_string()))
}

/// Has a task begun, and says where.
async fn begun(asking: Asking<'_>, wanted: Wanted, cancellation: Cancellation) -> Result<(Underway, Value), Refusal> {
    let mut tries = 0;
    loop {
        let order = order(asking, wanted.clone(), cancellation.clone()).await?;
        let session = &order.session.id;
        let shown = json!({
            "success": true,
            "status": "started",
            "agent_used": order.recruit.agent.name,
            "agent_id": order.keep.lasts().then_some(session),
            "session_id": session,
            "task_id": order.task,
        });
        let mut underway = asking.hub.start(order);
        match underway.begun().await {
            Ok(_) => return Ok((underway, shown)),
            // Somebody works with an agent that the pool took for idle; then another one is made.
            Err(refusal) if refusal.code == "agent_busy" && tries == 0 => tries += 1,
            Err(refusal) => return Err(refusal),
        }
    }
}

/// Works out who does it, and where.
async fn order(asking: Asking<'_>, wanted: Wanted, cancellation: Cancellation) -> Result<Order, Refusal> {
    let Asking { hub, place, .. } = asking;
    let Wanted { agent, way, prompt, description, lower, persist, background } = wanted;
    let (asker, recruit) = hub.engage(place, &agent, None, way).await?;
    let (account, allowance) = hub.account(&asker, &recruit, lower)?;
    let (session, keep, created) = session(hub, &asker, &agent, &recruit, persist, &description).await?;
    // A session that is asked again is under its own ceiling, too.
    let (asker, recruit) = match created {
        true => (asker, recruit),
        false => hub.engage(place, &agent, session.origin.ceiling.as_ref(), way).await?,
    };
    let engaged = Engaged { asker, recruit, account, allowance };
    let text = fill(&hub.task_message, &[("task", &prompt)]);
    let order = asking.order(&agent, engaged, session, &text);
    Ok(Order { created, keep, doing: Some(prompt), description, background, cancellation, ..order })
}

/// The session of an idle agent that is the very same and was asked from here before, or a new one.
async fn session(
    hub: &Arc<Delegation>,
    asker: &Seat,
    name: &str,
    recruit: &Recruit,
    persist: bool,
    description: &str,
) -> Result<(Session, Keep, bool), Refusal> {
    let SessionKey { tenant, id: parent } = &asker.session;
    let key = PoolKey {
        fingerprint: recruit.fingerprint.as_str().into(),
        tenant: tenant.as_str().into(),
        parent: parent.as_str().into(),
    };
    if let Some(id) = persist.then(|| hub.pool.reserve(&key)).flatten() {
        let session = SessionKey::new(tenant, &id);
        let keep = Keep::pooled(hub, session.clone());
        // Somebody may have deleted it; then the reservation is dropped and with it the entry.
        if let Ok(session) = hub.store.session(&session).await {
            return Ok((session, keep, false));
        }
    }
    let mark = hub.mark(asker, name, &recruit.ceiling)?;
    let description = crate::event::shorten(description);
    let attributes = [("asked", json!(name)), ("fingerprint", json!(mark)), ("description", json!(description))];
    let session = hub.create_session(asker, recruit, Some(parent), attributes).await?;
    if !persist {
        return Ok((session, Keep::Ephemeral, true));
    }
    hub.pool.adopt(key, recruit.agent.origin.plugin.as_deref(), &session.id);
    let keep = Keep::pooled(hub, SessionKey::new(tenant, &session.id));
    Ok((session, keep, true))
}

/// A report as these tools show it.
pub(super) fn show(hub: &Delegation, report: &Report) -> ToolResult {
    let text = fitted(hub.limits.answer, |room| Value::Object(report.envelope(room)).to_string());
    if report.is_success() { ToolResult::done(text) } else { ToolResult::failed(report.kind(), text) }
}
