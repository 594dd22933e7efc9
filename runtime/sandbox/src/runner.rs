//! A second wall: guests in a process of their own that holds nothing but their workspace.
//!
//! An escape from WebAssembly then lands in an empty room: no keys, no database, no network, no other programs,
//! no files but the workspace, all of which the kernel keeps ([`walls`]). This program starts itself once more
//! ([`tool_runner`]). The host keeps every decision: it links, it has the grants, and whatever is not a file of the
//! workspace is asked of it and decided there once more, by its own tools and not by what the process says. The
//! process is not believed: what does not fit ends it, and the calls in it fail as what they are.
//!
//! | file | what |
//! |---|---|
//! | `protocol.rs` | what both sides say, and how it is written |
//! | `room.rs`, `keep.rs`, `start.rs` | the host's side: which processes there are; one of them from start to end |
//! | `live.rs`, `web.rs` | the host's side of one call: what its guests ask for; their requests |
//! | `serve.rs` | the other side: the process from start to end |
//! | `remote.rs`, `distant.rs` | the other side of one call: asking the host; requests |
//! | `walls.rs`, `system_calls.rs` | the walls around the process |

pub(crate) mod distant;
mod keep;
mod live;
mod protocol;
mod remote;
mod room;
mod start;
mod web;

#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod system_calls;
#[cfg(target_os = "linux")]
mod walls;

use std::time::Duration;

pub(crate) use remote::Remote;
pub(crate) use room::{Apart, Runner};
#[cfg(target_os = "linux")]
pub use serve::tool_runner;
#[cfg(target_os = "linux")]
pub(crate) use walls::check;

/// How much longer than its limit a call may take to come back before its process is ended: it may have to be
/// started first, on a machine that does other things.
pub(crate) const MARGIN: Duration = Duration::from_secs(5);

/// Whether such a process can be confined here. The error is shown.
#[cfg(not(target_os = "linux"))]
pub(crate) fn check() -> Result<(), String> {
    Err("the walls around them can be put up on Linux alone".to_owned())
}

/// Puts up the walls of such a process around this one, which must have one thread, to try them in a test.
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub fn raise_walls(workspace: &std::path::Path, writes: bool) -> Result<(), String> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let workspace = open(workspace, flags, Mode::empty()).map_err(|error| error.to_string())?;
    let settings = crate::Settings::ONE_AGENT;
    walls::raise(&walls::Inside { workspace: Some(&workspace), packages: &[], writes, scratch: None, settings })
}

/// Elsewhere there are no such walls, so there is no such process.
#[cfg(not(target_os = "linux"))]
pub fn tool_runner(_built_in: impl IntoIterator<Item = ([u8; 32], &'static [u8])>) -> u8 {
    1
}
