//! MCP over HTTP: the agents of a tenant as tools, and the tools of each agent. Each request stands alone: nothing is
//! remembered between two of them but the sessions of agents, which answers name.

mod agents;
mod message;
mod underway;

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::{
        IntoResponse as _, Response,
        sse::{Event as Sent, KeepAlive, Sse},
    },
};
use futures_util::stream;
use palisade_agent::{AuditRecord, Cancellation, clip};
use palisade_mcp::{Exchange, Offer, Runs};
use serde_json::{Value, json};

use self::{agents::Served, message::Message, underway::Entered};
use crate::{
    admission::Admitted,
    app::App,
    body,
    entry::{Caller, Scope},
    problem::Problem,
    routes,
};

pub(crate) use self::underway::Underway;

/// How often a silent answer shows that it is alive.
const ALIVE: Duration = Duration::from_secs(15);
/// How much of what a tool is called with is written down.
const INPUT: usize = 1024;
/// What clients of older versions say to be known again.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// What the model on the other side should know.
const AGENTS: &str = "The agents of a Palisade server. Each works on a task with its own model and its own sandboxed tools, \
                      and gives its answer; below it stands the session to go on with.";

/// All agents, as tools.
pub(super) async fn all(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let message = match message(&app, &caller, &headers, &body)? {
        Ok(message) => message,
        Err(response) => return Ok(response),
    };
    let agents = app.house().offered_agents(&caller.tenant).await?;
    let runs: Arc<dyn Runs> = Arc::new(Served { app: app.clone(), caller: caller.clone() });
    let offer = Offer::of_agents(AGENTS, &agents, &runs).map_err(|error| Problem::broken(&error))?;
    let call = Call::of(&app, &caller, &message);
    Ok(answer(&message, offer, call).await)
}

/// The tools of one agent.
pub(super) async fn one(
    State(app): State<App>,
    caller: Caller,
    body::Path(agent): body::Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let message = match message(&app, &caller, &headers, &body)? {
        Ok(message) => message,
        Err(response) => return Ok(response),
    };
    let mut call = Call::of(&app, &caller, &message);
    let offer = app.house().offered_tools(&caller.tenant, &agent).await?;
    let called = message.outline.name.as_deref().filter(|_| message.is_call());
    if let Some(tool) = called.filter(|name| offer.tools.specs().iter().any(|spec| spec.name == **name)) {
        // A call takes the place of a run, so that as much is at work as may be, of each tenant its share.
        let admitting = app.admission().admit(&caller.tenant, routes::share(caller.quotas));
        call.place = tokio::select! {
            place = admitting => Some(place?),
            () = call.cancelled.cancelled() => return Ok(StatusCode::NO_CONTENT.into_response()),
        };
        write_down(&app, &caller, &agent, tool, &message.value["params"]["arguments"]).await?;
    }
    Ok(answer(&message, offer, call).await)
}

/// A request, or what is answered to anything else.
fn message(app: &App, caller: &Caller, headers: &HeaderMap, body: &[u8]) -> Result<Result<Message, Response>, Problem> {
    caller.may(Scope::Run)?;
    let message = match Message::read(headers, body) {
        Ok(message) => message,
        Err(refused) => return Ok(Err(*refused)),
    };
    if message.outline.is_request {
        return Ok(Ok(message));
    }
    if let (Some("notifications/cancelled"), Some(session)) = (message.outline.method.as_deref(), &message.session) {
        let request = &message.value["params"]["requestId"];
        app.underway().end(&known(caller, session, request));
    }
    // Whatever else is said is not remembered, and nobody here has asked anything.
    Ok(Err(StatusCode::ACCEPTED.into_response()))
}

fn known(caller: &Caller, session: &str, request: &Value) -> underway::Known {
    (Arc::clone(&caller.tenant), caller.key.clone(), session.to_owned(), request.to_string())
}

/// A call of a tool that nobody would know of is not made: it belongs to no run, which would have it written down.
async fn write_down(app: &App, caller: &Caller, agent: &str, tool: &str, input: &Value) -> Result<(), Problem> {
    let detail = json!({ "agent": agent, "tool": tool, "input": clip(&input.to_string(), INPUT), "key": caller.key });
    let (tenant, kind) = (caller.tenant.to_string(), "call".to_owned());
    let record = AuditRecord { tenant, at: None, session: None, run: None, kind, detail };
    Ok(app.store().audit(&record).await?)
}

/// What a request holds until it is answered.
struct Call {
    cancelled: Cancellation,
    place: Option<Admitted>,
    _entered: Option<Entered>,
}

impl Call {
    fn of(app: &App, caller: &Caller, message: &Message) -> Self {
        let session = message.session.as_deref().filter(|_| !message.is_newest());
        let entered = session.map(|session| app.underway().enter(known(caller, session, &message.value["id"])));
        let (entered, cancelled) = entered.unzip();
        Self { cancelled: cancelled.unwrap_or_else(Cancellation::never), place: None, _entered: entered }
    }
}

async fn answer(message: &Message, offer: Offer, call: Call) -> Response {
    let exchange = Exchange::begin(offer, &message.value, message.said.as_deref());
    if message.is_call() && message.streams {
        return streamed(exchange, call);
    }
    let mut response = whole(exchange, call, message.is_newest()).await;
    if message.outline.method.as_deref() == Some("initialize") && response.status() == StatusCode::OK {
        // It stands for nothing that is kept: with it, a client says later which of its calls it wants ended.
        let session = uuid::Uuid::new_v4().simple().to_string();
        response.headers_mut().extend(HeaderValue::try_from(session).ok().map(|session| (SESSION, session)));
    }
    response
}

/// The answer alone.
async fn whole(mut exchange: Exchange, call: Call, is_newest: bool) -> Response {
    let last = async {
        let mut last = None;
        while let Some(message) = exchange.next().await {
            last = Some(message);
        }
        last
    };
    let last = tokio::select! {
        last = last => last,
        () = call.cancelled.cancelled() => None,
    };
    match last {
        Some(answer) if is_newest => message::as_json(message::status(&answer), answer),
        Some(answer) => message::as_json(StatusCode::OK, answer),
        // Whoever has cancelled a request does not wait for an answer.
        None => StatusCode::NO_CONTENT.into_response(),
    }
}

/// What is said on the way, and the answer. A client that goes away ends what was begun.
fn streamed(exchange: Exchange, call: Call) -> Response {
    let events = stream::unfold((exchange, call), |(mut exchange, call)| async move {
        let message = tokio::select! {
            message = exchange.next() => message?,
            () = call.cancelled.cancelled() => return None,
        };
        Some((Ok::<_, Infallible>(Sent::default().event("message").data(message)), (exchange, call)))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)).into_response()
}
