//! What a request says, in its path, its query and its body: JSON, bounded, without doubt about what it says. What
//! cannot be understood is a [`Problem`].

use std::time::Duration;

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Request},
    http::header,
};
use palisade_agent::strict_json;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// How long a body may take.
const LONGEST: Duration = Duration::from_secs(30);

/// A JSON body. No member may be there twice or be unknown.
pub(crate) struct Json<T>(pub(crate) T);

/// What the path says.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Problem))]
pub(crate) struct Path<T>(pub(crate) T);

/// What the query says.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Problem))]
pub(crate) struct Query<T>(pub(crate) T);

/// A JSON body, or none.
pub(crate) struct Optional<T>(pub(crate) Option<T>);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let Optional(value) = Optional::from_request(request, state).await?;
        value.map(Self).ok_or_else(|| Problem::invalid("the body is empty; send JSON"))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Optional<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).map(|kind| kind.to_str().unwrap_or_default().to_owned());
        let bytes = bytes(request, state).await?;
        if bytes.is_empty() {
            return Ok(Self(None));
        }
        // A page elsewhere can send other kinds without asking first.
        let is_json = kind.as_deref().and_then(|kind| kind.split(';').next()).is_some_and(|kind| {
            let kind = kind.trim();
            kind.eq_ignore_ascii_case("application/json") || kind.to_ascii_lowercase().ends_with("+json")
        });
        if !is_json {
            return Err(Problem::invalid("send JSON, as `Content-Type: application/json`"));
        }
        read(&bytes).map(Some).map(Self)
    }
}

/// Reads JSON.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let value = strict_json(bytes).map_err(|error| Problem::invalid(format!("the body is no JSON: {error}")))?;
    serde_json::from_value(value).map_err(|error| Problem::invalid(format!("the body does not fit: {error}")))
}

async fn bytes<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    let read = tokio::time::timeout(LONGEST, Bytes::from_request(request, state)).await;
    let read = read.map_err(|_| Problem::too_slow("the body took too long"))?;
    read.map_err(|rejection| match rejection.status().as_u16() {
        413 => Problem::too_large("the body is larger than a request may be"),
        _ => Problem::invalid("the body did not come to its end"),
    })
}
