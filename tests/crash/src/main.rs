//! Kills a program that works on a conversation, again and again, and looks at what is left.
//!
//! The worker runs the loop of `palisade-agent` on a database of `palisade-store`, with a model that follows a
//! plan and tools whose effects can be counted. It dies at a named instant or at any other, and after each death
//! the checker reads the database: what was acknowledged is there, in order and once; nothing was done twice.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test program: it makes its own folders, starts and kills its own processes, and talks to them by pipe"
)]

mod check;
mod chores;
mod crew;
mod harness;
mod plan;
mod table;
mod worker;

use std::{path::PathBuf, process::ExitCode};

use clap::Parser as _;

/// Kill a working agent at every named instant and at random ones, and check that nothing is lost or repeated.
#[derive(clap::Parser)]
struct Arguments {
    /// How often to kill, at the least.
    #[arg(long, default_value_t = 500)]
    kills: u64,
    /// Where the random instants come from; the same number gives the same ones.
    #[arg(long)]
    seed: Option<u64>,
    /// Write what was counted into this file.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Work on the conversation in a folder until it is over, or until killed.
    #[command(hide = true)]
    Work(worker::Arguments),
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(Command::Work(arguments)) = &arguments.command {
        worker::run(arguments)?;
        return Ok(ExitCode::SUCCESS);
    }
    let counts = harness::run(arguments.kills, arguments.seed)?;
    print!("{}", table::render(&counts));
    if let Some(file) = &arguments.write {
        std::fs::write(file, table::render(&counts))?;
    }
    Ok(if counts.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
