//! Loading many definitions, deciding over many tools, and explaining one agent.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, anyhow};
use palisade_catalog::{Places, Registry};
use palisade_grants::{Candidate, Identity, Lists, Pattern, Rule, Surroundings, ToolScope, ToolSource};

use crate::{
    measure::{Contender, side_by_side},
    report::{Ratio, Report, time},
};

const FILES: usize = 10_000;

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    loading(report, quick)?;
    resolving(report, quick)?;
    explaining(report, quick)
}

/// Loading definitions beside reading the same files and doing nothing with them.
fn loading(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for at in 0..FILES {
        let below = folder.path().join(format!("team-{}", at % 100));
        fs::create_dir_all(&below)?;
        let text = format!(
            "---\nname: agent-{at}\ndescription: Looks after part {at}.\ntools: Read, Grep, Bash(git log:*)\n\
             model: anthropic:sonnet\nmaxTurns: 20\n---\nYou look after part {at}.\n\nThe task: {{{{task}}}}\n"
        );
        fs::write(below.join(format!("agent-{at}.md")), text)?;
    }
    let places = Places { agent_dirs: vec![folder.path().to_owned()], ..Places::default() };
    let load = || -> anyhow::Result<()> {
        let registry = Registry::load(&places, &[])?;
        anyhow::ensure!(registry.len() == FILES + 5, "{} agents", registry.len());
        Ok(())
    };
    let read = || -> anyhow::Result<()> {
        for below in fs::read_dir(folder.path())? {
            for file in fs::read_dir(below?.path())? {
                std::hint::black_box(fs::read(file?.path())?);
            }
        }
        Ok(())
    };
    let samples = side_by_side(if quick { 3 } else { 10 }, 1, &mut [Box::new(load), Box::new(read)])?;
    let [load, read] = &samples[..] else { return Err(anyhow!("two samples")) };
    report.compare("loading 10,000 definitions", load, "reading the files alone", read, Ratio::Slower, "reported");
    Ok(())
}

/// A scope over a thousand tools beside the same over five hundred: linear is twice.
fn resolving(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let tools: Vec<Candidate> = (0..1000)
        .map(|at| Candidate::new(format!("plugin{}_tool_{at}", at % 7), ["fs.read".to_owned()], ToolSource::Core))
        .collect();
    // None but the last fits, so that all fifty are asked.
    let globs = || (0..49).map(|at| format!("plugin*_tool_*_{at}")).chain(["plugin*".to_owned()]);
    let patterns = globs().map(|glob| Pattern::parse(&glob)).collect::<Result<Vec<_>, _>>()?;
    let rules = globs().map(|glob| Rule::parse(&glob)).collect::<Result<Vec<_>, _>>()?;
    let globs = ToolScope { names: Lists { allow: Some(patterns), deny: Vec::new() }, ..ToolScope::default() };
    let ruled = ToolScope { tools: Some(rules), ..ToolScope::default() };
    let identity = Identity::of("bench");
    let around = Surroundings { identity: &identity, native: false, may_delegate: true, binding_overrides: &[] };
    let half = tools.get(..500).context("tools")?;
    let resolve = |scope: &ToolScope, tools: &[Candidate]| -> anyhow::Result<()> {
        std::hint::black_box(scope.resolve(tools, &around));
        Ok(())
    };
    let mut contenders: [Contender<'_>; 4] = [
        Box::new(|| resolve(&globs, &tools)),
        Box::new(|| resolve(&globs, half)),
        Box::new(|| resolve(&ruled, &tools)),
        Box::new(|| resolve(&ruled, half)),
    ];
    let samples = side_by_side(if quick { 20 } else { 200 }, 1, &mut contenders)?;
    let [all_globs, half_globs, all_rules, half_rules] = &samples[..] else { return Err(anyhow!("four samples")) };
    for (what, all, half) in [("globs", all_globs, half_globs), ("rules", all_rules, half_rules)] {
        let what = format!("one scope, 1,000 tools × 50 {what}");
        report.compare(&what, all, "500 tools", half, Ratio::Slower, "< 1 ms, linear (2 ×)");
    }
    Ok(())
}

/// `palisade explain` from start to end, beside an empty program.
fn explaining(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let here = std::env::current_exe()?.parent().map(Path::to_owned).context("no folder")?;
    let (palisade, empty) = (here.join("palisade"), here.join("empty"));
    let explain = || run(Command::new(&palisade).args(["explain", "explore", "--json"]));
    let nothing = || run(&mut Command::new(&empty));
    let samples = side_by_side(if quick { 10 } else { 60 }, 1, &mut [Box::new(explain), Box::new(nothing)])?;
    let [explain, nothing] = &samples[..] else { return Err(anyhow!("two samples")) };
    report.row(
        "`palisade explain`, the whole process",
        &time(explain.median()),
        &format!("an empty program: {}", time(nothing.median())),
        format!("{} beyond", time(explain.median() - nothing.median())),
        "< 50 ms",
    );
    Ok(())
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    anyhow::ensure!(status.success(), "{command:?} failed");
    Ok(())
}
