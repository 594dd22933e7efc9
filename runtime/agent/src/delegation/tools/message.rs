//! `agents_message`: a message to an agent in a session that goes on, waited for or not.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Asking, fitted, read, seconds};
use crate::delegation::{
    Delegation,
    engage::{Lower, Way, is_with},
    order::{Engaged, Order, WhenBusy},
    refusal::Refusal,
    report::Report,
    work::Begun,
};
use crate::{Listing, Recruit, Seat, Session, SessionKey, ToolResult};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    agent_id: String,
    content: String,
    session: Option<String>,
    #[serde(default)]
    mode: Mode,
    timeout: Option<f64>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Sync,
    Async,
}

/// How many of the latest sessions are looked at for one of this very agent.
const LOOKED_AT: usize = 32;

/// How long an answer is waited for. The agent goes on after it.
const WAIT: Duration = Duration::from_secs(300);

/// What the model is shown of the input.
pub(super) fn properties() -> Value {
    let session = "latest-or-create (default), latest, create, or a session id";
    json!({
        "agentId": { "type": "string" },
        "content": { "type": "string" },
        "session": { "type": "string", "description": session },
        "mode": { "enum": ["sync", "async"] },
        "timeout": { "type": "number", "description": "seconds to wait; it goes on afterwards" },
    })
}

/// One call.
pub(super) async fn call(asking: Asking<'_>, input: &str) -> Result<ToolResult, Refusal> {
    let input: Input = read(input)?;
    let (mode, wait) = (input.mode, input.timeout.map(seconds).transpose()?.unwrap_or(WAIT));
    let Asking { hub, place, .. } = asking;
    let order = order(asking, input).await?;
    let told = Told::of(&order, mode);
    let since = Instant::now();
    let mut underway = hub.start(order);
    match (underway.begun().await?, mode) {
        (Begun::Queued, _) => {
            underway.leave();
            return Ok(told.result("queued", []));
        }
        (Begun::Started(_), Mode::Async) => {
            underway.leave();
            return Ok(told.result("started", []));
        }
        (Begun::Started(_), Mode::Sync) => {}
    }
    match place.waiting(tokio::time::timeout(wait, underway.ended())).await {
        Ok(report) => told.complete(hub, &*report?, since.elapsed()),
        // It ended at the very last moment.
        Err(_elapsed) if !hub.active.leave(&told.response) => {
            told.complete(hub, &*underway.ended().await?, since.elapsed())
        }
        Err(_elapsed) => {
            underway.leave();
            let message = format!("no answer within {} seconds; the agent goes on, see task_result", wait.as_secs());
            Ok(told.result("timeout", [("timeoutSeconds", json!(wait.as_secs())), ("message", json!(message))]))
        }
    }
}

/// Works out who is asked, and in which session.
async fn order(asking: Asking<'_>, input: Input) -> Result<Order, Refusal> {
    let Asking { hub, place, .. } = asking;
    let (name, content) = (input.agent_id.trim(), input.content.trim());
    if content.is_empty() {
        return Err(Refusal::invalid("content must not be empty"));
    }
    let seat = place.seat()?;
    if seat.messages >= hub.limits.messages {
        return Err(Refusal::denied(
            "message_limit_exceeded",
            format!(
                "{} messages follow each other in this chain, and that is the most; answer with what you know, or use \
                 `task`",
                seat.messages
            ),
        ));
    }
    hub.check_background(seat)?;
    let (asker, recruit) = hub.engage(place, name, None, Way::Unruled("agents_message")).await?;
    if input.mode == Mode::Sync && seat.chain.contains(&recruit.agent.name) {
        let text = format!("agent `{name}` waits for this answer itself; use mode `async`, or ask another agent");
        return Err(Refusal::session(text));
    }
    let session = input.session.as_deref().map(str::trim);
    let found = find(hub, &asker, &recruit, session).await?;
    let created = found.is_none();
    let (session, asker, recruit) = match found {
        Some(session) => {
            let (asker, recruit) =
                hub.engage(place, name, session.origin.ceiling.as_ref(), Way::Unruled("agents_message")).await?;
            (session, asker, recruit)
        }
        None => {
            // Nobody's child: the user may go on with it, under the ceiling it was begun with.
            let attributes = [("askedBy", json!(asker.session.id))];
            (hub.create_session(&asker, &recruit, None, attributes).await?, asker, recruit)
        }
    };
    let (account, allowance) = hub.account(&asker, &recruit, Lower::default())?;
    let (messages, is_async) = (asker.messages + 1, input.mode == Mode::Async);
    let engaged = Engaged { asker, recruit, account, allowance };
    Ok(Order {
        created,
        messages,
        background: is_async,
        when_busy: WhenBusy::Queue,
        calls_back: is_async,
        ..asking.order(name, engaged, session, content)
    })
}

