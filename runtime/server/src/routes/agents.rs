//! The agents there are, what they may do, and with which tools.

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    app::App,
    body,
    description::{
        failures::{Absent, Invalid, Known, Unfit},
        records,
    },
    entry::{Caller, Scope},
    house::{AgentCard, Quotas, ToolCard},
    page::{Page, Wanted},
    problem::Problem,
};

/// Whoever asks.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Me {
    /// Whose things it sees.
    tenant: String,
    /// The key; `null`: somebody on this machine.
    key: Option<String>,
    /// What the key is good for.
    #[schema(value_type = Vec<String>)]
    scopes: Vec<&'static str>,
    /// What its tenant may use up.
    quotas: Quotas,
    /// The version of the server.
    #[schema(value_type = String)]
    version: &'static str,
}

/// Who asks, and what for.
#[utoipa::path(
    get,
    path = "/api/me",
    operation_id = "who_am_i",
    tag = "agents",
    responses(
        (status = 200, description = "Who asks, and what for.", body = Me),
        Known,
    )
)]
pub(super) async fn me(caller: Caller) -> Json<Me> {
    Json(Me {
        tenant: caller.tenant.to_string(),
        key: caller.key.as_deref().map(str::to_owned),
        scopes: caller.scopes().iter().map(|scope| scope.name()).collect(),
        quotas: caller.quotas,
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// The agents.
#[utoipa::path(
    get,
    path = "/api/agents",
    operation_id = "list_agents",
    tag = "agents",
    params(Wanted),
    responses(
        (status = 200, description = "A page of agents.", body = Page<AgentCard>),
        Known, Invalid,
    )
)]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    body::Query(wanted): body::Query<Wanted>,
) -> Result<Json<Page<AgentCard>>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(Page::cut(app.house().agents(&caller.tenant).await?, wanted)?))
}

/// One agent.
#[utoipa::path(
    get,
    path = "/api/agents/{agent}",
    operation_id = "show_agent",
    tag = "agents",
    params(("agent" = String, Path, description = "The agent's name.", example = "explore")),
    responses(
        (status = 200, description = "One agent.", body = AgentCard),
        Known, Absent,
    )
)]
pub(super) async fn one(
    State(app): State<App>,
    caller: Caller,
    body::Path(agent): body::Path<String>,
) -> Result<Json<AgentCard>, Problem> {
    caller.may(Scope::Read)?;
    let found = app.house().agents(&caller.tenant).await?.into_iter().find(|card| card.name == agent);
    found.map(Json).ok_or_else(Problem::not_found)
}

/// Who asks.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct Chain {
    /// Agents that ask each other, the outermost first, with commas between.
    under: Option<String>,
}

const LONGEST_CHAIN: usize = 8;

/// What an agent may do, and why not more.
#[utoipa::path(
    get,
    path = "/api/agents/{agent}/explain",
    operation_id = "explain_agent",
    tag = "agents",
    params(("agent" = String, Path, description = "The agent's name.", example = "explore"), Chain),
    responses(
        (status = 200, description = "What it may do, and why not more.", body = records::Explanation),
        Known, Invalid, Absent, Unfit,
    )
)]
pub(super) async fn explain(
    State(app): State<App>,
    caller: Caller,
    body::Path(agent): body::Path<String>,
    body::Query(Chain { under }): body::Query<Chain>,
) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Read)?;
    let chain: Vec<String> =
        under.iter().flat_map(|names| names.split(',')).map(|name| name.trim().to_owned()).collect();
    if chain.len() > LONGEST_CHAIN {
        return Err(Problem::invalid(format!("`under` names at most {LONGEST_CHAIN} agents")));
    }
    Ok(Json(app.house().explain(&caller.tenant, &agent, &chain).await?))
}

/// The tools.
#[utoipa::path(
    get,
    path = "/api/tools",
    operation_id = "list_tools",
    tag = "agents",
    params(Wanted),
    responses(
        (status = 200, description = "A page of tools.", body = Page<ToolCard>),
        Known, Invalid,
    )
)]
pub(super) async fn tools(
    State(app): State<App>,
    caller: Caller,
    body::Query(wanted): body::Query<Wanted>,
) -> Result<Json<Page<ToolCard>>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(Page::cut(app.house().tools(&caller.tenant).await?, wanted)?))
}

/// The plugins.
#[utoipa::path(
    get,
    path = "/api/plugins",
    operation_id = "list_plugins",
    tag = "agents",
    responses(
        (status = 200, description = "The plugins.", body = records::Plugins),
        Known,
    )
)]
pub(super) async fn plugins(State(app): State<App>, caller: Caller) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(app.house().plugins(&caller.tenant).await?))
}
