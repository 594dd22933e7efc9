//! What there is to ask for. Every route is in this table; all but those of [`open`] need to know who asks.

mod agents;
mod docs;
mod health;
mod mcp;
mod once;
mod page;
mod runs;
mod secrets;
mod sessions;
mod tenants;
mod usage;

use axum::routing::post;
use palisade_agent::Inquiry;
use utoipa::OpenApi as _;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(crate) use mcp::Underway;

use crate::{
    admission::Share, app::App, compat, description::Common, entry::Caller, house::Quotas, problem::Problem,
    runs::Started,
};

/// All routes, each with its description.
pub(crate) fn table() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Common::openapi()).merge(known()).merge(compat::table()).merge(open())
}

/// Routes for which it has to be known who asks.
fn known() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(agents::list))
        .routes(routes!(agents::one))
        .routes(routes!(agents::explain))
        .routes(routes!(agents::tools))
        .routes(routes!(agents::plugins))
        .routes(routes!(agents::me))
        .routes(routes!(sessions::list, sessions::create))
        .routes(routes!(sessions::one, sessions::change, sessions::delete))
        .routes(routes!(sessions::clear))
        .routes(routes!(sessions::set_panels))
        .routes(routes!(sessions::entries))
        .routes(routes!(runs::last))
        .routes(routes!(runs::list, runs::begin))
        .routes(routes!(runs::one))
        .routes(routes!(runs::events))
        .routes(routes!(runs::cancel))
        .routes(routes!(runs::approvals))
        .routes(routes!(runs::decide))
        .routes(routes!(usage::usage))
        .routes(routes!(usage::audit))
        .routes(routes!(tenants::list, tenants::create))
        .routes(routes!(tenants::one, tenants::change, tenants::delete))
        .routes(routes!(tenants::keys, tenants::add_key))
        .routes(routes!(tenants::revoke))
        .routes(routes!(secrets::list))
        .routes(routes!(secrets::keep, secrets::remove))
        .routes(routes!(health::metrics))
        // Its own protocol says what it is.
        .route("/mcp", post(mcp::all))
        .route("/mcp/{agent}", post(mcp::one))
}

/// Routes for everybody that the guard lets in.
fn open() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(health::health))
        .routes(routes!(health::ready))
        .routes(routes!(page::index))
        .routes(routes!(page::file))
        .routes(routes!(docs::document))
        .routes(routes!(docs::index))
        .routes(routes!(docs::file))
}

/// Paths for which nobody needs to be known.
pub(crate) fn is_open(path: &str) -> bool {
    ["/", "/health", "/ready", "/favicon.ico", "/openapi.json", "/docs"].contains(&path)
        || path.starts_with("/page/")
        || path.starts_with("/docs/")
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
