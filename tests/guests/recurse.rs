//! Recurses, as deep as it is told or for ever.

use std::hint::black_box;

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `recurse`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// How deep.
    depth: u64,
}

palisade_tool::tool! {
    /// Recurses.
    #[tool(needs = [], read_only = true, idempotent = true)]
    pub fn recurse(input: Input) -> Result<String, Failure> {
        Ok(down(input.depth).to_string())
    }
}

fn down(left: u64) -> u64 {
    let space = black_box([left; 16]);
    if left == 0 { 0 } else { black_box(down(space[3] - 1) + 1) }
}
