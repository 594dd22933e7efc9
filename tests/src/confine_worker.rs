//! The process that confines native programs, as a program of its own, for tests of the walls.

use std::process::ExitCode;

fn main() -> ExitCode {
    palisade_sandbox::confine_worker().into()
}
