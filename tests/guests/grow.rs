//! Takes memory: politely, asking for pages and looking at the answer, or until it breaks.

use std::hint::black_box;

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `grow`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// Mebibytes to ask for.
    mebibytes: usize,
    /// What happens if they are refused: return, or crash as an allocator does.
    polite: bool,
}

palisade_tool::tool! {
    /// Takes memory.
    #[tool(needs = [], read_only = true, idempotent = true)]
    pub fn grow(input: Input) -> Result<String, Failure> {
        if input.polite {
            return Ok(ask(input.mebibytes).to_owned());
        }
        let taken: Vec<Vec<u8>> = (0..input.mebibytes).map(|_| black_box(vec![1; 1 << 20])).collect();
        Ok(format!("took {}", taken.len()))
    }
}

#[cfg(target_family = "wasm")]
fn ask(mebibytes: usize) -> &'static str {
    match core::arch::wasm32::memory_grow(0, mebibytes * 16) {
        usize::MAX => "refused",
        _ => "granted",
    }
}

#[cfg(not(target_family = "wasm"))]
fn ask(_mebibytes: usize) -> &'static str {
    "refused"
}
