//! What holds for every store, held against all of them; and what holds for one of them.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests make files, start programs, look at both, and say what they found"
)]

mod clocks;
mod cluster;
mod conformance;
mod copies;
mod cuts;
mod files;
mod machine;
mod markdown;
mod power;
mod processes;
mod said;
mod serving;
mod versions;
mod walls;
