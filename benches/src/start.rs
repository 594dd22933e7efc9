//! From process start to the first sandboxed result, beside an empty program; and setting up an
//! agent inside a running process.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, anyhow};
use palisade_catalog::BuiltIn;
use palisade_grants::{Access, Grants};
use palisade_sandbox::{Compiled, Description, Engine, Limits, Scope, Settings, Workspace};

use crate::{
    measure::{Contender, side_by_side},
    report::{Ratio, Report, time},
};

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let here = std::env::current_exe()?.parent().map(Path::to_owned).context("no folder")?;
    let (palisade, empty) = (here.join("palisade"), here.join("empty"));
    anyhow::ensure!(palisade.exists() && empty.exists(), "build the workspace first: cargo build");
    let mut contenders: [Contender<'_>; 3] = [
        Box::new(|| call(&palisade, "think", r#"{"thought":"x"}"#)),
        Box::new(|| call(&palisade, "grep", r#"{"pattern":"x","path":"benches/Cargo.toml"}"#)),
        Box::new(|| run(&mut Command::new(&empty))),
    ];
    let samples = side_by_side(if quick { 10 } else { 60 }, 1, &mut contenders)?;
    let [think, grep, empty] = &samples[..] else { return Err(anyhow!("three samples")) };
    for (tool, sample) in [("`think`", think), ("`grep` (5 MB of machine code)", grep)] {
        let beyond = sample.median() - empty.median();
        report.row(
            &format!("process start to first sandboxed result, {tool}"),
            &time(sample.median()),
            &format!("an empty program: {}", time(empty.median())),
            format!("{} beyond", time(beyond)),
            "≤ 25 ms beyond",
        );
    }
    scope(report, quick)
}

fn call(palisade: &PathBuf, tool: &str, input: &str) -> anyhow::Result<()> {
    let mut command = Command::new(palisade);
    command.args(["tools", "call", tool, "--agent", "explore", "--input", input]);
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    run(&mut command)
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    anyhow::ensure!(status.success(), "{command:?} failed");
    Ok(())
}

/// Grants to linker to pre-instances, for ten tools of an agent nobody set up before.
fn scope(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let engine = Engine::start(Settings::ONE_AGENT)?;
    let mut tools: Vec<(Compiled, Description)> = Vec::new();
    // Without a granted program or host these cannot be linked.
    for tool in BuiltIn::all().filter(|tool| !["exec", "web_fetch"].contains(&tool.name)) {
        tools.push((tool.load(&engine, None)?, tool.description()));
    }
    while tools.len() < 10 {
        let (compiled, mut description) = tools.get(tools.len() - 8).cloned().context("tools")?;
        description.name += "2";
        tools.push((compiled, description));
    }
    let workspace = Workspace::open(Path::new(env!("CARGO_MANIFEST_DIR")))?;
    let grants = Grants::workspace(Access::ReadWrite);
    let mut set_up = || -> anyhow::Result<()> {
        engine.forget_links();
        again(&engine, &workspace, &grants, &tools)
    };
    let mut second = || again(&engine, &workspace, &grants, &tools);
    let samples = side_by_side(if quick { 20 } else { 200 }, 1, &mut [Box::new(&mut set_up), Box::new(&mut second)])?;
    let [cold, warm] = &samples[..] else { return Err(anyhow!("two samples")) };
    report.compare(
        "setting up an agent's scope: 10 tools, nothing linked yet",
        cold,
        "shape seen before",
        warm,
        Ratio::Slower,
        "≤ 1 ms",
    );
    Ok(())
}

fn again(
    engine: &Engine,
    workspace: &Workspace,
    grants: &Grants,
    tools: &[(Compiled, Description)],
) -> anyhow::Result<()> {
    let scope = Scope::open(engine, workspace, grants.clone(), Limits::STANDARD, None)?;
    for (compiled, description) in tools {
        scope.add(compiled, description, "bench")?;
    }
    Ok(())
}
