//! Waits: asleep, on something that never happens, or for input that never comes.
#![cfg(target_family = "wasm")]

use std::{io::Read as _, thread, time::Duration};

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use wasip2::{clocks::monotonic_clock::subscribe_duration, io::poll};

/// The input of `wait`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// What for.
    way: Way,
    /// How long to sleep.
    #[serde(default)]
    milliseconds: u64,
}

/// Things to wait for.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Way {
    /// The time to pass.
    Sleep,
    /// One thing that never happens.
    Block,
    /// Any of many things that never happen.
    Poll,
    /// Standard input.
    Input,
}

palisade_tool::tool! {
    /// Waits.
    #[tool(needs = [], read_only = true, idempotent = true)]
    pub fn wait(input: Input) -> Result<String, Failure> {
        match input.way {
            Way::Sleep => thread::sleep(Duration::from_millis(input.milliseconds)),
            Way::Block => subscribe_duration(u64::MAX).block(),
            Way::Poll => {
                let never: Vec<_> = (0..100).map(|_| subscribe_duration(u64::MAX)).collect();
                poll::poll(&never.iter().collect::<Vec<_>>());
            }
            Way::Input => {
                let mut bytes = Vec::new();
                let read = std::io::stdin().read_to_end(&mut bytes);
                return Ok(format!("{read:?}"));
            }
        }
        Ok("waited".to_owned())
    }
}
