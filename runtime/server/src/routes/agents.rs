//! The agents there are, what they may do, and with which tools.

use axum::{
    Json,
    extract::{Path, Query, State},
};
use serde_json::Value;

use crate::{
    app::App,
    entry::{Caller, Scope},
    house::{AgentCard, ToolCard},
    page::{Page, Wanted},
    problem::Problem,
};

/// The agents.
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Page<AgentCard>>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(Page::cut(app.house().agents(&caller.tenant).await?, wanted)?))
}

/// One agent.
pub(super) async fn one(
    State(app): State<App>,
    caller: Caller,
    Path(agent): Path<String>,
) -> Result<Json<AgentCard>, Problem> {
    caller.may(Scope::Read)?;
    let found = app.house().agents(&caller.tenant).await?.into_iter().find(|card| card.name == agent);
    found.map(Json).ok_or_else(Problem::not_found)
}

/// What an agent may do, and why not more.
pub(super) async fn explain(
    State(app): State<App>,
    caller: Caller,
    Path(agent): Path<String>,
) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(app.house().explain(&caller.tenant, &agent).await?))
}

/// The tools.
pub(super) async fn tools(
    State(app): State<App>,
    caller: Caller,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Page<ToolCard>>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(Page::cut(app.house().tools(&caller.tenant).await?, wanted)?))
}

/// The plugins.
pub(super) async fn plugins(State(app): State<App>, caller: Caller) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(app.house().plugins(&caller.tenant).await?))
}
