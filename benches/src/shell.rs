//! The shell: what loading it costs, and a large file through pipelines beside the native ones.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use palisade_catalog::BuiltIn;
use palisade_grants::{Access, Grants};
use palisade_sandbox::{Call, Engine, Limits, Scope, Settings, Workspace};
use serde_json::json;

use crate::{
    measure::{Contender, Sample, side_by_side},
    report::{Ratio, Report, times},
};

/// Three commands over every line, and three over what is left.
const LARGE: &str = "cat big.txt | grep ERROR | cut -d' ' -f3 | sort | uniq -c | sort -rn";
const COUNT: &str = "cat big.txt | grep -v DEBUG | wc -l";
const SIZE: usize = 100 << 20;

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let size = if quick { SIZE / 8 } else { SIZE };
    log(&folder.path().join("big.txt"), size)?;
    let engine = Engine::start(Settings::ONE_AGENT)?;
    let limits = Limits { call_time: Duration::from_secs(600), ..Limits::STANDARD };
    let workspace = Workspace::open(folder.path())?;
    let scope = Scope::open(&engine, &workspace, Grants::workspace(Access::Read), limits, None)?;
    let bash = BuiltIn::find("bash").context("the shell")?;
    let mut loads = Sample::default();
    for _ in 0..5 {
        let begin = std::time::Instant::now();
        drop(bash.load(&engine, None)?);
        loads.add(begin.elapsed());
    }
    let megabytes = |bytes: usize| format!("{} MB", bytes / 1_000_000);
    report.row(
        "loading the shell's machine code",
        &times(&loads),
        &format!("component {}, machine code {}", megabytes(bash.wasm.len()), megabytes(bash.code_size())),
        "–".to_owned(),
        "–",
    );
    scope.add(&bash.load(&engine, None)?, &bash.description(), "bench")?;
    for script in [COUNT, LARGE] {
        let input = json!({ "command": script }).to_string();
        let mut contenders: [Contender<'_>; 2] = [
            Box::new(|| match scope.call_here("bash", &input, &Call::default()).outcome {
                Ok(text) if text.starts_with("exit code 0\nstdout") => Ok(()),
                other => Err(anyhow!("bash gave {other:?}")),
            }),
            Box::new(|| native(folder.path(), script)),
        ];
        let samples = side_by_side(if quick { 2 } else { 5 }, 1, &mut contenders)?;
        let [ours, real] = &samples[..] else { return Err(anyhow!("two samples")) };
        // A bar would end the cell of a table.
        let shown = script.replace('|', "\\|");
        let what = format!("`{shown}` over {} MB in `bash`", size >> 20);
        report.compare(&what, ours, "`/bin/sh -c`", real, Ratio::Slower, "≤ 4 ×");
    }
    Ok(())
}

fn native(folder: &Path, script: &str) -> anyhow::Result<()> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script]).current_dir(folder).stdin(Stdio::null()).env("LC_ALL", "C.UTF-8");
    let output = shell.output()?;
    if output.status.success() { Ok(()) } else { Err(anyhow!("/bin/sh gave {:?}", output.status)) }
}

/// A log file with lines of all kinds, always the same.
fn log(path: &Path, size: usize) -> anyhow::Result<()> {
    let words = ["disk", "request", "user", "session", "timeout", "cache", "queue", "index", "worker", "retry"];
    let levels = ["INFO", "DEBUG", "WARN", "ERROR"];
    let mut file = std::io::BufWriter::new(fs::File::create(path)?);
    let (mut written, mut state) = (0, 1u64);
    let mut next = |most: usize| {
        // Any sequence will do, if it is always the same one.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 40).unwrap_or(0) % most
    };
    while written < size {
        let mut line = format!("2024-01-{:02} {} {}", 1 + next(28), levels[next(4)], words[next(10)]);
        for _ in 0..8 {
            line.push(' ');
            line += words[next(10)];
        }
        line.push('\n');
        written += line.len();
        file.write_all(line.as_bytes())?;
    }
    Ok(file.flush()?)
}
