//! `just bench`: every row is a ratio of things measured side by side in this run.
//!
//! `just bench calls languages plugins apart steps programs start idle definitions store shell trees server` runs parts, `--quick` fewer
//! rounds; only a whole run is kept. `load`, `neighbours` and `timing` are the parts of `server`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a measuring program: prints a table, makes a tree, starts processes"
)]

mod apart;
mod calls;
mod definitions;
mod floor;
mod idle;
mod languages;
mod measure;
mod plugins;
mod programs;
mod report;
mod server;
mod shell;
mod start;
mod steps;
mod store;
mod trees;

use anyhow::Context as _;

use crate::report::Report;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let only: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |part: &str| only.is_empty() || only.iter().any(|name| *name == part);
    let mut report = Report::default();
    if wanted("calls") {
        calls::measure(&mut report, quick).context("fresh calls")?;
    }
    if wanted("languages") {
        languages::measure(&mut report, quick).context("tools in other languages")?;
    }
    if wanted("plugins") {
        plugins::measure(&mut report, quick).context("plugins")?;
    }
    if wanted("apart") {
        apart::measure(&mut report, quick).context("calls in a process of their own")?;
    }
    if wanted("steps") {
        steps::measure(&mut report, quick).context("steps of the loop")?;
    }
    if wanted("programs") {
        programs::measure(&mut report, quick).context("native programs")?;
    }
    if wanted("start") {
        start::measure(&mut report, quick).context("process start")?;
    }
    if wanted("idle") {
        idle::measure(&mut report, quick).context("live sandboxes")?;
    }
    if wanted("definitions") {
        definitions::measure(&mut report, quick).context("definitions")?;
    }
    if wanted("store") {
        store::measure(&mut report, quick).context("the store")?;
    }
    if wanted("shell") {
        shell::measure(&mut report, quick).context("the shell")?;
    }
    if wanted("trees") {
        trees::measure(&mut report, quick).context("searching a tree")?;
    }
    if wanted("server") || wanted("load") {
        server::load::measure(&mut report, quick).context("a server under load")?;
    }
    if wanted("server") || wanted("neighbours") {
        server::neighbours::measure(&mut report, quick).context("neighbours on a server")?;
    }
    if wanted("server") || wanted("timing") {
        server::timing::measure(&mut report, quick).context("what answers of a server tell by their time")?;
    }
    let text = report.markdown();
    println!("{text}");
    if quick || !only.is_empty() {
        eprintln!("not the whole run: docs/benchmarks.md is left as it is");
        return Ok(());
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/benchmarks.md");
    std::fs::write(path, text).context("docs/benchmarks.md")
}
