//! Says how far it is, three times, and then what it came to: a tool that wants nothing to be told.
#![cfg(target_family = "wasm")]

use palisade_tool::{Failure, progress};
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `recite`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {}

palisade_tool::tool! {
    /// Says how far it is, and what it came to.
    #[tool(needs = [], read_only = true, idempotent = true)]
    pub fn recite(_input: Input) -> Result<String, Failure> {
        for step in ["begun", "half done", "done"] {
            progress::report(step);
        }
        Ok("It was recited.".to_owned())
    }
}
