//! What holds for every store, held against all of them; and what holds for one of them.

#![expect(clippy::disallowed_methods, reason = "tests make files, start programs and look at both")]

mod clocks;
mod cluster;
mod conformance;
mod copies;
mod cuts;
mod files;
mod machine;
mod processes;
mod said;
