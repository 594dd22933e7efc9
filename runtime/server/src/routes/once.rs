//! The same request twice is one: a client that does not know whether it was heard asks again with the same
//! `Idempotency-Key`.

use std::time::Duration;

use axum::http::HeaderMap;
use palisade_store::Begun;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{app::App, entry::Caller, problem::Problem};

/// How long a run may take to begin; it may have to wait for its turn.
const LASTS: Duration = Duration::from_secs(60 * 60);
/// The longest key.
const LONGEST: usize = 200;

/// A request that may have been heard before.
pub(super) struct Once {
    app: App,
    tenant: String,
    /// Absent: the client does not mind.
    key: Option<String>,
    /// What came of it the first time.
    known: Option<String>,
    settled: bool,
}

impl Once {
    /// Looks whether a request was heard before.
    pub(super) async fn begin(app: &App, caller: &Caller, headers: &HeaderMap, asked: &Value) -> Result<Self, Problem> {
        let (app, tenant) = (app.clone(), caller.tenant.to_string());
        let Some(key) = headers.get("idempotency-key") else {
            return Ok(Self { app, tenant, key: None, known: None, settled: true });
        };
        let key = key.to_str().unwrap_or_default().trim().to_owned();
        if key.is_empty() || key.len() > LONGEST {
            return Err(Problem::invalid(format!("`Idempotency-Key` is a text of 1 to {LONGEST} characters")));
        }
        let fingerprint: [u8; 32] = Sha256::digest(asked.to_string()).into();
        let known = match app.idempotency().begin(&tenant, &key, fingerprint, LASTS).await? {
            Begun::Fresh => None,
            Begun::Done(answer) => Some(serde_json::from_str(&answer).map_err(|error| Problem::broken(&error))?),
            Begun::UnderWay => return Err(Problem::conflict("the same request is being worked on")),
            Begun::Conflict => {
                return Err(Problem::unprocessable("another request had this `Idempotency-Key`; take a new one"));
            }
        };
        let settled = known.is_some();
        Ok(Self { app, tenant, key: Some(key), known, settled })
    }

    /// What came of it the first time.
    pub(super) fn known(&self) -> Option<&str> {
        self.known.as_deref()
    }

    /// Remembers what came of it.
    pub(super) async fn settle(mut self, run: &str) -> Result<(), Problem> {
        self.settled = true;
        match self.key.take() {
            Some(key) => Ok(self.app.idempotency().finish(&self.tenant, &key, &Value::from(run).to_string()).await?),
            None => Ok(()),
        }
    }
}

impl Drop for Once {
    fn drop(&mut self) {
        // What failed was not done, and may be asked for again.
        if let (false, Some(key)) = (self.settled, self.key.take()) {
            let (app, tenant) = (self.app.clone(), self.tenant.clone());
            tokio::spawn(async move { drop(app.idempotency().forget(&tenant, &key).await) });
        }
    }
}
