//! Agents outside of the sandbox, played by small programs that speak as the real ones do.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests set up and inspect a world of their own")]

mod claude;
mod codex_and_pi;
mod endings;
mod world;
