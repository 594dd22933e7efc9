//! Failures in the words of the clients they are for.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, header},
    middleware::Next,
    response::Response,
};
use serde::Serialize;
use serde_json::Value;

use crate::problem::Problem;

/// Whose clients ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    OpenAi,
    Anthropic,
}

/// What clients of OpenAI read.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct OpenAiFailure {
    error: OpenAiError,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct OpenAiError {
    /// What happened, and what to do.
    message: String,
    /// Which kind of failure it is.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Always `null`.
    #[schema(value_type = Option<String>, required = true)]
    param: (),
    /// `model_not_found`, `invalid_api_key`, or nothing.
    #[schema(value_type = Option<String>, required = true)]
    code: Option<&'static str>,
}

/// What clients of Anthropic read.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct AnthropicFailure {
    /// Always `error`.
    #[serde(rename = "type")]
    kind: &'static str,
    error: AnthropicError,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct AnthropicError {
    /// Which kind of failure it is.
    #[serde(rename = "type")]
    kind: &'static str,
    /// What happened, and what to do.
    message: String,
}

impl Dialect {
    /// Whose client sends a request; nobody's: a problem stays as it is.
    fn of(request: &Request) -> Option<Self> {
        let rest = request.uri().path().strip_prefix("/v1/")?;
        // Both look for models in the same place; those of Anthropic say which version they speak.
        let is_anthropic = rest.starts_with("messages") || request.headers().contains_key("anthropic-version");
        Some(if is_anthropic { Self::Anthropic } else { Self::OpenAi })
    }

    /// A problem in its words.
    pub(crate) fn failure(self, problem: &Problem) -> Value {
        let (status, message) = (problem.status().as_u16(), problem.detail().to_owned());
        let failure = match self {
            Self::OpenAi => {
                let (kind, code) = match status {
                    401 => ("authentication_error", Some("invalid_api_key")),
                    403 => ("permission_error", None),
                    404 => ("invalid_request_error", Some("model_not_found")),
                    429 => ("rate_limit_error", None),
                    500.. => ("server_error", None),
                    _ => ("invalid_request_error", None),
                };
                serde_json::to_value(OpenAiFailure { error: OpenAiError { message, kind, param: (), code } })
            }
            Self::Anthropic => {
                let kind = match status {
                    401 => "authentication_error",
                    403 => "permission_error",
                    404 => "not_found_error",
                    413 => "request_too_large",
                    429 => "rate_limit_error",
                    503 => "overloaded_error",
                    500.. => "api_error",
                    _ => "invalid_request_error",
                };
                serde_json::to_value(AnthropicFailure { kind: "error", error: AnthropicError { kind, message } })
            }
        };
        failure.unwrap_or_default()
    }
}

/// Tells clients of problems in their own words, wherever those came up.
pub(crate) async fn in_their_words(request: Request, next: Next) -> Response {
    let dialect = Dialect::of(&request);
    let mut response = next.run(request).await;
    let problem = response.extensions_mut().remove::<Problem>();
    if let (Some(dialect), Some(problem)) = (dialect, problem) {
        *response.body_mut() = Body::from(dialect.failure(&problem).to_string());
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    response
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_client_is_known_by_where_it_asks_and_what_it_says() {
        let of = |path: &str, headers: &[(&'static str, &str)]| {
            let mut request = Request::new(Body::empty());
            *request.uri_mut() = path.parse().unwrap();
            for (name, value) in headers {
                request.headers_mut().append(*name, value.parse().unwrap());
            }
            Dialect::of(&request)
        };
        assert_eq!(of("/v1/chat/completions", &[]), Some(Dialect::OpenAi));
        assert_eq!(of("/v1/models", &[]), Some(Dialect::OpenAi));
        assert_eq!(of("/v1/models", &[("anthropic-version", "2023-06-01")]), Some(Dialect::Anthropic));
        assert_eq!(of("/v1/messages", &[]), Some(Dialect::Anthropic));
        assert_eq!(of("/api/agents", &[("anthropic-version", "2023-06-01")]), None);
        assert_eq!(of("/v1", &[]), None);
    }

    #[test]
    fn a_problem_is_told_in_both_ways() {
        let problem = Problem::too_many("later", 3);
        let expected =
            json!({ "error": { "message": "later", "type": "rate_limit_error", "param": null, "code": null } });
        assert_eq!(Dialect::OpenAi.failure(&problem), expected);
        let expected = json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "later" } });
        assert_eq!(Dialect::Anthropic.failure(&problem), expected);
    }
}
