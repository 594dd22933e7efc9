//! `palisade tool-runner`: the process in which guests run apart from everything else. It reads no settings and prints
//! nothing.

use std::process::ExitCode;

use palisade_catalog::BuiltIn;

/// Runs tools behind walls, as the socket on standard input says; started by this program itself.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

/// Whether this process was started to be one. Nothing else may begin before that is known: threads above all.
pub(crate) fn is_wanted() -> bool {
    std::env::args_os().nth(1).is_some_and(|argument| argument == "tool-runner")
}

pub(crate) fn run() -> ExitCode {
    palisade_sandbox::tool_runner(BuiltIn::machine_code()).into()
}