/// The session that is meant; nothing if a new one is.
async fn find(
    hub: &Delegation,
    asker: &Seat,
    recruit: &Recruit,
    which: Option<&str>,
) -> Result<Option<Session>, Refusal> {
    match which {
        Some("") => Err(Refusal::invalid("session must not be empty")),
        Some("create") => Ok(None),
        None | Some("latest-or-create") => latest(hub, asker, recruit).await,
        Some("latest") => match latest(hub, asker, recruit).await? {
            Some(session) => Ok(Some(session)),
            None => Err(Refusal::session("No existing session for agent")),
        },
        Some(id) => {
            let session = hub.store.session(&SessionKey::new(&asker.session.tenant, id)).await?;
            // What an agent was told by another is nobody else's.
            let parent = session.origin.parent.as_ref();
            if parent.is_some_and(|parent| *parent != asker.session.id) {
                return Err(Refusal::session("Session not found"));
            }
            if !is_with(&session, &recruit.agent) {
                return Err(Refusal::session("Session does not belong to this agent"));
            }
            Ok(Some(session))
        }
    }
}

/// The most recently updated session of an agent in the folder that is worked in.
async fn latest(hub: &Delegation, asker: &Seat, recruit: &Recruit) -> Result<Option<Session>, Refusal> {
    let listing = Listing {
        tenant: asker.session.tenant.clone(),
        agent: Some(recruit.agent.name.clone()),
        workspace: hub.workspace(asker).await,
        limit: LOOKED_AT,
        ..Listing::default()
    };
    let sessions = hub.store.sessions(&listing).await?;
    Ok(sessions.into_iter().find(|session| is_with(session, &recruit.agent)))
}

/// What every result says.
struct Told {
    response: String,
    shown: Map<String, Value>,
}

impl Told {
    fn of(order: &Order, mode: Mode) -> Self {
        let session = &order.session;
        let mut shown = Map::new();
        let mut put = |name: &str, value: Value| drop(shown.insert(name.to_owned(), value));
        put("mode", json!(if mode == Mode::Sync { "sync" } else { "async" }));
        put("status", Value::Null);
        put("agentId", json!(order.recruit.agent.name));
        put("sessionId", json!(session.id));
        put("sessionName", json!(session.name.as_ref().unwrap_or(&session.id)));
        put("created", json!(order.created));
        put("responseId", json!(order.task));
        if !order.recruit.cut.is_empty() {
            put("cut", json!(order.recruit.cut));
        }
        Self { response: order.task.clone(), shown }
    }

    fn with<const N: usize>(&self, status: &str, more: [(&str, Value); N]) -> String {
        let mut shown = self.shown.clone();
        shown.insert("status".to_owned(), json!(status));
        shown.extend(more.map(|(name, value)| (name.to_owned(), value)));
        Value::Object(shown).to_string()
    }

    fn result<const N: usize>(&self, status: &str, more: [(&str, Value); N]) -> ToolResult {
        ToolResult::done(self.with(status, more))
    }

    /// An answer, or why there is none.
    fn complete(&self, hub: &Delegation, report: &Report, took: Duration) -> Result<ToolResult, Refusal> {
        if !report.is_success() {
            let text = report.words(hub.limits.answer / 4);
            return Err(Refusal { kind: report.kind(), ..Refusal::session(text) });
        }
        let calls: Vec<Value> = report
            .calls
            .iter()
            .map(|(name, took)| json!({ "name": name, "durationMs": milliseconds(*took) }))
            .collect();
        let text = fitted(hub.limits.answer, |room| {
            self.with(
                "complete",
                [
                    ("response", json!(report.words(room))),
                    ("truncated", json!(report.answer.len() > room)),
                    ("durationMs", json!(milliseconds(took))),
                    ("toolCallCount", json!(calls.len())),
                    ("toolCalls", json!(calls)),
                    ("thinkingText", json!(crate::clip(&report.thinking, room / 4))),
                ],
            )
        });
        Ok(ToolResult::done(text))
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
