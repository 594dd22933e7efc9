//! MCP over HTTP: the agents of a tenant as tools. Each request stands alone: nothing is remembered between two of them but
//! the sessions of agents, which answers name.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{
        IntoResponse as _, Response,
        sse::{Event as Sent, KeepAlive, Sse},
    },
};
use futures_util::stream;
use palisade_agent::{Cancellation, Event, Inquiry, Tool, Toolbox, Watcher, Which, strict_json};
use palisade_mcp::{AgentOffer, AgentTool, Answer, Exchange, Hints, Offer, Outline, Runs, VERSIONS, Work};
use serde_json::{Value, json};

use crate::{
    app::App,
    body,
    entry::{Caller, Scope},
    house::AgentCard,
    problem::Problem,
    routes,
    stream::Reader,
};

/// How often a silent answer shows that it is alive.
const ALIVE: Duration = Duration::from_secs(15);
/// How much of a description is passed on.
const DESCRIPTION: usize = 1024;

/// All agents.
pub(super) async fn all(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let agents = agents(&app, &caller).await?;
    answer(&app, &caller, agents, &headers, &body)
}

/// One agent and no other.
pub(super) async fn one(
    State(app): State<App>,
    caller: Caller,
    body::Path(agent): body::Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let agents: Vec<AgentCard> = agents(&app, &caller).await?.into_iter().filter(|card| card.name == agent).collect();
    match agents.is_empty() {
        true => Err(Problem::not_found()),
        false => answer(&app, &caller, agents, &headers, &body),
    }
}

/// The agents that can be asked.
async fn agents(app: &App, caller: &Caller) -> Result<Vec<AgentCard>, Problem> {
    caller.may(Scope::Run)?;
    let agents = app.house().agents(&caller.tenant).await?;
    Ok(agents.into_iter().filter(|card| card.problem.is_none()).collect())
}

