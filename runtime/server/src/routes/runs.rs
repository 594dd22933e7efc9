//! Runs: an agent works on something, is watched, asked about, ended.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::IntoResponse,
};
use palisade_agent::{Answer, Ending, Inquiry, Panel, Panels, RunRecord, RunState, SessionKey, Spending, Which};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    app::App,
    body,
    description::{
        failures::{Absent, Body, Events, Invalid, Known, Taken, Unfit},
        records,
    },
    entry::{Caller, Scope},
    page::Wanted,
    problem::Problem,
    stream,
};

/// What an agent is to do.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewRun)]
pub(super) struct New {
    /// The agent.
    #[schema(example = "explore")]
    agent: String,
    /// What to do, in words.
    #[schema(example = "What is here?")]
    input: String,
    /// An id, `create` or `latest-or-create`; a new session if this is left out.
    #[serde(default)]
    session: Option<String>,
    /// What a new session is called.
    #[serde(default)]
    session_name: Option<String>,
    /// What the user has open, in the place of what was said of that before.
    #[serde(default)]
    #[schema(value_type = Option<Vec<records::Panel>>, max_items = 32)]
    panels: Option<Vec<Panel>>,
    /// Whether the answer is waited for.
    #[serde(default)]
    wait: bool,
}

/// A run.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Run {
    id: String,
    session: String,
    agent: String,
    model: String,
    /// `working` or `ended`.
    #[schema(value_type = String)]
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<records::Ending>)]
    ending: Option<Ending>,
    started_at: jiff::Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<jiff::Timestamp>,
    #[schema(value_type = records::Spending)]
    spending: Spending,
    /// The run that began it, if it was no client.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// The answer, if it was waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

impl Run {
    fn of(run: RunRecord) -> Self {
        let (status, ending, ended_at) = match run.state {
            RunState::Open { .. } => ("working", None, None),
            RunState::Ended { ending, at } => ("ended", Some(ending.unwrap_or(Ending::Cancelled)), Some(at)),
        };
        Self {
            id: run.id,
            session: run.session.id,
            agent: run.agent,
            model: run.model,
            status,
            ending,
            started_at: run.started_at,
            ended_at,
            spending: run.spending,
            parent: run.parent,
            answer: None,
            failure: None,
        }
    }
}

/// Has an agent work on something.
#[utoipa::path(
    post,
    path = "/api/runs",
    operation_id = "begin_run",
    tag = "runs",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same request with the same key is one run.", min_length = 1, max_length = 200)),
    request_body = New,
    responses(
        (status = 200, description = "The run: it ended, if it was waited for, or was known already.", body = Run),
        (
            status = 202,
            description = "The run, which goes on.",
            body = Run,
            links(
                ("show_run" = (operation_id = "show_run", parameters(("run" = "$response.body#/id")))),
                ("watch_run" = (operation_id = "watch_run", parameters(("run" = "$response.body#/id")))),
                ("cancel_run" = (operation_id = "cancel_run", parameters(("run" = "$response.body#/id")))),
                ("list_approvals" = (operation_id = "list_approvals", parameters(("run" = "$response.body#/id")))),
            )
        ),
        Known, Body, Absent, Taken, Unfit,
    )
)]
pub(super) async fn begin(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body::Json(new): body::Json<New>,
) -> Result<impl IntoResponse, Problem> {
    caller.may(Scope::Run)?;
    let panels = new.panels.clone().map(Panels::new).transpose()?;
    let once = super::once::Once::begin(
        &app,
        &caller,
        &headers,
        &json!([new.agent, new.input, new.session, new.session_name, new.panels]),
    )
    .await?;
    if let Some(run) = once.known() {
        let run = app.store().run(&caller.tenant, run).await?;
        return Ok((StatusCode::OK, Json(Run::of(run))));
    }
    let session = match (new.session.as_deref(), new.session_name) {
        (None | Some("create"), name) => Which::New { id: None, name, attributes: Default::default() },
        (Some(_), Some(_)) => return Err(Problem::invalid("`session_name` is the name of a new session")),
        (Some("latest-or-create"), None) => Which::LatestOrNew,
        (Some(id), None) => Which::Known(id.to_owned()),
    };
    let inquiry = Inquiry { agent: new.agent, session, text: new.input, panels };
    let started = super::admitted(&app, &caller, inquiry).await?;
    once.settle(&started.run).await?;
    if !new.wait {
        let run = app.store().run(&caller.tenant, &started.run).await?;
        return Ok((StatusCode::ACCEPTED, Json(Run::of(run))));
    }
    let concluded = started.live.ended().await?;
    let run = Run::of(app.store().run(&caller.tenant, &started.run).await?);
    Ok((StatusCode::OK, Json(Run { answer: Some(concluded.answer), failure: concluded.failure, ..run })))
}

