//! What there is to ask for. Every route is in this table; all but those of [`open`] need to know who asks.

mod agents;
mod health;
mod mcp;
mod once;
mod page;
mod runs;
mod sessions;
mod tenants;
mod usage;

use axum::{
    Router,
    routing::{delete, get, post},
};

use palisade_agent::Inquiry;

use crate::{admission::Share, app::App, compat, entry::Caller, house::Quotas, problem::Problem, runs::Started};

/// Routes for which it has to be known who asks.
pub(crate) fn known(_: &App) -> Router<App> {
    Router::new()
        .route("/api/agents", get(agents::list))
        .route("/api/agents/{agent}", get(agents::one))
        .route("/api/agents/{agent}/explain", get(agents::explain))
        .route("/api/tools", get(agents::tools))
        .route("/api/plugins", get(agents::plugins))
        .route("/api/sessions", get(sessions::list).post(sessions::create))
        .route("/api/sessions/{session}", get(sessions::one).patch(sessions::change).delete(sessions::delete))
        .route("/api/sessions/{session}/clear", post(sessions::clear))
        .route("/api/sessions/{session}/entries", get(sessions::entries))
        .route("/api/sessions/{session}/run", get(runs::last))
        .route("/api/me", get(agents::me))
        .route("/api/runs", get(runs::list).post(runs::begin))
        .route("/api/runs/{run}", get(runs::one))
        .route("/api/runs/{run}/events", get(runs::events))
        .route("/api/runs/{run}/cancel", post(runs::cancel))
        .route("/api/runs/{run}/approvals", get(runs::approvals))
        .route("/api/runs/{run}/approvals/{approval}", post(runs::decide))
        .route("/api/usage", get(usage::usage))
        .route("/api/audit", get(usage::audit))
        .route("/api/tenants", get(tenants::list).post(tenants::create))
        .route("/api/tenants/{tenant}", get(tenants::one).patch(tenants::change).delete(tenants::delete))
        .route("/api/tenants/{tenant}/keys", get(tenants::keys).post(tenants::add_key))
        .route("/api/tenants/{tenant}/keys/{key}", delete(tenants::revoke))
        .route("/mcp", post(mcp::all))
        .route("/mcp/{agent}", post(mcp::one))
        .route("/metrics", get(health::metrics))
        .merge(compat::routes())
}

/// Routes for everybody that the guard lets in.
pub(crate) fn open() -> Router<App> {
    Router::new()
        .route("/health", get(health::health))
        .route("/ready", get(health::ready))
        .route("/", get(page::index))
        .route("/page/{file}", get(page::file))
}

/// Paths for which nobody needs to be known.
pub(crate) fn is_open(path: &str) -> bool {
    ["/", "/health", "/ready", "/favicon.ico"].contains(&path) || path.starts_with("/page/")
}

/// Has an agent work on something, when it is the caller's turn.
pub(crate) async fn admitted(app: &App, caller: &Caller, inquiry: Inquiry) -> Result<Started, Problem> {
    let admitted = app
        .admission()
        .admit(&caller.tenant, share(caller.quotas))
        .await
        .inspect_err(|_| app.metrics().run_refused())?;
    let started = app.runs().begin(&caller.tenant, inquiry, admitted).await?;
    app.metrics().run_begun();
    Ok(started)
}

/// A tenant's share of the runs.
pub(crate) fn share(quotas: Quotas) -> Share {
    Share { runs: quotas.runs.unwrap_or(u32::MAX), waiting: quotas.waiting.unwrap_or(100) }
}
