//! Sessions: what was said with which agent.

use std::collections::BTreeMap;

use axum::{Json, extract::State, http::StatusCode};
use jiff::Timestamp;
use palisade_agent::{Change, Entry, HOST_ATTRIBUTES, Listing, NewSession, Panel, Panels, Session, SessionKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    app::App,
    body,
    description::{
        failures::{Absent, Body, Invalid, Known, Taken, Unfit},
        records,
    },
    entry::{Caller, Scope},
    page::{Page, Wanted},
    problem::Problem,
};

/// Which sessions are wanted.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Only those with this agent.
    agent: Option<String>,
    /// Only those below this session.
    parent: Option<String>,
    /// Those that agents began, too.
    #[param(default = false, required = false)]
    delegated: bool,
    /// At most so many, 1 to 200; 50 if this is left out.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// How many are passed over; `next` of the page before.
    #[param(minimum = 0)]
    offset: Option<usize>,
}

/// The sessions, those that are pinned first.
#[utoipa::path(
    get,
    path = "/api/sessions",
    operation_id = "list_sessions",
    tag = "sessions",
    params(Filter),
    responses(
        (status = 200, description = "A page of sessions.", body = Page<records::Session>),
        Known, Invalid,
    )
)]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    body::Query(filter): body::Query<Filter>,
) -> Result<Json<Page<Session>>, Problem> {
    caller.may(Scope::Read)?;
    let (limit, offset) = Wanted { limit: filter.limit, offset: filter.offset }.span()?;
    let listing = Listing {
        tenant: caller.tenant.to_string(),
        agent: filter.agent,
        parent: filter.parent,
        delegated: filter.delegated,
        pinned_first: true,
        offset,
        limit: limit.saturating_add(1),
        ..Listing::default()
    };
    Ok(Json(Page::of(app.store().sessions(&listing).await?, limit, offset)))
}

/// A session that is to begin.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewSession)]
pub(super) struct New {
    /// The agent it is held with.
    #[schema(example = "explore")]
    agent: String,
    /// What it is called; no two of one agent alike.
    #[serde(default)]
    name: Option<String>,
    /// What is kept with it. `panels` is what the user has open, as for `set_panels`.
    #[serde(default)]
    attributes: BTreeMap<String, Value>,
}

/// Begins a session in which nothing was said yet.
#[utoipa::path(
    post,
    path = "/api/sessions",
    operation_id = "begin_session",
    tag = "sessions",
    request_body = New,
    responses(
        (
            status = 201,
            description = "The session.",
            body = records::Session,
            links(
                ("show_session" = (operation_id = "show_session", parameters(("session" = "$response.body#/sessionId")))),
                ("change_session" = (operation_id = "change_session", parameters(("session" = "$response.body#/sessionId")))),
                ("set_panels" = (operation_id = "set_panels", parameters(("session" = "$response.body#/sessionId")))),
                ("clear_session" = (operation_id = "clear_session", parameters(("session" = "$response.body#/sessionId")))),
                ("list_entries" = (operation_id = "list_entries", parameters(("session" = "$response.body#/sessionId")))),
                ("last_run" = (operation_id = "last_run", parameters(("session" = "$response.body#/sessionId")))),
                ("delete_session" = (operation_id = "delete_session", parameters(("session" = "$response.body#/sessionId")))),
            )
        ),
        Known, Body, Taken, Unfit,
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    body::Json(new): body::Json<New>,
) -> Result<(StatusCode, Json<Session>), Problem> {
    caller.may(Scope::Run)?;
    check_attributes(|name| new.attributes.get(name))?;
    let agents = app.house().agents(&caller.tenant).await?;
    if !agents.iter().any(|card| card.name == new.agent) {
        return Err(Problem::unprocessable(format!("there is no agent `{}`", new.agent)));
    }
    let session = NewSession {
        name: new.name,
        attributes: new.attributes,
        ..NewSession::with(caller.tenant.to_string(), new.agent)
    };
    Ok((StatusCode::CREATED, Json(app.store().create(session).await?)))
}

fn key(caller: &Caller, session: String) -> SessionKey {
    SessionKey::new(caller.tenant.to_string(), session)
}

/// One session.
#[utoipa::path(
    get,
    path = "/api/sessions/{session}",
    operation_id = "show_session",
    tag = "sessions",
    params(("session" = String, Path, description = "The id of a session.")),
    responses(
        (status = 200, description = "The session.", body = records::Session),
        Known, Absent,
    )
)]
pub(super) async fn one(
    State(app): State<App>,
    caller: Caller,
    body::Path(session): body::Path<String>,
) -> Result<Json<Session>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(app.store().session(&key(&caller, session)).await?))
}

/// What is to be different.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ChangedSession)]
pub(super) struct Changed {
    /// What it is called; `null`: nothing.
    #[serde(default, with = "double")]
    #[schema(value_type = Option<String>, example = "river")]
    name: Option<Option<String>>,
    /// Whether it is among the first of a list.
    #[serde(default)]
    #[schema(example = true)]
    pinned: Option<bool>,
    /// What is kept with it, merged into what was; a `null` takes away. `panels` is what the user has open, as for
    /// `set_panels`.
    #[serde(default)]
    #[schema(value_type = Option<BTreeMap<String, Value>>)]
    attributes: Option<Value>,
}

