//! What was used up, and what happened that somebody may want to look into.

use axum::{Json, extract::State};
use jiff::Timestamp;
use palisade_agent::{AuditRecord, Span, UsageQuery, UsageRow};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    app::App,
    body,
    entry::{Caller, Scope},
    page::Wanted,
    problem::Problem,
};

/// What is added together.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    /// `agent`, `session` or `day`.
    by: By,
    since: Option<Timestamp>,
    agent: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum By {
    #[default]
    Agent,
    Session,
    Day,
}

#[derive(Debug, Serialize)]
pub(super) struct Rows {
    data: Vec<UsageRow>,
}

/// What runs used up.
pub(super) async fn usage(
    State(app): State<App>,
    caller: Caller,
    body::Query(asked): body::Query<Asked>,
) -> Result<Json<Rows>, Problem> {
    caller.may(Scope::Read)?;
    let by = match asked.by {
        By::Agent => Span::Agent,
        By::Session => Span::Session,
        By::Day => Span::Day,
    };
    let query = UsageQuery { tenant: caller.tenant.to_string(), by, since: asked.since, agent: asked.agent };
    Ok(Json(Rows { data: app.store().usage(&query).await? }))
}

/// Which records are wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Which {
    session: Option<String>,
    limit: Option<usize>,
}

/// Spawns, refusals, take-overs: the newest first.
pub(super) async fn audit(
    State(app): State<App>,
    caller: Caller,
    body::Query(which): body::Query<Which>,
) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Read)?;
    let (limit, _) = Wanted { limit: which.limit, offset: None }.span()?;
    let records = app.store().audits(&caller.tenant, which.session.as_deref(), limit).await?;
    let shown = records.into_iter().map(|record| {
        let AuditRecord { at, session, run, kind, detail, .. } = record;
        json!({ "at": at, "session": session, "run": run, "kind": kind, "detail": detail })
    });
    Ok(Json(json!({ "data": shown.collect::<Vec<_>>() })))
}
