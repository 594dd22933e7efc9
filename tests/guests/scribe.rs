//! Has the agent's `write` tool write, again and again: a way round its own limits, if there were one.
#![cfg(target_family = "wasm")]

use palisade_tool::{Failure, toolbox};
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `scribe`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// How many files to have written.
    files: u32,
    /// How many bytes each.
    bytes: usize,
}

palisade_tool::tool! {
    /// Has files written.
    #[tool(needs = ["tools"], read_only = false, idempotent = false)]
    pub fn scribe(input: Input) -> Result<String, Failure> {
        let content = "x".repeat(input.bytes);
        for number in 0..input.files {
            let call = format!(r#"{{"path":"{number}.txt","content":"{content}"}}"#);
            toolbox::write(&call)
                .map_err(|error| Failure::Failed(format!("after {number} files: {}", error.text())))?;
        }
        Ok(format!("{} files", input.files))
    }
}
