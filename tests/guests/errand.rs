//! Has a tool of the agent called `query_db` answer, whoever brings it.
#![cfg(target_family = "wasm")]

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package palisade:toolbox@0.1.0;
            interface query-db { call: func(input: string) -> result<string, string>; }
            world caller { import query-db; }
        ",
    });
}

/// The input of `errand`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// What to ask.
    text: String,
}

palisade_tool::tool! {
    /// Has another tool answer.
    #[tool(needs = ["tools"], read_only = true, idempotent = true)]
    pub fn errand(input: Input) -> Result<String, Failure> {
        let call = serde_json::json!({ "text": input.text }).to_string();
        bindings::palisade::toolbox::query_db::call(&call).map_err(Failure::Failed)
    }
}
