//! Returns what it is given: the positive control, and the measure of a bare call.

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `echo`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// What to return.
    text: String,
}

palisade_tool::tool! {
    /// Returns what it is given.
    #[tool(needs = [], read_only = true, idempotent = true)]
    pub fn echo(input: Input) -> Result<String, Failure> {
        Ok(input.text)
    }
}
