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

    throughput(report, &scope, &floor, if quick { 300 } else { 1500 })
}

fn spawn(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let status =
        Command::new(program).args(arguments).stdin(Stdio::null()).status().with_context(|| program.to_owned())?;
    anyhow::ensure!(status.success(), "{program} failed");
    Ok(())
}

/// Calls per second on one thread and on two, in turn.
fn throughput(report: &mut Report, scope: &Scope, floor: &Floor, millis: u64) -> anyhow::Result<()> {
    let ours = scaling(|| echo(scope), millis)?;
    let bare = scaling(|| floor.call(INPUT).map(drop), millis)?;
    for (what, (one, two), goal) in [
        ("calls per second on two cores", ours, "≥ 1.6 ×, aim 1.8 ×"),
        ("the same, bare wasmtime", bare, "for comparison"),
    ] {
        let ratio = format!("{:.2} ×", two / one);
        report.row(what, &format!("{two:.0}/s"), &format!("on one: {one:.0}/s"), ratio, goal);
    }
    Ok(())
}

/// The rates on one thread and on two, from the round whose ratio is the median.
fn scaling(call: impl Fn() -> anyhow::Result<()> + Sync, millis: u64) -> anyhow::Result<(f64, f64)> {
    let mut rounds = Vec::new();
    for _ in 0..5 {
        rounds.push((rate(&call, 1, millis)?, rate(&call, 2, millis)?));
    }
    rounds.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    rounds.get(rounds.len() / 2).copied().context("rates")
}

fn rate(call: &(impl Fn() -> anyhow::Result<()> + Sync), threads: usize, millis: u64) -> anyhow::Result<f64> {
    let barrier = Barrier::new(threads);
    let worker = || -> anyhow::Result<f64> {
        barrier.wait();
        let started = Instant::now();
        let mut count = 0_u32;
        while started.elapsed() < Duration::from_millis(millis) {
            for _ in 0..20 {
                call()?;
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
