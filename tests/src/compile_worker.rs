//! The compile worker as a program of its own, for tests of the compiler.

use std::{io, process::ExitCode};

fn main() -> ExitCode {
    let numbers: Vec<u64> = std::env::args().skip(2).filter_map(|argument| argument.parse().ok()).collect();
    let [memory, seconds] = numbers[..] else { return ExitCode::from(2) };
    match palisade_sandbox::compile_worker(memory, seconds, &mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is nobody else to tell.
            drop(io::Write::write_all(&mut io::stderr(), error.to_string().as_bytes()));
            ExitCode::FAILURE
        }
    }
}
