//! `dial`: a hostile guest that makes one request. Whether it got anywhere is judged by the host, from what was looked
//! up and dialled.

use palisade_tool::{
    Failure,
    http::{self, HttpError, Request},
};
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `dial`, in the shape of that of `probe`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// `request`, or the name of a secret to take along.
    attempt: String,
    /// Where to: `https://host/path`.
    #[serde(default)]
    path: String,
}

palisade_tool::tool! {
    /// Makes a request that a sandbox should refuse.
    #[tool(needs = ["net.http", "secrets"], read_only = false, idempotent = false)]
    pub fn dial(input: Input) -> Result<String, Failure> {
        let Input { attempt, path: url } = input;
        let (scheme, rest) = url.split_once("://").unwrap_or(("https", &url));
        let (authority, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
        let bearer = format!("Bearer {{{{secret:{attempt}}}}}");
        let headers: &[(&str, &str)] = if attempt == "request" { &[] } else { &[("authorization", &bearer)] };
        let request = Request { method: "GET", scheme, authority, path, headers, body: b"" };
        match http::send(&request) {
            Ok(response) => Ok(format!("it was answered with {}", response.status)),
            Err(HttpError::Denied) => Err(Failure::Denied("refused".to_owned())),
            Err(HttpError::Invalid(text) | HttpError::Failed(text)) => Err(Failure::Failed(text)),
        }
    }
}
