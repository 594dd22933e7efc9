//! `palisade confine-worker`: the process that puts up the walls around a native program and becomes it. It
//! reads no settings and prints nothing.

use std::process::ExitCode;

/// Runs a native program behind walls, as the socket on standard input says; started by this program itself.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

/// Whether this process was started to be one. Nothing else may begin before that is known: threads above all.
pub(crate) fn is_wanted() -> bool {
    std::env::args_os().nth(1).is_some_and(|argument| argument == "confine-worker")
}

pub(crate) fn run() -> ExitCode {
    palisade_sandbox::confine_worker().into()
}