/// Which runs at work are wanted.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct Following {
    /// The id that they come after: `next` of the page before.
    after: Option<String>,
    /// At most so many, 1 to 200; 50 if this is left out.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

/// Runs at work, by their ids.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Working {
    data: Vec<AtWork>,
    /// What the next ones come after; absent: these are the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A run at work.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct AtWork {
    #[serde(flatten)]
    run: Run,
    /// How many of its calls wait for somebody to decide.
    waiting: usize,
}

/// The runs that clients began and that did not end.
#[utoipa::path(
    get,
    path = "/api/runs",
    operation_id = "list_runs",
    tag = "runs",
    params(Following),
    responses(
        (status = 200, description = "Runs at work.", body = Working),
        Known, Invalid,
    )
)]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    body::Query(Following { after, limit }): body::Query<Following>,
) -> Result<Json<Working>, Problem> {
    caller.may(Scope::Read)?;
    let (limit, _) = Wanted { limit, offset: None }.span()?;
    let after = after.as_deref().map(|run| (caller.tenant.as_ref(), run));
    let mut runs = app.open_runs().open_runs(Some(&caller.tenant), after, limit.saturating_add(1)).await?;
    let next = (runs.len() > limit).then(|| runs.get(limit - 1).map(|run| run.id.clone())).flatten();
    runs.truncate(limit);
    let data = runs.into_iter().filter(|run| run.parent.is_none()).map(|run| AtWork {
        waiting: app.runs().live(&caller.tenant, &run.id).map_or(0, |live| live.waiting().len()),
        run: Run::of(run),
    });
    Ok(Json(Working { data: data.collect(), next }))
}

/// One run.
#[utoipa::path(
    get,
    path = "/api/runs/{run}",
    operation_id = "show_run",
    tag = "runs",
    params(("run" = String, Path, description = "The id of a run.")),
    responses(
        (status = 200, description = "The run.", body = Run),
        Known, Absent,
    )
)]
pub(super) async fn one(
    State(app): State<App>,
    caller: Caller,
    body::Path(run): body::Path<String>,
) -> Result<Json<Run>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(Run::of(app.store().run(&caller.tenant, &run).await?)))
}

/// The last run of a session.
#[utoipa::path(
    get,
    path = "/api/sessions/{session}/run",
    operation_id = "last_run",
    tag = "runs",
    params(("session" = String, Path, description = "The id of a session.")),
    responses(
        (status = 200, description = "The last run of the session.", body = Run),
        Known, Absent,
    )
)]
pub(super) async fn last(
    State(app): State<App>,
    caller: Caller,
    body::Path(session): body::Path<String>,
) -> Result<Json<Run>, Problem> {
    caller.may(Scope::Read)?;
    let key = SessionKey::new(caller.tenant.to_string(), session);
    let last = app.store().last_run(&key).await?;
    last.map(|run| Json(Run::of(run))).ok_or_else(Problem::not_found)
}

/// Where a reader left off.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct After {
    /// The number of the last event that was read.
    after: Option<u64>,
}

