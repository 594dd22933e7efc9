//! Ends otherwise than by returning.
#![expect(clippy::disallowed_methods, reason = "asking to exit is one of the ways to end")]

use std::hint::black_box;

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `crash`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// How to end.
    way: Way,
}

/// Ways to end.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Way {
    /// By returning: the control.
    Return,
    /// By a panic.
    Panic,
    /// By an instruction that always traps.
    Abort,
    /// By asking to exit.
    Exit,
    /// By reading beyond all memory.
    Beyond,
}

palisade_tool::tool! {
    /// Ends otherwise than by returning.
    #[tool(needs = [], read_only = true, idempotent = true)]
    pub fn crash(input: Input) -> Result<String, Failure> {
        match input.way {
            Way::Return => Ok("returned".to_owned()),
            Way::Panic => panic!("a guest's own words"),
            Way::Abort => std::process::abort(),
            Way::Exit => std::process::exit(3),
            Way::Beyond => Ok(beyond().to_string()),
        }
    }
}

#[expect(unsafe_code, reason = "reading beyond memory is the attempt")]
fn beyond() -> u8 {
    let far: *const u8 = std::ptr::without_provenance(black_box(0xffff_fff0));
    // SAFETY: it is not; the sandbox must end the call.
    unsafe { far.read_volatile() }
}
