//! `palisade compile-worker`: the process in which components that nobody vouches for are compiled.
//! It reads no settings, starts no engine and prints nothing but machine code.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

/// Compiles the component on standard input; started by this program itself.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The most memory to use, in bytes.
    memory: u64,
    /// The most time to take.
    seconds: u64,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let Arguments { memory, seconds } = *arguments;
    match palisade_sandbox::compile_worker(memory, seconds, &mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without standard error the exit code says it all.
            drop(writeln!(io::stderr(), "{error}"));
            ExitCode::FAILURE
        }
    }
}