fn answer(
    app: &App,
    caller: &Caller,
    agents: Vec<AgentCard>,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Response, Problem> {
    let message = match read(headers, body) {
        Ok(message) => message,
        Err(refused) => return Ok(refused),
    };
    let outline = Outline::of(&message);
    let said = text(headers, "mcp-protocol-version");
    if let Err(refused) = agree(&outline, said.as_deref(), headers, &message) {
        return Ok(refused);
    }
    if !outline.is_request {
        // Notifications say nothing that is remembered, and nobody here has asked anything.
        return Ok(StatusCode::ACCEPTED.into_response());
    }
    let exchange = Exchange::begin(offer(app, caller, agents)?, &message, said.as_deref());
    let is_call = outline.method.as_deref() == Some("tools/call");
    let accepts =
        text(headers, "accept").is_none_or(|kinds| kinds.contains("text/event-stream") || kinds.contains("*/*"));
    Ok(if is_call && accepts { streamed(exchange) } else { whole(exchange) })
}

/// The message, or what is answered to something that is none.
fn read(headers: &HeaderMap, body: &[u8]) -> Result<Value, Response> {
    let is_json = text(headers, "content-type")
        .is_some_and(|kind| kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json"));
    if !is_json {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response());
    }
    match strict_json(body) {
        Ok(message @ Value::Object(_)) => Ok(message),
        Ok(_) => Err(refused(-32600, "a message is one JSON object", &Value::Null)),
        Err(error) => Err(refused(-32700, &format!("this is not JSON: {error}"), &Value::Null)),
    }
}

/// What the headers say has to be what the message says: those on the way look at nothing else.
fn agree(outline: &Outline, said: Option<&str>, headers: &HeaderMap, message: &Value) -> Result<(), Response> {
    let id = &message["id"];
    if let Some(said) = said.filter(|said| !VERSIONS.contains(said)) {
        let text =
            format!("the version `{}` is not spoken here; {} are", palisade_agent::clip(said, 32), VERSIONS.join(", "));
        return Err(refused(-32022, &text, id));
    }
    let pairs = [
        ("mcp-protocol-version", outline.version.as_deref()),
        ("mcp-method", outline.method.as_deref()),
        ("mcp-name", outline.name.as_deref()),
    ];
    for (name, own) in pairs {
        let is_other = text(headers, name).is_some_and(|said| own.is_some_and(|own| own != said));
        // Only messages of the newest version say in themselves what the headers say.
        if is_other && outline.version.is_some() {
            return Err(refused(-32020, &format!("the header `{name}` does not say what the message says"), id));
        }
    }
    Ok(())
}

fn refused(code: i32, text: &str, id: &Value) -> Response {
    let error = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } });
    let mut response = as_json(error.to_string());
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn as_json(text: String) -> Response {
    let mut response = text.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The answer alone.
fn whole(mut exchange: Exchange) -> Response {
    let answer = async move {
        let mut last = None;
        while let Some(message) = exchange.next().await {
            last = Some(message);
        }
        last
    };
    let body = stream::once(async move { Ok::<_, Infallible>(answer.await.unwrap_or_default()) });
    let mut response = Response::new(axum::body::Body::from_stream(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// What is said on the way, and the answer. A client that goes away ends what was begun.
fn streamed(exchange: Exchange) -> Response {
    let events = stream::unfold(exchange, |mut exchange| async move {
        let message = exchange.next().await?;
        Some((Ok::<_, Infallible>(Sent::default().event("message").data(message)), exchange))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)).into_response()
}

fn offer(app: &App, caller: &Caller, agents: Vec<AgentCard>) -> Result<Offer, Problem> {
    let runs: Arc<dyn Runs> = Arc::new(Served { app: app.clone(), caller: caller.clone() });
    let tool = |card: &AgentCard| {
        let description = card.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let description = description.chars().take(DESCRIPTION).collect();
        // Nothing is claimed of them: what a client assumes of a tool without annotations is the worst.
        let hints = Hints { read_only: false, idempotent: false, open_world: true };
        let offer = AgentOffer { name: card.name.clone(), description, hints };
        Arc::new(AgentTool::new(&offer, Arc::clone(&runs))) as Arc<dyn Tool>
    };
    let tools: Vec<Arc<dyn Tool>> = agents.iter().map(tool).collect();
    let toolbox = |tools| Toolbox::new(tools).map_err(|error| Problem::broken(&error));
    Ok(Offer {
        tools: toolbox(Vec::new())?,
        agents: toolbox(tools)?,
        hints: BTreeMap::new(),
        instructions: "The agents of a Palisade server. Each works on a task with its own model and its own sandboxed \
                       tools, and gives its answer; below it stands the session to go on with."
            .to_owned(),
    })
}

/// Lets a tenant's agents work.
struct Served {
    app: App,
    caller: Caller,
}

#[async_trait]
impl Runs for Served {
    async fn run(&self, work: Work, watcher: Arc<dyn Watcher>, cancellation: Cancellation) -> Answer {
        let session = match work.session {
            Some(id) => Which::Known(id),
            None => {
                let attributes = BTreeMap::from([("client".to_owned(), "mcp".into())]);
                Which::New { id: None, name: None, attributes }
            }
        };
        let inquiry = Inquiry { agent: work.agent, session, text: work.task, panels: None };
        let started = match routes::admitted(&self.app, &self.caller, inquiry).await {
            Ok(started) => started,
            Err(problem) => return Answer { text: Err(problem.detail().to_owned()), session: None },
        };
        // Also if this future is dropped.
        let _ends = Ends(Arc::clone(&started.live));
        let mut events = Reader::of(self.app.clone(), &self.caller.tenant, &started.run);
        let telling = async {
            while let Some((_, text)) = events.next().await {
                if let Ok(event) = serde_json::from_str::<Event>(&text) {
                    watcher.watch(event);
                }
            }
            started.live.ended().await
        };
        let concluded = tokio::select! {
            concluded = telling => concluded,
            () = cancellation.cancelled() => {
                started.live.cancel();
                started.live.ended().await
            }
        };
        let text = match concluded {
            Ok(concluded) => match concluded.failure {
                None => Ok(concluded.answer),
                Some(why) => Err(why),
            },
            Err(problem) => Err(problem.detail().to_owned()),
        };
        Answer { text, session: Some(started.session.id.clone()) }
    }
}

struct Ends(Arc<crate::runs::Live>);

impl Drop for Ends {
    fn drop(&mut self) {
        // One that is over does not mind.
        self.0.cancel();
    }
}
