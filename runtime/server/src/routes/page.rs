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

/// Nothing but what this server itself has, nobody else's frame, and no way from a text to markup or to a script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

const FILES: [(&str, &str, &str); 28] = [
    ("icon.svg", "image/svg+xml", include_str!("../web/icon.svg")),
    ("style.css", STYLE, include_str!("../web/style.css")),
    ("parts.css", STYLE, include_str!("../web/parts.css")),
    ("api.js", SCRIPT, include_str!("../web/api.js")),
    ("approvals.js", SCRIPT, include_str!("../web/approvals.js")),
    ("ceiling.js", SCRIPT, include_str!("../web/ceiling.js")),
    ("chart.js", SCRIPT, include_str!("../web/chart.js")),
    ("chat.js", SCRIPT, include_str!("../web/chat.js")),
    ("composer.js", SCRIPT, include_str!("../web/composer.js")),
    ("context.js", SCRIPT, include_str!("../web/context.js")),
    ("dialog.js", SCRIPT, include_str!("../web/dialog.js")),
    ("dom.js", SCRIPT, include_str!("../web/dom.js")),
    ("history.js", SCRIPT, include_str!("../web/history.js")),
    ("inline.js", SCRIPT, include_str!("../web/inline.js")),
    ("kept.js", SCRIPT, include_str!("../web/kept.js")),
    ("main.js", SCRIPT, include_str!("../web/main.js")),
    ("markdown.js", SCRIPT, include_str!("../web/markdown.js")),
    ("menu.js", SCRIPT, include_str!("../web/menu.js")),
    ("sandbox.js", SCRIPT, include_str!("../web/sandbox.js")),
    ("scope.js", SCRIPT, include_str!("../web/scope.js")),
    ("scopes.js", SCRIPT, include_str!("../web/scopes.js")),
    ("sessions.js", SCRIPT, include_str!("../web/sessions.js")),
    ("shortcuts.js", SCRIPT, include_str!("../web/shortcuts.js")),
    ("stream.js", SCRIPT, include_str!("../web/stream.js")),
    ("theme.js", SCRIPT, include_str!("../web/theme.js")),
    ("timeline.js", SCRIPT, include_str!("../web/timeline.js")),
    ("usage.js", SCRIPT, include_str!("../web/usage.js")),
    ("words.js", SCRIPT, include_str!("../web/words.js")),
];
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

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

/// A file of this program, for a browser that is to do nothing else with it.
pub(super) fn answer(kind: &'static str, text: &'static str) -> Response {
    let mut response = text.into_response();
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        // A browser would look up the hosts of links in an answer before anybody follows them.
        (HeaderName::from_static("x-dns-prefetch-control"), "off"),
        (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=(), clipboard-read=()"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const INDEX: &str = include_str!("../web/index.html");

    /// What stands between two marks, everywhere in a text.
    fn between<'a>(text: &'a str, before: &str, after: char) -> BTreeSet<&'a str> {
        text.split(before).skip(1).filter_map(|rest| rest.split(after).next()).collect()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "looks at the sources")]
    fn every_file_that_the_page_wants_is_there_and_no_other() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/web");
        let names: BTreeSet<&str> = FILES.iter().map(|(name, _, _)| *name).collect();
        let mut wanted = between(INDEX, "=\"/page/", '"');
        for (_, _, text) in FILES {
            wanted.extend(between(text, "from \"./", '"'));
        }
        assert_eq!(names, wanted);
        let kept = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let kept: BTreeSet<String> = kept.filter(|name| name != "index.html" && name != "docs").collect();
        assert!(kept.iter().map(String::as_str).eq(names.iter().copied()), "{kept:?}");
    }

    #[test]
    fn no_text_becomes_markup_or_a_script_and_nothing_is_asked_for_elsewhere() {
        const MARKUP: [&str; 9] = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "DOMParser",
            "createContextualFragment",
            "eval(",
            "new Function",
            "javascript:",
        ];
        for (name, _, text) in FILES {
            for word in MARKUP {
                assert!(!text.contains(word), "{name}: {word}");
            }
            // The name of a space of elements is no address.
            let elsewhere = text.replace("http://www.w3.org/2000/svg", "");
            for scheme in ["\"http://", "\"https://", "`http", "url("] {
                assert!(!elsewhere.contains(scheme), "{name}: {scheme}");
            }
        }
        for inline in ["<script>", "<style", " style=", " onclick=", " onload=", "http:", "https:"] {
            assert!(!INDEX.contains(inline), "{inline}");
        }
    }

    #[test]
    fn a_page_is_held_to_what_this_server_has() {
        let response = answer("text/html; charset=utf-8", INDEX);
        let policy = response.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        for rule in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"] {
            assert!(policy.contains(rule), "{policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("data:") && !policy.contains('*'), "{policy}");
        assert_eq!(response.headers()["x-dns-prefetch-control"], "off");
    }
}
