//! Takes handles and gives none back.
#![cfg(target_family = "wasm")]

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use wasip2::{
    clocks::monotonic_clock::subscribe_duration,
    filesystem::{
        preopens::get_directories,
        types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags},
    },
};

/// The input of `hoard`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// What of.
    way: Way,
    /// How many.
    count: u64,
}

/// Kinds of handles.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Way {
    /// Open files.
    Files,
    /// Open directories.
    Directories,
    /// Open files, after giving back directories that were handed out for nothing.
    Refund,
    /// Open files, each after something that cannot be opened: what lies below a file.
    Astray,
    /// Streams of one file.
    Streams,
    /// Streams of files whose own handle is given back.
    Orphans,
    /// Listings of one directory.
    Listings,
    /// Things to wait for.
    Pollables,
    /// The granted directories, again and again.
    Preopens,
}

palisade_tool::tool! {
    /// Takes handles.
    #[tool(needs = ["fs.read"], read_only = true, idempotent = true)]
    pub fn hoard(input: Input) -> Result<String, Failure> {
        let Some((root, _)) = get_directories().into_iter().next() else {
            return Err(Failure::Failed("no directory".to_owned()));
        };
        let file = || root.open_at(PathFlags::empty(), "file", OpenFlags::empty(), DescriptorFlags::READ);
        let directory = || root.open_at(PathFlags::empty(), "folder", OpenFlags::DIRECTORY, DescriptorFlags::READ);
        match input.way {
            Way::Files => take(input.count, file),
            Way::Directories => take(input.count, directory),
            Way::Refund => take(input.count, || {
                drop(get_directories());
                file()
            }),
            Way::Astray => {
                let none = file().map_err(failed)?;
                take(input.count, || match none.open_at(PathFlags::empty(), "x", OpenFlags::empty(), DescriptorFlags::READ) {
                    Ok(_) => Err(ErrorCode::NotDirectory),
                    Err(_) => file(),
                })
            }
            Way::Streams => {
                let file = file().map_err(failed)?;
                take(input.count, || file.read_via_stream(0))
            }
            Way::Orphans => take(input.count, || file()?.read_via_stream(0)),
            Way::Listings => take(input.count, || root.read_directory()),
            Way::Pollables => take(input.count, || Ok(subscribe_duration(u64::MAX))),
            Way::Preopens => take(input.count, || Ok::<Vec<(Descriptor, String)>, _>(get_directories())),
        }
    }
}

fn take<T>(count: u64, mut one: impl FnMut() -> Result<T, ErrorCode>) -> Result<String, Failure> {
    let mut taken = Vec::new();
    for _ in 0..count {
        match one() {
            Ok(handle) => taken.push(handle),
            Err(code) => return Err(Failure::Failed(format!("{} after {}", code.name(), taken.len()))),
        }
    }
    Ok(taken.len().to_string())
}

fn failed(code: ErrorCode) -> Failure {
    Failure::Failed(code.name().to_owned())
}
