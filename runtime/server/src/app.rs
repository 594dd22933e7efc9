//! The server as a value: what every route works with, and the table of routes.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{DefaultBodyLimit, MatchedPath, Request, State},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
};
use futures_util::FutureExt as _;
use http::{StatusCode, header::CONTENT_LENGTH};
use palisade_agent::{Ending, LOCAL_TENANT, RunEnd, RunRecord, Store, StoreError};
use palisade_store::{Database, Idempotency, OpenRuns, Tenants};

use crate::{
    admission::{Admission, Share},
    compat, entry,
    guard::{self, Names},
    house::{House, Quotas},
    metrics::Metrics,
    problem::Problem,
    rate::Rate,
    routes::{self, Underway},
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
    rate: Rate,
    underway: Underway,
}

/// How many runs that were left behind are looked at together.
const LEFT: usize = 100;

impl App {
    /// A server of a house over a database.
    pub fn new(settings: Settings, database: Database, house: Arc<dyn House>) -> Self {
        let runs = Runs::new(Arc::clone(&house), Arc::clone(&database.events));
        let (admission, metrics, rate) = (Admission::of(settings.runs), Metrics::default(), Rate::default());
        Self(Arc::new(Inner {
            settings,
            database,
            house,
            runs,
            admission,
            metrics,
            rate,
            underway: Underway::default(),
        }))
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
    async fn quotas(&self, tenant: &str) -> Result<Quotas, Problem> {
        match tenant {
            LOCAL_TENANT => Ok(Quotas::default()),
            _ => Ok(self.house().quotas(&self.tenants().tenant(tenant).await?.settings)?),
        }
    }

    pub(crate) fn open_runs(&self) -> &dyn OpenRuns {
        self.0.database.runs.as_ref()
    }

    pub(crate) fn rate(&self) -> &Rate {
        &self.0.rate
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

    pub(crate) fn underway(&self) -> &Underway {
        &self.0.underway
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// All routes, with what every request passes before it comes to one.
    pub fn router(&self) -> Router {
        let names = Names::with(&self.settings().names);
        Router::from(routes::table())
            .fallback(|| async { Problem::not_found() })
            .method_not_allowed_fallback(|| async { Problem::no_method() })
            .layer(DefaultBodyLimit::max(self.settings().body))
            .layer(middleware::from_fn_with_state(self.clone(), announced))
            .layer(middleware::from_fn_with_state(self.clone(), entry::enter_where_wanted))
            .layer(middleware::from_fn_with_state(self.clone(), counted))
            // Outermost: nothing is done for whom this server is not meant.
            .layer(middleware::from_fn_with_state(names, guard::guard))
            .layer(middleware::from_fn(compat::in_their_words))
            .with_state(self.clone())
    }

    /// Goes on with runs that a process left behind which is gone, each when it is its tenant's turn; one that cannot
    /// be gone on with is ended. Gives how many there are.
    pub async fn go_on(&self) -> Result<usize, StoreError> {
        let (mut count, mut after) = (0, None::<(String, String)>);
        loop {
            let from = after.as_ref().map(|(tenant, run)| (tenant.as_str(), run.as_str()));
            let left = self.0.database.runs.open_runs(None, from, LEFT).await?;
            let Some(last) = left.last() else { return Ok(count) };
            after = Some((last.session.tenant.clone(), last.id.clone()));
            // Runs that agents began are ended with those that began them.
            for run in left.into_iter().filter(|run| run.parent.is_none()) {
                count += 1;
                let app = self.clone();
                tokio::spawn(async move {
                    if let Err(error) = app.go_on_with(&run).await {
                        tracing::warn!(run = run.id, %error, "a run that was left cannot be gone on with");
                    }
                });
            }
        }
    }

    async fn go_on_with(&self, run: &RunRecord) -> Result<(), StoreError> {
        let tenant = &run.session.tenant;
        let share = Share { waiting: u32::MAX, ..routes::share(self.quotas(tenant).await.unwrap_or_default()) };
        // Not let in: the server is about to stop, and the next one goes on.
        let Ok(admitted) = self.admission().admit(tenant, share).await else { return Ok(()) };
        let problem = match self.runs().go_on(run, admitted).await {
            Ok(_) => return Ok(()),
            // Somebody is at it.
            Err(problem) if problem.status() == StatusCode::CONFLICT => return Ok(()),
            Err(problem) => problem,
        };
        let owner = palisade_store::this_process();
        let lease = match self.store().claim(tenant, &run.id, owner, Duration::from_secs(30)).await {
            Ok(lease) => lease,
            Err(StoreError::Busy { .. } | StoreError::NoRun(_) | StoreError::NoSession(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let ending = Ending::Failed(format!("the server was started again: {}", problem.detail()));
        self.store().end(&lease, &RunEnd { ending, spending: run.spending }).await
    }

    /// Lets nobody in any more, and waits until all runs and calls are over. What is not over by then is left as it is: the next
    /// server goes on with it.
    pub async fn drain(&self, patience: Duration) {
        self.admission().close();
        let idle = async {
            while self.admission().counts().0 > 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        drop(tokio::time::timeout(patience, idle).await);
    }
}

/// Refuses a body that is announced to be too large before any of it is read.
async fn announced(State(app): State<App>, request: Request, next: Next) -> Response {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    match length {
        Some(length) if length > app.settings().body as u64 => {
            Problem::too_large("the body is larger than a request may be").into_response()
        }
        _ => next.run(request).await,
    }
}

/// Counts answers and logs them; a route that panics is answered, too. Of a request nothing is logged but which route
/// it came to: paths hold ids, and everything else may hold a secret.
async fn counted(State(app): State<App>, request: Request, next: Next) -> Response {
    let (method, started) = (request.method().clone(), Instant::now());
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let answered = std::panic::AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let response = answered.unwrap_or_else(|_| Problem::broken(&"a route panicked").into_response());
    let status = response.status().as_u16();
    app.metrics().answered(status);
    let (route, millis) = (route.as_deref().unwrap_or("-"), started.elapsed().as_millis() as u64);
    tracing::info!(%method, route, status, millis, "answered");
    response
}
