//! A small script in the shell, and a native program behind its walls, beside the same without any.

use std::{
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use anyhow::{Context as _, anyhow};
use palisade_catalog::BuiltIn;
use palisade_grants::{Access, Grants};
use palisade_sandbox::{Call, Engine, Limits, Programs, Scope, Settings, Workspace};

use crate::{
    measure::{Contender, side_by_side},
    report::{Ratio, Report},
};

/// The same by the tools of these names.
const INPUTS: [(&str, &str); 2] =
    [("exec", r#"{"program": "sh", "arguments": ["-c", "ls | wc -l"]}"#), ("bash", r#"{"command": "ls | wc -l"}"#)];

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let here = std::env::current_exe()?.parent().map(Path::to_owned).context("no folder")?;
    let palisade = here.join("palisade");
    anyhow::ensure!(palisade.exists(), "build the workspace first: cargo build");
    let folder = tempfile::tempdir()?;
    for number in 0..100 {
        std::fs::write(folder.path().join(format!("{number}.txt")), "text")?;
    }
    let engine = Engine::start(Settings::ONE_AGENT)?;
    let programs = Programs::standard(palisade);
    let apart = scope(&engine, folder.path(), programs.clone())?;
    let alone = scope(&engine, folder.path(), Programs { namespaces: false, ..programs })?;
    let [exec, bash] = INPUTS;
    let mut contenders: [Contender<'_>; 4] = [
        Box::new(|| call(&alone, bash)),
        Box::new(|| call(&apart, exec)),
        Box::new(|| call(&alone, exec)),
        Box::new(|| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "ls | wc -l"]).current_dir(folder.path()).stdin(Stdio::null());
            let output = command.output()?;
            anyhow::ensure!(output.stdout.starts_with(b"100"), "sh counts");
            Ok(())
        }),
    ];
    let samples = side_by_side(if quick { 10 } else { 60 }, 1, &mut contenders)?;
    let [bash, apart, alone, sh] = &samples[..] else { return Err(anyhow!("four samples")) };
    report.compare("`ls \\| wc -l` in `bash`", bash, "`/bin/sh -c`", sh, Ratio::Slower, "≤ 1 ×");
    let what = "`exec` of `sh -c 'ls \\| wc -l'`, every wall up";
    report.compare(what, apart, "`/bin/sh -c`", sh, Ratio::Slower, "–");
    report.compare("the same without namespaces", alone, "`/bin/sh -c`", sh, Ratio::Slower, "–");
    Ok(())
}

fn scope(engine: &Engine, folder: &Path, programs: Programs) -> anyhow::Result<Scope> {
    let commands = std::iter::once("sh:*".parse()?).collect();
    let grants = Grants { commands, ..Grants::workspace(Access::Read) };
    let scope = Scope::open(engine, &Workspace::open(folder)?, grants, Limits::STANDARD, None)?;
    let scope = scope.with_programs(Arc::new(programs));
    for (name, _) in INPUTS {
        let tool = BuiltIn::find(name).context("a built-in tool")?;
        scope.add(&tool.load(engine, None)?, &tool.description(), "bench")?;
    }
    Ok(scope)
}

fn call(scope: &Scope, (tool, input): (&str, &str)) -> anyhow::Result<()> {
    match scope.call_here(tool, input, &Call::default()).outcome {
        Ok(text) if text.contains("100") => Ok(()),
        other => Err(anyhow!("{tool} gave {other:?}")),
    }
}
