//! The host's side of a shell: where the last call ended, and commands beside the shell's own.

use palisade_tool::bindings::host::{process, shell};

pub(crate) use palisade_tool::bindings::host::{
    process::Outcome,
    shell::{commands, directory, enter},
};

/// Why a command was not run to its end.
pub(crate) enum NotRun {
    Refused(String),
    OutOfTime,
}

/// Runs a command of the host.
pub(crate) fn run(name: &str, arguments: &[String], directory: &str, input: Vec<u8>) -> Result<Outcome, NotRun> {
    let command = process::Command {
        program: name.to_owned(),
        arguments: arguments.to_vec(),
        directory: directory.to_owned(),
        input,
    };
    shell::run(&command).map_err(|error| match error {
        process::Error::Denied(reason) | process::Error::Failed(reason) => NotRun::Refused(reason),
        process::Error::OutOfTime => NotRun::OutOfTime,
    })
}
