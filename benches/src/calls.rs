//! A fresh sandbox and one call in it: beside bare wasmtime, beside processes, on two cores.

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, anyhow};
use palisade_grants::Grants;
use palisade_sandbox::{Call, Description, Engine, Limits, Scope, Settings, Workspace};
use palisade_tests::guests::guest;

use crate::{
    floor::Floor,
    measure::{Contender, in_batches, side_by_side},
    report::{Ratio, Report},
};

const INPUT: &str = r#"{"text":"hello"}"#;

/// An agent whose only tool is `echo`.
pub(crate) fn echo_scope(engine: &Engine) -> anyhow::Result<Scope> {
    let scope = Scope::open(engine, &Workspace::none(), Grants::default(), Limits::STANDARD, None)?;
    let echo = guest("echo").context("the echo guest")?.load(engine)?;
    let description = Description {
        name: "echo".to_owned(),
        description: String::new(),
        input_schema: "{}".to_owned(),
        capabilities: BTreeSet::new(),
        own_capabilities: BTreeSet::new(),
        read_only: true,
        idempotent: true,
    };
    scope.add(&echo, &description, "bench")?;
    Ok(scope)
}

fn echo(scope: &Scope) -> anyhow::Result<()> {
    match scope.call_here("echo", INPUT, &Call::default()).outcome {
        Ok(text) if text == "hello" => Ok(()),
        other => Err(anyhow!("echo gave {other:?}")),
    }
}

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let engine = Engine::start(Settings { slots: 100, ..Settings::SERVER })?;
    let scope = echo_scope(&engine)?;
    let floor = Floor::new(guest("echo").context("the echo guest")?.wasm)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let rounds = if quick { 10 } else { 60 };

    let mut contenders: [Contender<'_>; 3] = [
        Box::new(|| echo(&scope)),
        Box::new(|| floor.call(INPUT).map(drop)),
        Box::new(|| {
            let report = runtime.block_on(scope.call("echo", INPUT.to_owned(), Call::default()));
            report.outcome.map(drop).map_err(|failure| anyhow!("{failure}"))
        }),
    ];
    let samples = side_by_side(rounds, 200, &mut contenders)?;
    let [ours, bare, elsewhere] = &samples[..] else { return Err(anyhow!("three samples")) };
    report.compare(
        "fresh sandbox + `echo` + drop, every limit on",
        ours,
        "bare wasmtime, no limits",
        bare,
        Ratio::Slower,
        "≤ 1.5 ×, aim 1.3 ×",
    );
    report.compare(
        "the same on one of the sandbox's own threads",
        elsewhere,
        "on this thread",
        ours,
        Ratio::Slower,
        "–",
    );

    let mut processes: [Contender<'_>; 3] = [
        Box::new(|| echo(&scope)),
        Box::new(|| spawn("/bin/true", &[])),
        Box::new(|| spawn("python3", &["-c", "pass"])),
    ];
    let samples = in_batches(if quick { 5 } else { 20 }, &[100, 5, 2], &mut processes)?;
    let [ours, program, python] = &samples[..] else { return Err(anyhow!("three samples")) };
    report.compare("fresh sandbox + `echo` + drop", ours, "`/bin/true`", program, Ratio::Cheaper, "≥ 10 × cheaper");
    report.compare("fresh sandbox + `echo` + drop", ours, "`python3 -c pass`", python, Ratio::Cheaper, "–");

    throughput(report, &scope, if quick { 300 } else { 1500 })
}

fn spawn(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let status =
        Command::new(program).args(arguments).stdin(Stdio::null()).status().with_context(|| program.to_owned())?;
    anyhow::ensure!(status.success(), "{program} failed");
    Ok(())
}

/// Calls per second on one thread and on two, in turn.
fn throughput(report: &mut Report, scope: &Scope, millis: u64) -> anyhow::Result<()> {
    let mut best: Vec<(f64, f64)> = Vec::new();
    for _ in 0..5 {
        best.push((rate(scope, 1, millis)?, rate(scope, 2, millis)?));
    }
    best.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let (one, two) = best.get(best.len() / 2).copied().context("rates")?;
    report.row(
        "calls per second on two cores",
        &format!("{two:.0}/s"),
        &format!("on one: {one:.0}/s"),
        format!("{:.2} ×", two / one),
        "≥ 1.6 ×, aim 1.8 ×",
    );
    Ok(())
}

fn rate(scope: &Scope, threads: usize, millis: u64) -> anyhow::Result<f64> {
    let barrier = Barrier::new(threads);
    let worker = || -> anyhow::Result<f64> {
        barrier.wait();
        let started = Instant::now();
        let mut count = 0_u32;
        while started.elapsed() < Duration::from_millis(millis) {
            for _ in 0..20 {
                echo(scope)?;
            }
            count += 20;
        }
        Ok(f64::from(count) / started.elapsed().as_secs_f64())
    };
    thread::scope(|all| {
        let workers: Vec<_> = (0..threads).map(|_| all.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join().map_err(|_| anyhow!("a worker panicked"))?).sum()
    })
}