/// Tells a member that is `null` from one that is not there.
mod double {
    use serde::{Deserialize, Deserializer};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
        Option::deserialize(deserializer).map(Some)
    }
}

/// Renames, pins, and keeps something with it.
#[utoipa::path(
    patch,
    path = "/api/sessions/{session}",
    operation_id = "change_session",
    tag = "sessions",
    params(("session" = String, Path, description = "The id of a session.")),
    request_body = Changed,
    responses(
        (status = 200, description = "The session as it is now.", body = records::Session),
        Known, Body, Absent, Taken, Unfit,
    )
)]
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    body::Path(session): body::Path<String>,
    body::Json(changed): body::Json<Changed>,
) -> Result<Json<Session>, Problem> {
    caller.may(Scope::Run)?;
    let key = key(&caller, session);
    check_attributes(|name| changed.attributes.as_ref()?.get(name))?;
    let changes = [
        changed.name.map(Change::Name),
        changed.pinned.map(Change::Pinned),
        changed.attributes.map(Change::Attributes),
    ];
    let mut session = app.store().session(&key).await?;
    for change in changes.into_iter().flatten() {
        session = app.store().change(&key, change).await?;
    }
    Ok(Json(session))
}

/// What the user has open.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Inventory {
    /// All of it; none: nothing is open.
    #[schema(value_type = Vec<records::Panel>, max_items = 32)]
    panels: Vec<Panel>,
}

/// Says what the user has open, in the place of what was said of that before. Agents are told in their next run and can
/// look at it at any time.
#[utoipa::path(
    put,
    path = "/api/sessions/{session}/panels",
    operation_id = "set_panels",
    tag = "sessions",
    params(("session" = String, Path, description = "The id of a session.")),
    request_body = Inventory,
    responses(
        (status = 200, description = "The session as it is now.", body = records::Session),
        Known, Body, Absent, Unfit,
    )
)]
pub(super) async fn set_panels(
    State(app): State<App>,
    caller: Caller,
    body::Path(session): body::Path<String>,
    body::Json(inventory): body::Json<Inventory>,
) -> Result<Json<Session>, Problem> {
    caller.may(Scope::Run)?;
    let panels = Panels::new(inventory.panels)?;
    Ok(Json(app.store().change(&key(&caller, session), panels.change()).await?))
}

/// What a client may have kept with a session; under the name of the panels, panels.
fn check_attributes<'a>(get: impl Fn(&str) -> Option<&'a Value>) -> Result<(), Problem> {
    if let Some(name) = HOST_ATTRIBUTES.into_iter().find(|name| get(name).is_some()) {
        return Err(Problem::unprocessable(format!("the attribute `{name}` is the server's own; choose another name")));
    }
    Ok(get(Panels::ATTRIBUTE).map_or(Ok(Panels::default()), Panels::read).map(drop)?)
}

/// Takes away what was said, and keeps the rest.
#[utoipa::path(
    post,
    path = "/api/sessions/{session}/clear",
    operation_id = "clear_session",
    tag = "sessions",
    params(("session" = String, Path, description = "The id of a session.")),
    responses(
        (status = 200, description = "The session as it is now.", body = records::Session),
        Known, Absent, Taken,
    )
)]
pub(super) async fn clear(
    State(app): State<App>,
    caller: Caller,
    body::Path(session): body::Path<String>,
) -> Result<Json<Session>, Problem> {
    caller.may(Scope::Run)?;
    Ok(Json(app.store().clear(&key(&caller, session)).await?))
}

/// Takes it away.
#[utoipa::path(
    delete,
    path = "/api/sessions/{session}",
    operation_id = "delete_session",
    tag = "sessions",
    params(("session" = String, Path, description = "The id of a session.")),
    responses(
        (status = 204, description = "It is gone."),
        Known, Absent, Taken,
    )
)]
pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    body::Path(session): body::Path<String>,
) -> Result<StatusCode, Problem> {
    caller.may(Scope::Run)?;
    app.store().delete(&key(&caller, session)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Something that was said or done.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Said {
    /// Counts from one.
    number: u64,
    at: Timestamp,
    #[serde(flatten)]
    #[schema(value_type = records::Entry)]
    entry: Entry,
}

/// What was said and done, oldest first.
#[utoipa::path(
    get,
    path = "/api/sessions/{session}/entries",
    operation_id = "list_entries",
    tag = "sessions",
    params(("session" = String, Path, description = "The id of a session."), Wanted),
    responses(
        (status = 200, description = "A page of what was said and done.", body = Page<Said>),
        Known, Invalid, Absent,
    )
)]
pub(super) async fn entries(
    State(app): State<App>,
    caller: Caller,
    body::Path(session): body::Path<String>,
    body::Query(wanted): body::Query<Wanted>,
) -> Result<Json<Page<Said>>, Problem> {
    caller.may(Scope::Read)?;
    let (limit, offset) = wanted.span()?;
    let read = app.store().entries(&key(&caller, session), offset as u64, limit.saturating_add(1)).await?;
    let said = read.into_iter().map(|it| Said { number: it.number, at: it.at, entry: it.entry });
    Ok(Json(Page::of(said.collect(), limit, offset)))
}
