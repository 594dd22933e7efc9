//! Computes for ever, in small steps or in single instructions that take long.

use std::hint::black_box;

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `spin`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// How to pass the time.
    way: Way,
}

/// Ways to compute for ever.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Way {
    /// Do not: the control.
    Stop,
    /// Count.
    Count,
    /// Overwrite a large piece of memory again and again.
    Fill,
    /// Move a large piece of memory to and fro.
    Copy,
}

/// As much as the limit leaves room for.
const LARGE: usize = 96 << 20;

palisade_tool::tool! {
    /// Computes for ever.
    #[tool(needs = [], read_only = true, idempotent = true)]
    pub fn spin(input: Input) -> Result<String, Failure> {
        let mut count = 0_u64;
        let mut memory = vec![0_u8; if matches!(input.way, Way::Fill | Way::Copy) { LARGE } else { 0 }];
        loop {
            match input.way {
                Way::Stop => return Ok("stopped".to_owned()),
                Way::Count => count = black_box(count.wrapping_add(1)),
                Way::Fill => black_box(&mut memory).fill(7),
                Way::Copy => black_box(&mut memory).copy_within(..LARGE / 2, LARGE / 2),
            }
        }
    }
}
