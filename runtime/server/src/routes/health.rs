//! Whether the server is there, whether it can work, and what it has counted.

use axum::{Json, extract::State, http::header, response::IntoResponse};
use palisade_agent::{LOCAL_TENANT, Listing};
use serde::Serialize;

use crate::{
    app::App,
    description::failures::{Known, Open},
    entry::{Caller, Scope},
    problem::Problem,
};

/// The server is there.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Health {
    /// Always `ok`.
    #[schema(value_type = String)]
    status: &'static str,
    /// The version of the server.
    #[schema(value_type = String)]
    version: &'static str,
}

/// The server can work.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Readiness {
    /// Always `ready`.
    #[schema(value_type = String)]
    status: &'static str,
}

/// It is there.
#[utoipa::path(
    get,
    path = "/health",
    operation_id = "health",
    tag = "server",
    security(()),
    responses(
        (status = 200, description = "It is there.", body = Health),
        Open,
    )
)]
pub(super) async fn health() -> Json<Health> {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

/// It can work: its database answers, and it is not about to stop.
#[utoipa::path(
    get,
    path = "/ready",
    operation_id = "ready",
    tag = "server",
    security(()),
    responses(
        (status = 200, description = "It can work.", body = Readiness),
        (status = 503, description = "It cannot work now.", body = Problem, content_type = "application/problem+json"),
        Open,
    )
)]
pub(super) async fn ready(State(app): State<App>) -> Result<Json<Readiness>, Problem> {
    if app.admission().is_closed() {
        return Err(Problem::unavailable("the server is about to stop", 5));
    }
    let listing = Listing { tenant: LOCAL_TENANT.to_owned(), limit: 1, ..Listing::default() };
    app.store().sessions(&listing).await?;
    Ok(Json(Readiness { status: "ready" }))
}

/// What it has counted; of all tenants together, so for the operator.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "metrics",
    tag = "server",
    responses(
        (status = 200, description = "As Prometheus reads it.", body = String, content_type = "text/plain"),
        Known,
    )
)]
pub(super) async fn metrics(State(app): State<App>, caller: Caller) -> Result<impl IntoResponse, Problem> {
    caller.may(Scope::Admin)?;
    let (working, waiting) = app.admission().counts();
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], app.metrics().text(working, waiting)))
}
