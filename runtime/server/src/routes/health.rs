//! Whether the server is there, whether it can work, and what it has counted.

use axum::{Json, extract::State, http::header, response::IntoResponse};
use palisade_agent::{LOCAL_TENANT, Listing};
use serde_json::{Value, json};

use crate::{
    app::App,
    entry::{Caller, Scope},
    problem::Problem,
};

/// It is there.
pub(super) async fn health() -> Json<Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// It can work: its database answers, and it is not about to stop.
pub(super) async fn ready(State(app): State<App>) -> Result<Json<Value>, Problem> {
    if app.admission().is_closed() {
        return Err(Problem::unavailable("the server is about to stop", 5));
    }
    let listing = Listing { tenant: LOCAL_TENANT.to_owned(), limit: 1, ..Listing::default() };
    app.store().sessions(&listing).await?;
    Ok(Json(json!({ "status": "ready" })))
}

/// What it has counted; of all tenants together, so for the operator.
pub(super) async fn metrics(State(app): State<App>, caller: Caller) -> Result<impl IntoResponse, Problem> {
    caller.may(Scope::Admin)?;
    let (working, waiting) = app.admission().counts();
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], app.metrics().text(working, waiting)))
}
