//! Plugins as their users have them: from an archive to the first answer, and a start with many of them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, anyhow, ensure};

use crate::{
    languages::{INPUT, LANGUAGES, built},
    measure::{Contender, side_by_side},
    report::{Ratio, Report},
};

const THOUGHT: &str = r#"{"thought":"x"}"#;

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    many(report, quick).context("a start with many plugins")?;
    first_calls(report, quick).context("from installing to the first call")
}

/// Nothing was installed, compiled or asked before: every turn has a home of its own.
fn first_calls(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let mut packages = Vec::new();
    for (language, name) in LANGUAGES {
        match built(language) {
            Ok(package) => packages.push((name, package)),
            Err(error) => eprintln!("SKIPPED: installing a tool in {name}: {error:#}"),
        }
    }
    let mut contenders: Vec<Contender<'_>> = packages
        .iter()
        .map(|(_, package)| {
            Box::new(move || {
                let home = Home::new()?;
                home.palisade(&["plugins", "install", &shown(package), "--yes"])?;
                let answer = home.palisade(&["tools", "call", "hello", "--input", INPUT])?;
                ensure!(answer.contains("Hello, Ada!"), "hello gave {answer}");
                Ok(())
            }) as Contender<'_>
        })
        .collect();
    let samples = side_by_side(if quick { 1 } else { 5 }, 1, &mut contenders)?;
    let Some(rust) = packages.iter().position(|(name, _)| *name == "Rust") else { return Ok(()) };
    for ((name, _), sample) in packages.iter().zip(&samples).filter(|((name, _), _)| *name != "Rust") {
        let what = format!("`plugins install`, compiled, and the first `tools call`: a tool in {name}");
        report.compare(&what, sample, "in Rust", &samples[rust], Ratio::Slower, "reported");
    }
    Ok(())
}

/// The same command where ten plugins are installed and where a hundred are.
fn many(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let package = built("rust")?;
    let (ten, hundred) = (crowd(&package, 10)?, crowd(&package, 100)?);
    let commands: [(&str, &[&str]); 3] = [
        ("a tool of this program", &["tools", "call", "think", "--agent", "explore", "--input", THOUGHT]),
        ("a tool of one of them", &["tools", "call", "hello7", "--input", INPUT]),
        ("`explain general`, which has them all", &["explain", "general"]),
    ];
    for (what, command) in commands {
        let mut contenders: [Contender<'_>; 2] =
            [Box::new(|| hundred.palisade(command).map(drop)), Box::new(|| ten.palisade(command).map(drop))];
        let samples = side_by_side(if quick { 5 } else { 40 }, 1, &mut contenders)?;
        let [hundred, ten] = &samples[..] else { return Err(anyhow!("two samples")) };
        let what = format!("start with 100 plugins, {what}");
        report.compare(&what, hundred, "with 10", ten, Ratio::Slower, "≤ 2 ×");
    }
    Ok(())
}

/// A home with so many plugins, each with a tool of its own name.
fn crowd(package: &Path, plugins: usize) -> anyhow::Result<Home> {
    let home = Home::new()?;
    for number in 0..plugins {
        let folder = home.0.path().join(format!("sources/hello{number}"));
        fs::create_dir_all(&folder)?;
        fs::copy(package.join("hello.wasm"), folder.join("hello.wasm"))?;
        let tool = serde_json::json!({
            "name": format!("hello{number}"), "component": "hello.wasm", "description": "Greets somebody.",
            "schema": { "type": "object", "properties": { "name": { "type": "string" } } },
        });
        let manifest = serde_json::json!({ "name": format!("hello{number}"), "version": "1.0.0", "tools": [tool] });
        fs::write(folder.join("plugin.json"), manifest.to_string())?;
        home.palisade(&["plugins", "install", &shown(&folder), "--yes"])?;
    }
    Ok(home)
}

/// A home folder with nothing of anybody in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> anyhow::Result<Self> {
        let home = Self(tempfile::tempdir()?);
        fs::create_dir(home.0.path().join("work"))?;
        Ok(home)
    }

    fn palisade(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let program: PathBuf = std::env::current_exe()?.with_file_name("palisade");
        let mut command = Command::new(&program);
        command.args(arguments).env_clear().env("HOME", self.0.path()).current_dir(self.0.path().join("work"));
        let output = command.stdin(Stdio::null()).output().with_context(|| shown(&program))?;
        ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
