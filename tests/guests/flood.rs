//! Hands over more than anybody wants: printed, returned, as an argument, or asked of the host.
#![cfg(target_family = "wasm")]

use palisade_tool::{Failure, bindings::host::progress};
use schemars::JsonSchema;
use serde::Deserialize;
use wasip2::{
    cli::{stderr::get_stderr, stdout::get_stdout},
    io::streams::OutputStream,
    random::{insecure::get_insecure_random_bytes, random::get_random_bytes},
};

/// The input of `flood`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// Where to.
    way: Way,
    /// How much.
    bytes: u64,
}

/// Where to.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Way {
    Stdout,
    Stderr,
    Result,
    Error,
    Argument,
    Random,
    InsecureRandom,
}

palisade_tool::tool! {
    /// Hands over more than anybody wants.
    #[tool(needs = [], read_only = true, idempotent = true)]
    pub fn flood(input: Input) -> Result<String, Failure> {
        let length = usize::try_from(input.bytes).unwrap_or(usize::MAX);
        match input.way {
            Way::Stdout => print(&get_stdout(), input.bytes),
            Way::Stderr => print(&get_stderr(), input.bytes),
            Way::Result => Ok("x".repeat(length)),
            Way::Error => Err(Failure::Failed("x".repeat(length))),
            Way::Argument => {
                progress::report(&"x".repeat(length));
                Ok("reported".to_owned())
            }
            Way::Random => Ok(get_random_bytes(input.bytes).len().to_string()),
            Way::InsecureRandom => Ok(get_insecure_random_bytes(input.bytes).len().to_string()),
        }
    }
}

fn print(stream: &OutputStream, bytes: u64) -> Result<String, Failure> {
    let failed = |error| Failure::Failed(format!("{error:?}"));
    let block = vec![b'x'; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let room = stream.check_write().map_err(failed)?.min(left).min(block.len() as u64);
        stream.write(&block[..usize::try_from(room).unwrap_or(0)]).map_err(failed)?;
        left -= room;
    }
    Ok("printed".to_owned())
}
