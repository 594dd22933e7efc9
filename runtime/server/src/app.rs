//! The server as a value: what every route works with, and the table of routes.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
};
use futures_util::FutureExt as _;
use palisade_agent::{Ending, RunEnd, Store, StoreError};
use palisade_store::{Database, Idempotency, Tenants};

use crate::{
    admission::Admission,
    entry,
    guard::{self, Names},
    house::{House, Quotas},
    metrics::Metrics,
    problem::Problem,
    routes,
    runs::Runs,
};

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether everybody needs a key. Only where nobody but this machine can ask may it be otherwise.
    pub wants_keys: bool,
    /// What the server is called, beside `localhost`.
    pub names: Vec<String>,
    /// How many runs are at work at the same time.
    pub runs: u32,
    /// What a tenant has that nothing else was said of.
    pub quotas: Quotas,
    /// The largest body of a request.
    pub body: usize,
}

/// The server.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    settings: Settings,
    database: Database,
    house: Arc<dyn House>,
    runs: Runs,
    admission: Admission,
    metrics: Metrics,
}

/// How many runs that were left behind are looked at together.
const LEFT: usize = 100;

impl App {
    /// A server of a house over a database.
    pub fn new(settings: Settings, database: Database, house: Arc<dyn House>) -> Self {
        let runs = Runs::new(Arc::clone(&house), Arc::clone(&database.events));
        let (admission, metrics) = (Admission::of(settings.runs), Metrics::default());
        Self(Arc::new(Inner { settings, database, house, runs, admission, metrics }))
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.0.database.store.as_ref()
    }

    pub(crate) fn tenants(&self) -> &dyn Tenants {
        self.0.database.tenants.as_ref()
    }

    /// What a tenant may use up.
    pub(crate) async fn quotas(&self, tenant: &str) -> Result<Quotas, Problem> {
        let settings = self.tenants().tenant(tenant).await?.settings;
        let own: Quotas = settings
            .get("quotas")
            .map(|quotas| serde_json::from_value(quotas.clone()).map_err(|_| Problem::internal()))
            .transpose()?
            .unwrap_or_default();
        Ok(own.or(self.settings().quotas))
    }

    pub(crate) fn idempotency(&self) -> &dyn Idempotency {
        self.0.database.requests.as_ref()
    }

    pub(crate) fn house(&self) -> &dyn House {
        self.0.house.as_ref()
    }

    pub(crate) fn runs(&self) -> &Runs {
        &self.0.runs
    }

    pub(crate) fn admission(&self) -> &Admission {
        &self.0.admission
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// All routes, with what every request passes before it comes to one.
    pub fn router(&self) -> Router {
        let names = Names::with(&self.settings().names);
        Router::new()
            .merge(routes::known(self))
            .merge(routes::open())
            .fallback(|| async { Problem::not_found() })
            .method_not_allowed_fallback(|| async { Problem::not_found() })
            .layer(DefaultBodyLimit::max(self.settings().body))
            .layer(middleware::from_fn_with_state(self.clone(), entry::enter_where_wanted))
            .layer(middleware::from_fn_with_state(self.clone(), counted))
            // Outermost: nothing is done for whom this server is not meant.
            .layer(middleware::from_fn_with_state(names, guard::guard))
            .with_state(self.clone())
    }

    /// Goes on with runs that a process left behind which is gone; one that cannot be gone on with is ended.
    pub async fn go_on(&self) -> Result<usize, StoreError> {
        let (mut count, mut after) = (0, None::<(String, String)>);
        loop {
            let from = after.as_ref().map(|(tenant, run)| (tenant.as_str(), run.as_str()));
            let left = self.0.database.runs.open_runs(None, from, LEFT).await?;
            let Some(last) = left.last() else { return Ok(count) };
            after = Some((last.session.tenant.clone(), last.id.clone()));
            // Runs that agents began are ended with those that began them.
            for run in left.iter().filter(|run| run.parent.is_none()) {
                count += usize::from(self.go_on_with(run).await?);
            }
        }
    }

    async fn go_on_with(&self, run: &palisade_agent::RunRecord) -> Result<bool, StoreError> {
        let tenant = &run.session.tenant;
        let Ok(admitted) = self.admission().admit(tenant, routes::share(self.settings().quotas)).await else {
            return Ok(false);
        };
        match self.runs().go_on(run, admitted).await {
            Ok(_) => Ok(true),
            // Somebody is at it.
            Err(problem) if problem.status().as_u16() == 409 => Ok(false),
            Err(problem) => {
                let owner = palisade_store::this_process();
                let lease = match self.store().claim(tenant, &run.id, owner, Duration::from_secs(30)).await {
                    Ok(lease) => lease,
                    Err(StoreError::Busy { .. } | StoreError::NoRun(_) | StoreError::NoSession(_)) => return Ok(false),
                    Err(error) => return Err(error),
                };
                let ending = Ending::Failed(format!("the server was started again: {}", problem.detail()));
                self.store().end(&lease, &RunEnd { ending, spending: run.spending }).await?;
                Ok(false)
            }
        }
    }

    /// Lets nobody in any more, and waits until all runs are over; what is not over by then is cancelled.
    pub async fn drain(&self, patience: Duration) {
        self.admission().close();
        let idle = async {
            while self.runs().count() > 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        if tokio::time::timeout(patience, idle).await.is_err() {
            self.runs().cancel_all();
            let idle = async {
                while self.runs().count() > 0 {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            };
            drop(tokio::time::timeout(Duration::from_secs(5), idle).await);
        }
    }
}

/// Counts answers; a route that panics is answered, too.
async fn counted(State(app): State<App>, request: Request, next: Next) -> Response {
    let answered = std::panic::AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let response = answered.unwrap_or_else(|_| Problem::internal().into_response());
    app.metrics().answered(response.status().as_u16());
    response
}
