//! The agents there are, what they may do, and with which tools.

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    app::App,
    body,
    entry::{Caller, Scope},
    house::{AgentCard, Quotas, ToolCard},
    page::{Page, Wanted},
    problem::Problem,
};

/// Whoever asks.
#[derive(Debug, Serialize)]
pub(super) struct Me {
    /// Whose things it sees.
    tenant: String,
    /// The key; `null`: somebody on this machine.
    key: Option<String>,
    /// What the key is good for.
    scopes: Vec<&'static str>,
    /// What its tenant may use up.
    quotas: Quotas,
    /// The version of the server.
    version: &'static str,
}

/// Who asks, and what for.
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
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    body::Query(wanted): body::Query<Wanted>,
) -> Result<Json<Page<AgentCard>>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(Page::cut(app.house().agents(&caller.tenant).await?, wanted)?))
}

/// One agent.
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
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chain {
    /// Agents that ask each other, the outermost first, with commas between.
    under: Option<String>,
}

const LONGEST_CHAIN: usize = 8;

/// What an agent may do, and why not more.
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
pub(super) async fn tools(
    State(app): State<App>,
    caller: Caller,
    body::Query(wanted): body::Query<Wanted>,
) -> Result<Json<Page<ToolCard>>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(Page::cut(app.house().tools(&caller.tenant).await?, wanted)?))
}

/// The plugins.
pub(super) async fn plugins(State(app): State<App>, caller: Caller) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Read)?;
    Ok(Json(app.house().plugins(&caller.tenant).await?))
}
