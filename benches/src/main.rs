//! `just bench`: every row is a ratio of things measured side by side in this run.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a measuring program: prints a table, makes a tree, starts processes"
)]

mod calls;
mod floor;
mod idle;
mod measure;
mod report;
mod start;
mod trees;

use anyhow::Context as _;

use crate::report::Report;

fn main() -> anyhow::Result<()> {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let mut report = Report::default();
    calls::measure(&mut report, quick).context("fresh calls")?;
    start::measure(&mut report, quick).context("process start")?;
    idle::measure(&mut report, quick).context("live sandboxes")?;
    trees::measure(&mut report, quick).context("searching a tree")?;
    let text = report.markdown();
    println!("{text}");
    if quick {
        eprintln!("--quick: docs/benchmarks.md is left as it is");
        return Ok(());
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/benchmarks.md");
    std::fs::write(path, text).context("docs/benchmarks.md")
}
