//! The page: plain files that are part of this program. They hold no data; what they show they ask for with the key of
//! whoever looks at them.

use axum::{
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};

use crate::{
    body,
    description::failures::{Absent, Open},
    problem::Problem,
};

/// Nothing but what this server itself has, and nobody else's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const FILES: [(&str, &str, &str); 9] = [
    ("style.css", "text/css; charset=utf-8", include_str!("../web/style.css")),
    ("main.js", SCRIPT, include_str!("../web/main.js")),
    ("api.js", SCRIPT, include_str!("../web/api.js")),
    ("sessions.js", SCRIPT, include_str!("../web/sessions.js")),
    ("chat.js", SCRIPT, include_str!("../web/chat.js")),
    ("timeline.js", SCRIPT, include_str!("../web/timeline.js")),
    ("scope.js", SCRIPT, include_str!("../web/scope.js")),
    ("usage.js", SCRIPT, include_str!("../web/usage.js")),
    ("markdown.js", SCRIPT, include_str!("../web/markdown.js")),
];
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The page itself.
#[utoipa::path(
    get,
    path = "/",
    operation_id = "page",
    tag = "server",
    security(()),
    responses(
        (status = 200, description = "The page.", body = String, content_type = "text/html"),
        Open,
    )
)]
pub(super) async fn index() -> Response {
    answer("text/html; charset=utf-8", include_str!("../web/index.html"))
}

/// What belongs to it.
#[utoipa::path(
    get,
    path = "/page/{file}",
    operation_id = "page_file",
    tag = "server",
    params(("file" = String, Path, description = "Its name.")),
    security(()),
    responses(
        (
            status = 200,
            description = "What belongs to the page.",
            content((String = "text/css"), (String = "text/javascript"), (String = "image/svg+xml"))
        ),
        Open, Absent,
    )
)]
pub(super) async fn file(body::Path(name): body::Path<String>) -> Result<Response, Problem> {
    let found = FILES.iter().find(|(file, _, _)| *file == name);
    found.map(|(_, kind, text)| answer(kind, text)).ok_or_else(Problem::not_found)
}

fn answer(kind: &'static str, text: &'static str) -> Response {
    let mut response = text.into_response();
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
