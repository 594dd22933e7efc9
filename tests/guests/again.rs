//! Calls the tool named `again`, which may be itself.
#![cfg(target_family = "wasm")]

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package palisade:toolbox@0.1.0;
            interface again { call: func(input: string) -> result<string, string>; }
            world caller { import again; }
        ",
    });
}

/// The input of `again`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// How many calls to make below this one.
    times: u32,
}

palisade_tool::tool! {
    /// Calls `again`.
    #[tool(needs = ["tools"], read_only = true, idempotent = true)]
    pub fn again(input: Input) -> Result<String, Failure> {
        match input.times.checked_sub(1) {
            None => Ok("bottom".to_owned()),
            Some(times) => bindings::palisade::toolbox::again::call(&format!(r#"{{"times":{times}}}"#)).map_err(Failure::Failed),
        }
    }
}
