//! Makes one request with `palisade:host/http`, as tools do in languages that cannot import `wasi:http`.
#![cfg(target_family = "wasm")]

use palisade_tool::{
    Failure,
    bindings::host::http::{self, Error, Request},
};

palisade_tool::tool! {
    /// Makes a request.
    #[tool(needs = ["net.http"], read_only = false, idempotent = false)]
    pub fn one_step(
        /// `GET`, `POST` and so on.
        method: String,
        /// Whom to ask for what.
        url: String,
        /// Headers.
        headers: Vec<(String, String)>,
        /// What is sent.
        body: String,
    ) -> Result<String, Failure> {
        let answer = http::send(&Request { method, url, headers, body: body.into_bytes() });
        let answer = answer.map_err(|error| match error {
            Error::Denied(why) => Failure::Denied(why),
            Error::Invalid(why) => Failure::InvalidInput(why),
            Error::Failed(why) => Failure::Failed(why),
        })?;
        let kind = answer.headers.iter().find(|(name, _)| name == "content-type");
        let kind = kind.map_or("none", |(_, value)| value.as_str());
        Ok(format!("{} {kind} {}", answer.status, String::from_utf8_lossy(&answer.body)))
    }
}
