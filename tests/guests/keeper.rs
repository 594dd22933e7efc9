//! Keeps values in the host's storage, under any key it is told.
#![cfg(target_family = "wasm")]

use palisade_tool::{Failure, bindings::host::storage};
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `keeper`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// What to do.
    op: Op,
    /// The key, or for `keys` what it begins with.
    key: String,
    /// What to keep there.
    #[serde(default)]
    value: String,
}

/// What to do.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Op {
    Get,
    Set,
    Delete,
    Keys,
}

palisade_tool::tool! {
    /// Keeps values.
    #[tool(needs = ["storage"], read_only = false, idempotent = true)]
    pub fn keeper(input: Input) -> Result<String, Failure> {
        let Input { op, key, value } = input;
        let answer = match op {
            Op::Get => storage::get(&key).map(|value| value.map_or_else(String::new, |value| String::from_utf8_lossy(&value).into_owned())),
            Op::Set => storage::set(&key, value.as_bytes()).map(|()| "kept".to_owned()),
            Op::Delete => storage::delete(&key).map(|()| "deleted".to_owned()),
            Op::Keys => storage::keys(&key).map(|keys| keys.join(",")),
        };
        answer.map_err(|error| match error {
            storage::Error::InvalidKey(_) => Failure::InvalidInput("invalid key".to_owned()),
            storage::Error::Full(_) => Failure::Failed("full".to_owned()),
            storage::Error::Failed(text) => Failure::Failed(text),
        })
    }
}
