//! Runs: an agent works on something, is watched, asked about, ended.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::IntoResponse,
};
use palisade_agent::{Answer, Ending, Inquiry, RunRecord, RunState, SessionKey, Spending, Which};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    app::App,
    body,
    entry::{Caller, Scope},
    page::Wanted,
    problem::Problem,
    stream,
};

/// What an agent is to do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    /// The agent.
    agent: String,
    /// What to do, in words.
    input: String,
    /// An id, `create` or `latest-or-create`; a new session if this is left out.
    #[serde(default)]
    session: Option<String>,
    /// What a new session is called.
    #[serde(default)]
    session_name: Option<String>,
    /// Whether the answer is waited for.
    #[serde(default)]
    wait: bool,
}

/// A run.
#[derive(Debug, Serialize)]
pub(super) struct Run {
    id: String,
    session: String,
    agent: String,
    model: String,
    /// `working` or `ended`.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<Ending>,
    started_at: jiff::Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<jiff::Timestamp>,
    spending: Spending,
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
pub(super) async fn begin(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body::Json(new): body::Json<New>,
) -> Result<impl IntoResponse, Problem> {
    caller.may(Scope::Run)?;
    let once = super::once::Once::begin(
        &app,
        &caller,
        &headers,
        &json!([new.agent, new.input, new.session, new.session_name]),
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
    let inquiry = Inquiry { agent: new.agent, session, text: new.input };
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
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Following {
    /// The id that they come after: `next` of the page before.
    after: Option<String>,
    /// At most so many, 1 to 200; 50 if this is left out.
    limit: Option<usize>,
}

/// Runs at work, by their ids.
#[derive(Debug, Serialize)]
pub(super) struct Working {
    data: Vec<AtWork>,
    /// What the next ones come after; absent: these are the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A run at work.
#[derive(Debug, Serialize)]
struct AtWork {
    #[serde(flatten)]
    run: Run,
    /// How many of its calls wait for somebody to decide.
    waiting: usize,
}

/// The runs that clients began and that did not end.
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
pub(super) async fn one(
    State(app): State<App>,
    caller: Caller,
    body::Path(run): body::Path<String>,
) -> Result<Json<Run>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(Run::of(app.store().run(&caller.tenant, &run).await?)))
}

/// The last run of a session.
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
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct After {
    after: Option<u64>,
}

/// What happens in it.
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

/// The calls that wait for somebody to decide.
pub(super) async fn approvals(
    State(app): State<App>,
    caller: Caller,
    body::Path(run): body::Path<String>,
) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Read)?;
    app.store().run(&caller.tenant, &run).await?;
    let waiting = app.runs().live(&caller.tenant, &run).map(|live| live.waiting()).unwrap_or_default();
    Ok(Json(json!({ "data": waiting })))
}

/// What somebody decides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Decision {
    decision: Decided,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decided {
    Allow,
    Deny,
}

/// Decides about a call that waits for it.
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
