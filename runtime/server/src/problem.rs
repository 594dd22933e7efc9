//! What a request that fails is answered with: a problem document (RFC 9457) whose `type` programs can rely on.

use axum::{
    body::Body,
    extract::rejection::{PathRejection, QueryRejection},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use palisade_agent::{FailureKind, PanelsError, Refusal, StoreError};
use serde::Serialize;

use crate::house::Refused;

/// A request that fails.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Problem {
    /// Which kind of problem it is, such as `/problems/not-found`.
    #[serde(rename = "type")]
    kind: String,
    /// The same in a few words.
    #[schema(value_type = String)]
    title: &'static str,
    /// The status of the answer.
    status: u16,
    /// What happened this time, and what to do.
    detail: String,
    /// When to try again, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
}

impl Problem {
    fn new(status: StatusCode, kind: &str, title: &'static str, detail: impl Into<String>) -> Self {
        let (kind, status) = (format!("/problems/{kind}"), status.as_u16());
        Self { kind, title, status, detail: detail.into(), retry_after: None }
    }

    /// The request makes no sense.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", "The request cannot be understood", detail)
    }

    /// Nobody knows who asks.
    pub(crate) fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "A key is needed", detail)
    }

    /// Whoever asks may not.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "This is not allowed", detail)
    }

    /// There is no such thing, or it is somebody else's; nobody is told which.
    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "There is no such thing", "There is nothing of this name here.")
    }

    /// It cannot be asked for like this.
    pub(crate) fn no_method() -> Self {
        let detail = "The header `Allow` says what can be done here.";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "no-method", "It cannot be asked for like this", detail)
    }

    /// It is in use, or there already.
    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", "It cannot be done now", detail)
    }

    /// It took longer than a request may take.
    pub(crate) fn too_slow(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "The request took too long", detail)
    }

    /// More than a request may have.
    pub(crate) fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The request is too large", detail)
    }

    /// The words are clear and what they ask for cannot be.
    pub(crate) fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", "The request cannot be carried out", detail)
    }

    /// The tenant has had what it may have for now.
    pub(crate) fn too_many(detail: impl Into<String>, after: u64) -> Self {
        let problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many", "Too much at once", detail);
        Self { retry_after: Some(after), ..problem }
    }

    /// The server cannot do it now.
    pub(crate) fn unavailable(detail: impl Into<String>, after: u64) -> Self {
        let problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Not now", detail);
        Self { retry_after: Some(after), ..problem }
    }

    /// Something is wrong in here; what, is for the log.
    pub(crate) fn broken(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "a request failed");
        Self::internal()
    }

    /// Something is wrong in here that the log tells of already.
    fn internal() -> Self {
        let detail = "The server's log says what it was.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Something is wrong in the server", detail)
    }

    /// The status.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// What happened, in words.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// When to try again, in seconds.
    #[cfg(test)]
    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status == 401 {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(after) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after));
        }
        // Whoever has other words for it finds it there.
        response.extensions_mut().insert(self);
        response
    }
}

impl From<PanelsError> for Problem {
    fn from(error: PanelsError) -> Self {
        Self::unprocessable(error.to_string())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSession(_) | StoreError::NoRun(_) | StoreError::NoTenant(_) | StoreError::NoKey(_) => {
                Self::not_found()
            }
            StoreError::TenantTaken(_) | StoreError::KeyTaken(_) => Self::conflict(error.to_string()),
            StoreError::NameTaken(_) | StoreError::IdTaken(_) | StoreError::Busy { .. } | StoreError::Outdated(_) => {
                Self::conflict(match error {
                    // Who holds it is nobody's business.
                    StoreError::Busy { .. } => "the session is in use; wait for its run, or cancel it".to_owned(),
                    other => other.to_string(),
                })
            }
            StoreError::Invalid(detail) => Self::unprocessable(detail),
            StoreError::Full(_) | StoreError::Unavailable(_) => {
                tracing::warn!(%error, "the database cannot be used");
                Self::unavailable("the database cannot be used now", 5)
            }
            _ => Self::broken(&error),
        }
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::invalid(rejection.body_text())
    }
}

/// A path whose parts make no sense leads nowhere.
impl From<PathRejection> for Problem {
    fn from(_: PathRejection) -> Self {
        Self::not_found()
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Unknown(_) => Self::not_found(),
            Refused::Unusable(why) => Self::unprocessable(why),
            broken @ Refused::Broken(_) => Self::broken(&broken),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match (refusal.code, refusal.kind) {
            ("agent_not_found" | "agent_not_accessible", _) => Self::not_found(),
            ("agent_session_error", _) if refusal.text == "Session not found" => Self::not_found(),
            ("agent_busy", _) => Self::conflict("the session is in use; wait for its run, or cancel it"),
            (_, FailureKind::InvalidInput) => Self::invalid(refusal.text),
            (_, FailureKind::Denied) => Self::forbidden(refusal.text),
            _ => Self::unprocessable(refusal.text),
        }
    }
}
