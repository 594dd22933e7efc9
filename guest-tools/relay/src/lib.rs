//! `relay`: a hostile guest that does nothing itself and has its agent's `probe` do it, or what the host has put in its
//! place: a way round what holds for that, if there were one.

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `relay`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What the other tool is called with, as JSON.
    input: String,
}

palisade_tool::tool! {
    /// Has another tool try something that a sandbox should refuse.
    #[tool(needs = ["tools"], read_only = false, idempotent = false)]
    pub fn relay(input: Input) -> Result<String, Failure> {
        probe(&input.input).map_err(Failure::Failed)
    }
}

#[cfg(target_family = "wasm")]
fn probe(input: &str) -> Result<String, String> {
    bindings::palisade::toolbox::probe::call(input)
}

/// Outside of a sandbox there is nobody to ask.
#[cfg(not(target_family = "wasm"))]
fn probe(_: &str) -> Result<String, String> {
    Err("there is no other tool here".to_owned())
}

#[cfg(target_family = "wasm")]
mod bindings {
    wit_bindgen::generate!({
        inline: "
            package palisade:toolbox@0.1.0;
            interface probe { call: func(input: string) -> result<string, string>; }
            world caller { import probe; }
        ",
    });
}
