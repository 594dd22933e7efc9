//! Uses handles that it was never given, or has given back.
#![cfg(target_family = "wasm")]
#![expect(unsafe_code, reason = "forging handles is the attempt")]

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use wasip2::{
    clocks::monotonic_clock::{now, subscribe_instant},
    filesystem::{preopens::get_directories, types::Descriptor},
    io::{poll::Pollable, streams::OutputStream},
};

/// The input of `dangle`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// What to do.
    way: Way,
    /// The number of a handle.
    #[serde(default)]
    handle: u32,
}

/// What to do with a handle.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Way {
    /// Use it as it is meant to be: the control.
    Use,
    /// Use a number as a file.
    ForgeFile,
    /// Use a number as a stream.
    ForgeStream,
    /// Use a file as something to wait for.
    Confuse,
    /// Use what was given back.
    UseAfterDrop,
    /// Give it back twice.
    DropTwice,
    /// Give back a number.
    DropForged,
}

palisade_tool::tool! {
    /// Uses handles that it does not have.
    #[tool(needs = ["fs.read"], read_only = true, idempotent = true)]
    pub fn dangle(input: Input) -> Result<String, Failure> {
        let Some((root, _)) = get_directories().into_iter().next() else {
            return Err(Failure::Failed("no directory".to_owned()));
        };
        // SAFETY of all below: a handle is a number; it is the host that must not believe it.
        match input.way {
            Way::Use => {
                subscribe_instant(now()).block();
                root.stat().map_err(|code| Failure::Failed(code.name().to_owned()))?;
            }
            Way::ForgeFile => return Ok(format!("{:?}", unsafe { Descriptor::from_handle(input.handle) }.stat())),
            Way::ForgeStream => return Ok(format!("{:?}", unsafe { OutputStream::from_handle(input.handle) }.check_write())),
            Way::Confuse => unsafe { Pollable::from_handle(root.take_handle()) }.block(),
            Way::UseAfterDrop => {
                let handle = root.handle();
                drop(root);
                return Ok(format!("{:?}", unsafe { Descriptor::from_handle(handle) }.stat()));
            }
            Way::DropTwice => {
                let handle = root.handle();
                drop(root);
                drop(unsafe { Descriptor::from_handle(handle) });
            }
            Way::DropForged => drop(unsafe { Descriptor::from_handle(input.handle) }),
        }
        Ok("done".to_owned())
    }
}
