//! What there is to ask for, for programs at `/openapi.json` and for people at `/docs`: plain files that are part of this
//! program, and hold nothing of anybody.

use std::sync::LazyLock;

use axum::response::Response;

use super::page::answer;
use crate::{
    body,
    description::failures::{Absent, Open},
    problem::Problem,
};

const FILES: [(&str, &str, &str); 2] = [
    ("docs.css", "text/css; charset=utf-8", include_str!("../web/docs/docs.css")),
    ("docs.js", "text/javascript; charset=utf-8", include_str!("../web/docs/docs.js")),
];

static DOCUMENT: LazyLock<Result<String, String>> =
    LazyLock::new(|| super::table().into_openapi().to_json().map_err(|error| error.to_string()));

/// What every route takes and gives.
#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "openapi",
    tag = "server",
    security(()),
    responses(
        (status = 200, description = "This document.", body = Object, content_type = "application/json"),
        Open,
    )
)]
pub(super) async fn document() -> Result<Response, Problem> {
    let text = DOCUMENT.as_ref().map_err(|error| Problem::broken(error))?;
    Ok(answer("application/json", text))
}

/// The same for people.
#[utoipa::path(
    get,
    path = "/docs",
    operation_id = "docs",
    tag = "server",
    security(()),
    responses(
        (status = 200, description = "A page that shows this document.", body = String, content_type = "text/html"),
        Open,
    )
)]
pub(super) async fn index() -> Response {
    answer("text/html; charset=utf-8", include_str!("../web/docs/docs.html"))
}

/// What belongs to that page.
#[utoipa::path(
    get,
    path = "/docs/{file}",
    operation_id = "docs_file",
    tag = "server",
    security(()),
    params(("file" = String, Path, description = "Its name.")),
    responses(
        (
            status = 200,
            description = "What belongs to the page.",
            content((String = "text/css"), (String = "text/javascript"))
        ),
        Open, Absent,
    )
)]
pub(super) async fn file(body::Path(name): body::Path<String>) -> Result<Response, Problem> {
    let found = FILES.iter().find(|(file, _, _)| *file == name);
    found.map(|(_, kind, text)| answer(kind, text)).ok_or_else(Problem::not_found)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn read() -> Value {
        serde_json::from_str(DOCUMENT.as_ref().unwrap()).unwrap()
    }

    fn operations(document: &Value) -> Vec<(String, &Value)> {
        let paths = document["paths"].as_object().unwrap().iter();
        let all = paths.flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().iter();
            methods.map(move |(method, operation)| (format!("{} {path}", method.to_uppercase()), operation))
        });
        all.collect()
    }

    #[test]
    fn every_reference_of_the_document_leads_somewhere() {
        let document = read();
        let mut left = vec![&document];
        while let Some(value) = left.pop() {
            match value {
                Value::Object(members) => {
                    if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
                    }
                    left.extend(members.values());
                }
                Value::Array(values) => left.extend(values),
                _ => {}
            }
        }
    }

    #[test]
    fn every_route_says_what_it_does_and_is_known_by_one_name() {
        let document = read();
        let operations = operations(&document);
        assert!(operations.len() > 40, "{}", operations.len());
        let mut names: Vec<&str> =
            operations.iter().map(|(_, operation)| operation["operationId"].as_str().unwrap()).collect();
        names.sort_unstable();
        assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
        for (route, operation) in &operations {
            let text = operation["summary"].as_str().unwrap_or_default();
            assert!(text.ends_with(['.', '?']) && operation["tags"].as_array().unwrap().len() == 1, "{route}: {text}");
            let (open, keyless) = (super::super::is_open(route.split(' ').nth(1).unwrap()), &operation["security"]);
            assert_eq!(open, keyless == &serde_json::json!([{}]), "{route}: {keyless}");
        }
    }

    #[test]
    fn problems_are_described_as_they_are_sent() {
        let document = read();
        for (route, operation) in operations(&document) {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let kinds: Vec<&str> =
                    response["content"].as_object().into_iter().flatten().map(|(kind, _)| kind.as_str()).collect();
                let expected = if route.contains(" /v1/") { "application/json" } else { "application/problem+json" };
                if status.as_str() >= "400" {
                    assert_eq!(kinds, [expected], "{route} {status}");
                }
            }
        }
    }
}
