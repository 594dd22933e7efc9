//! What was used up, and what happened that somebody may want to look into.

use axum::{Json, extract::State};
use jiff::Timestamp;
use palisade_agent::{AuditRecord, Span, UsageQuery, UsageRow};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    app::App,
    body,
    description::{
        failures::{Invalid, Known},
        records,
    },
    entry::{Caller, Scope},
    page::Wanted,
    problem::Problem,
};

/// What is added together.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct Asked {
    /// `agent`, `session` or `day`; `agent` if this is left out.
    #[param(inline, required = false)]
    by: By,
    /// Only runs that began since; those of deleted sessions are known by their day (UTC) alone.
    since: Option<Timestamp>,
    /// Only runs of this agent.
    agent: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
enum By {
    #[default]
    Agent,
    Session,
    Day,
}

/// What was used up, added together.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Rows {
    #[schema(value_type = Vec<records::UsageRow>)]
    data: Vec<UsageRow>,
}

/// What runs used up, also those of sessions that were deleted.
#[utoipa::path(
    get,
    path = "/api/usage",
    operation_id = "show_usage",
    tag = "usage",
    params(Asked),
    responses(
        (status = 200, description = "What runs used up.", body = Rows),
        Known, Invalid,
    )
)]
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
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only those about this session.
    session: Option<String>,
    /// At most so many, 1 to 200; 50 if this is left out.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

/// What somebody may want to look into.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Records {
    data: Vec<Record>,
}

/// Something that happened.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = AuditRecord)]
struct Record {
    at: Option<Timestamp>,
    session: Option<String>,
    run: Option<String>,
    /// What happened, in one word.
    kind: String,
    /// What else is known.
    detail: Value,
}

/// Spawns, refusals, take-overs: the newest first.
#[utoipa::path(
    get,
    path = "/api/audit",
    operation_id = "show_audit",
    tag = "usage",
    params(Which),
    responses(
        (status = 200, description = "The newest first.", body = Records),
        Known, Invalid,
    )
)]
pub(super) async fn audit(
    State(app): State<App>,
    caller: Caller,
    body::Query(which): body::Query<Which>,
) -> Result<Json<Records>, Problem> {
    caller.may(Scope::Read)?;
    let (limit, _) = Wanted { limit: which.limit, offset: None }.span()?;
    let records = app.store().audits(&caller.tenant, which.session.as_deref(), limit).await?;
    let data = records.into_iter().map(|record| {
        let AuditRecord { at, session, run, kind, detail, .. } = record;
        Record { at, session, run, kind, detail }
    });
    Ok(Json(Records { data: data.collect() }))
}
