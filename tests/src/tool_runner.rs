//! The process that guests run in, as a program of its own, for tests of it: it also has the guests of the tests.

use std::process::ExitCode;

use palisade_catalog::BuiltIn;
use palisade_tests::guests;

fn main() -> ExitCode {
    palisade_sandbox::tool_runner(BuiltIn::machine_code().chain(guests::machine_code())).into()
}
