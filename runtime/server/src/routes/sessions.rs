//! Sessions: what was said with which agent.

use std::collections::BTreeMap;

use axum::{Json, extract::State, http::StatusCode};
use jiff::Timestamp;
use palisade_agent::{Change, Entry, Listing, NewSession, Session, SessionKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    app::App,
    body,
    entry::{Caller, Scope},
    page::{Page, Wanted},
    problem::Problem,
};

/// Which sessions are wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filter {
    /// Only those with this agent.
    agent: Option<String>,
    /// Only those below this session.
    parent: Option<String>,
    /// Those that agents began, too.
    delegated: bool,
    /// At most so many.
    limit: Option<usize>,
    /// How many are passed over.
    offset: Option<usize>,
}

/// The sessions, those that are pinned first.
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
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    agent: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    attributes: BTreeMap<String, Value>,
}

/// Begins a session in which nothing was said yet.
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    body::Json(new): body::Json<New>,
) -> Result<(StatusCode, Json<Session>), Problem> {
    caller.may(Scope::Run)?;
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
pub(super) async fn one(
    State(app): State<App>,
    caller: Caller,
    body::Path(session): body::Path<String>,
) -> Result<Json<Session>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(app.store().session(&key(&caller, session)).await?))
}

/// What is to be different.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Changed {
    /// What it is called; `null`: nothing.
    #[serde(default, with = "double")]
    name: Option<Option<String>>,
    #[serde(default)]
    pinned: Option<bool>,
    #[serde(default)]
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
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    body::Path(session): body::Path<String>,
    body::Json(changed): body::Json<Changed>,
) -> Result<Json<Session>, Problem> {
    caller.may(Scope::Run)?;
    let key = key(&caller, session);
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

/// Takes away what was said, and keeps the rest.
pub(super) async fn clear(
    State(app): State<App>,
    caller: Caller,
    body::Path(session): body::Path<String>,
) -> Result<Json<Session>, Problem> {
    caller.may(Scope::Run)?;
    Ok(Json(app.store().clear(&key(&caller, session)).await?))
}

/// Takes it away.
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
#[derive(Debug, Serialize)]
pub(super) struct Said {
    number: u64,
    at: Timestamp,
    #[serde(flatten)]
    entry: Entry,
}

/// What was said and done, oldest first.
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