/// What happens in it.
#[utoipa::path(
    get,
    path = "/api/runs/{run}/events",
    operation_id = "watch_run",
    tag = "runs",
    params(("run" = String, Path, description = "The id of a run."), After, ("Last-Event-ID" = Option<u64>, Header, description = "Where the reader left off; counts more than `after`.")),
    responses(
        (
            status = 200,
            description = "What happens, each with its number; docs/events.schema.json describes them.",
            body = Events,
            content_type = "text/event-stream"
        ),
        Known, Invalid, Absent,
    )
)]
pub(super) async fn events(
    State(app): State<App>,
    caller: Caller,
    body::Path(run): body::Path<String>,
    body::Query(After { after }): body::Query<After>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Problem> {
    caller.may(Scope::Read)?;
    app.store().run(&caller.tenant, &run).await?;
    let last = headers.get("last-event-id").map(|last| last.to_str().unwrap_or("?"));
    let after = match last {
        Some(_) => stream::left_off(last)?,
        None => after.unwrap_or(0),
    };
    Ok(stream::events(app, caller.tenant.to_string(), run, after))
}

/// Ends it.
#[utoipa::path(
    post,
    path = "/api/runs/{run}/cancel",
    operation_id = "cancel_run",
    tag = "runs",
    params(("run" = String, Path, description = "The id of a run.")),
    responses(
        (status = 200, description = "The run, which is over.", body = Run),
        Known, Absent, Taken,
    )
)]
pub(super) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    body::Path(run): body::Path<String>,
) -> Result<(StatusCode, Json<Run>), Problem> {
    caller.may(Scope::Run)?;
    let known = app.store().run(&caller.tenant, &run).await?;
    if let Some(live) = app.runs().live(&caller.tenant, &run) {
        live.cancel();
        drop(live.ended().await);
        return Ok((StatusCode::OK, Json(Run::of(app.store().run(&caller.tenant, &run).await?))));
    }
    match known.state {
        RunState::Ended { .. } => Ok((StatusCode::OK, Json(Run::of(known)))),
        RunState::Open { .. } => Err(Problem::conflict("another process works on this run")),
    }
}

/// Calls that wait for somebody to decide.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Approvals {
    #[schema(value_type = Vec<records::Waiting>)]
    data: Vec<crate::runs::Asked>,
}

/// The calls that wait for somebody to decide.
#[utoipa::path(
    get,
    path = "/api/runs/{run}/approvals",
    operation_id = "list_approvals",
    tag = "runs",
    params(("run" = String, Path, description = "The id of a run.")),
    responses(
        (status = 200, description = "The calls that wait for somebody.", body = Approvals),
        Known, Absent,
    )
)]
pub(super) async fn approvals(
    State(app): State<App>,
    caller: Caller,
    body::Path(run): body::Path<String>,
) -> Result<Json<Approvals>, Problem> {
    caller.may(Scope::Read)?;
    app.store().run(&caller.tenant, &run).await?;
    let data = app.runs().live(&caller.tenant, &run).map(|live| live.waiting()).unwrap_or_default();
    Ok(Json(Approvals { data }))
}

/// What somebody decides.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Decision {
    /// Whether the call may be made.
    decision: Decided,
}

#[derive(Clone, Copy, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
enum Decided {
    Allow,
    Deny,
}

/// Decides about a call that waits for it.
#[utoipa::path(
    post,
    path = "/api/runs/{run}/approvals/{approval}",
    operation_id = "decide",
    tag = "runs",
    params(("run" = String, Path, description = "The id of a run."), ("approval" = String, Path, description = "The id of an approval.")),
    request_body = Decision,
    responses(
        (status = 204, description = "It is decided."),
        Known, Body, Absent,
    )
)]
pub(super) async fn decide(
    State(app): State<App>,
    caller: Caller,
    body::Path((run, approval)): body::Path<(String, String)>,
    body::Json(Decision { decision }): body::Json<Decision>,
) -> Result<StatusCode, Problem> {
    caller.may(Scope::Approve)?;
    let answer = match decision {
        Decided::Allow => Answer::Yes,
        Decided::Deny => Answer::No,
    };
    let live = app.runs().live(&caller.tenant, &run).ok_or_else(Problem::not_found)?;
    match live.decide(&approval, answer) {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::not_found()),
    }
}
