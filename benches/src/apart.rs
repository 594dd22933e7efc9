//! A call in a process of its own, beside the same call in this one.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use palisade_catalog::BuiltIn;
use palisade_grants::{Access, Grants};
use palisade_sandbox::{Call, Engine, Limits, Scope, Settings, Workspace};

use crate::{
    calls::echo_scope,
    measure::{Contender, in_batches, side_by_side},
    report::{Ratio, Report},
};

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let own = std::env::current_exe()?.parent().map(Path::to_owned).context("no folder")?;
    // The one that also has the guests of the tests.
    let runner = own.join("tool-runner-for-tests");
    anyhow::ensure!(runner.exists(), "build the workspace first: cargo build");
    let here = Engine::start(Settings::ONE_AGENT)?;
    let apart = Engine::start_apart(Settings::ONE_AGENT, runner.clone())?;

    echo(report, &here, &apart, quick)?;
    grep(report, &here, &apart, quick)?;
    first(report, &here, &apart, quick)
}

const ECHO: &str = r#"{"text":"hello"}"#;

fn echo(report: &mut Report, here: &Engine, apart: &Engine, quick: bool) -> anyhow::Result<()> {
    let scopes = [echo_scope(here)?, echo_scope(apart)?];
    let mut contenders = scopes.each_ref().map(|scope| -> Contender<'_> { Box::new(|| call(scope, "echo", ECHO)) });
    let samples = side_by_side(if quick { 10 } else { 60 }, 200, &mut contenders)?;
    let [here, apart] = &samples[..] else { return Err(anyhow!("two samples")) };
    report.compare("`echo` in a process of its own", apart, "in this process", here, Ratio::Slower, "–");
    Ok(())
}

fn grep(report: &mut Report, here: &Engine, apart: &Engine, quick: bool) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for number in 0..200 {
        let text = format!("line\n{}needle {number}\n", "some text that is not it\n".repeat(100));
        std::fs::write(folder.path().join(format!("{number}.txt")), text)?;
    }
    let scopes = [grep_scope(here, folder.path())?, grep_scope(apart, folder.path())?];
    let input = r#"{"pattern":"needle 1"}"#;
    let mut contenders = scopes.each_ref().map(|scope| -> Contender<'_> { Box::new(|| call(scope, "grep", input)) });
    let samples = side_by_side(if quick { 10 } else { 60 }, 5, &mut contenders)?;
    let [here, apart] = &samples[..] else { return Err(anyhow!("two samples")) };
    report.compare("`grep` over 200 files in a process of its own", apart, "in this process", here, Ratio::Slower, "–");
    Ok(())
}

/// A scope of its own for each call: the process starts with it and ends with it.
fn first(report: &mut Report, here: &Engine, apart: &Engine, quick: bool) -> anyhow::Result<()> {
    let mut contenders: [Contender<'_>; 2] =
        [here, apart].map(|engine| -> Contender<'_> { Box::new(|| call(&echo_scope(engine)?, "echo", ECHO)) });
    let samples = in_batches(if quick { 3 } else { 10 }, &[20, 2], &mut contenders)?;
    let [here, apart] = &samples[..] else { return Err(anyhow!("two samples")) };
    report.compare("a first call, its process started and ended", apart, "in this process", here, Ratio::Slower, "–");
    Ok(())
}

fn grep_scope(engine: &Engine, folder: &Path) -> anyhow::Result<Scope> {
    let scope =
        Scope::open(engine, &Workspace::open(folder)?, Grants::workspace(Access::Read), Limits::STANDARD, None)?;
    let tool = BuiltIn::find("grep").context("the tool `grep`")?;
    scope.add(&tool.load(engine, None)?, &tool.description(), "bench")?;
    Ok(scope)
}

fn call(scope: &Scope, tool: &str, input: &str) -> anyhow::Result<()> {
    scope.call_here(tool, input, &Call::default()).outcome.map(drop).map_err(|failure| anyhow!("{tool}: {failure}"))
}
