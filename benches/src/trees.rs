//! Searching, finding and reading files: the component beside the same code native on one thread,
//! and beside ripgrep.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, anyhow};
use palisade_catalog::BuiltIn;
use palisade_grants::{Access, Grants};
use palisade_sandbox::{Call, Engine, Limits, Scope, Settings, Workspace};

use crate::{
    measure::{Contender, side_by_side},
    report::{Ratio, Report, times},
};

/// More than half a gigabyte, so that what is measured is searching and not starting.
const SIZE: u64 = 520 << 20;
/// Found nowhere: every file is searched to its end.
const ABSENT: &str = "qzjxvkw_absent_name";

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let size = if quick { SIZE / 8 } else { SIZE };
    let tree = tree(size)?;
    std::env::set_current_dir(&tree)?;
    let engine = Engine::start(Settings::ONE_AGENT)?;
    let limits = Limits { call_time: std::time::Duration::from_secs(600), ..Limits::STANDARD };
    let grants = Grants::workspace(Access::Read);
    let scope = Scope::open(&engine, &Workspace::open(&tree)?, grants, limits, None)?;
    for tool in BuiltIn::all().filter(|tool| !["exec", "web_fetch"].contains(&tool.name)) {
        scope.add(&tool.load(&engine, None)?, &tool.description(), "bench")?;
    }
    let sandboxed = |tool: &str, input: &str| -> anyhow::Result<()> {
        scope.call_here(tool, input, &Call::default()).outcome.map(drop).map_err(|failure| anyhow!("{tool}: {failure}"))
    };
    let native = |result: Result<String, palisade_tool::Failure>| -> anyhow::Result<()> {
        result.map(drop).map_err(|failure| anyhow!("{}", failure.text()))
    };
    let rounds = if quick { 3 } else { 9 };
    let rg = Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());

    for (what, pattern) in [("a name that is nowhere", ABSENT), ("`fn \\w+_handler\\(`", r"fn \\w+_handler\\(")] {
        let input = format!(r#"{{"pattern":"{pattern}","output_mode":"count"}}"#);
        let mut contenders: Vec<Contender<'_>> =
            vec![Box::new(|| sandboxed("grep", &input)), Box::new(|| native(palisade_tool_grep::call(&input)))];
        if rg {
            contenders.push(Box::new(|| ripgrep(&pattern.replace("\\\\", "\\"))));
        }
        let samples = side_by_side(rounds, 1, &mut contenders)?;
        let (component, same) = (samples.first().context("grep")?, samples.get(1).context("native")?);
        report.compare(
            &format!("`grep` for {what} over {} MB", size >> 20),
            component,
            "the same code native",
            same,
            Ratio::Slower,
            "≤ 2 ×, aim 1.5 ×",
        );
        if let Some(other) = samples.get(2) {
            report.row(
                "the same",
                &times(component),
                &format!("`rg -j1`: {}", times(other)),
                Ratio::Slower.of(component.median(), other.median()),
                "reported",
            );
        }
    }

    let largest = largest(&tree)?;
    for (what, tool, input) in [
        ("`glob` `**/*.rs`", "glob", r#"{"pattern":"**/*.rs"}"#.to_owned()),
        ("`ls` of the top", "ls", r#"{"path":"."}"#.to_owned()),
        ("`read` of 2,000 lines", "read", format!(r#"{{"path":{largest:?}}}"#)),
    ] {
        let mut contenders: [Contender<'_>; 2] = [
            Box::new(|| sandboxed(tool, &input)),
            Box::new(|| {
                native(match tool {
                    "glob" => palisade_tool_glob::call(&input),
                    "ls" => palisade_tool_ls::call(&input),
                    _ => palisade_tool_read::call(&input),
                })
            }),
        ];
        let samples = side_by_side(rounds, if tool == "glob" { 1 } else { 20 }, &mut contenders)?;
        let [component, same] = &samples[..] else { return Err(anyhow!("two samples")) };
        report.compare(what, component, "the same code native", same, Ratio::Slower, "reported");
    }
    Ok(())
}

fn ripgrep(pattern: &str) -> anyhow::Result<()> {
    let mut command = Command::new("rg");
    command.args(["-j1", "--no-config", "--no-messages", "-c", pattern, "."]);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    anyhow::ensure!(status.code().is_some_and(|code| code < 2), "rg failed");
    Ok(())
}

/// Copies the sources of the crates we are built from, again and again, until there is enough.
fn tree(size: u64) -> anyhow::Result<PathBuf> {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../target/bench-tree-{}", size >> 20));
    let done = tree.with_extension("done");
    if done.exists() {
        return Ok(tree.canonicalize()?);
    }
    eprintln!("making a tree of {} MB (once) …", size >> 20);
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    let sources = home.context("no cargo home")?.join("registry/src");
    drop(fs::remove_dir_all(&tree));
    let mut copied = 0;
    for round in 0..50 {
        copy(&sources, &tree.join(round.to_string()), size, &mut copied)?;
        if copied >= size {
            break;
        }
    }
    anyhow::ensure!(copied >= size, "the crates' sources are too small for a tree");
    fs::write(done, "")?;
    Ok(tree.canonicalize()?)
}

fn copy(from: &Path, to: &Path, size: u64, copied: &mut u64) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    let mut entries = fs::read_dir(from)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if *copied >= size {
            return Ok(());
        }
        let kind = entry.file_type()?;
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy(&entry.path(), &target, size, copied)?;
        } else if kind.is_file() && entry.metadata()?.len() < 4 << 20 {
            *copied += fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// A file of more than 2,000 lines, relative to the tree.
fn largest(tree: &Path) -> anyhow::Result<String> {
    let mut folders = vec![tree.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension().is_some_and(|extension| extension == "rs")
                && entry.metadata()?.len() > 200_000
            {
                return Ok(entry.path().strip_prefix(tree)?.display().to_string());
            }
        }
    }
    Err(anyhow!("no large file in the tree"))
}
