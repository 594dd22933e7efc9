//! The same small tool in every language that has a template: one call of each, in turn.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, anyhow, ensure};
use palisade_grants::Grants;
use palisade_sandbox::{Artifact, Call, Compiled, Engine, Limits, Scope, Settings, Workspace, digest, precompile};

use crate::{
    measure::{Contender, in_batches},
    report::{Ratio, Report},
};

pub(crate) const LANGUAGES: [(&str, &str); 4] =
    [("rust", "Rust"), ("python", "Python"), ("javascript", "JavaScript"), ("c", "C")];
pub(crate) const INPUT: &str = r#"{"name":"Ada"}"#;

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let engine = Engine::start(Settings { slots: 100, ..Settings::SERVER })?;
    let mut scopes = BTreeMap::new();
    for (language, name) in LANGUAGES {
        match built(language) {
            Ok(package) => {
                let wasm = fs::read(package.join("hello.wasm"))?;
                scopes.insert(name, (scope(&engine, &wasm).context(name)?, wasm.len()));
            }
            // A language that is not here is missing from the table, and that is said.
            Err(error) => eprintln!("SKIPPED: a tool in {name}: {error:#}"),
        }
    }
    let call = |name: &str| match scopes[name].0.call_here("hello", INPUT, &Call::default()).outcome {
        Ok(text) if text == "Hello, Ada!" => Ok(()),
        other => Err(anyhow!("the tool in {name} gave {other:?}")),
    };
    let call = &call;
    let names: Vec<&str> = LANGUAGES.iter().map(|(_, name)| *name).filter(|name| scopes.contains_key(name)).collect();
    let mut contenders: Vec<Contender<'_>> =
        names.iter().map(|&name| Box::new(move || call(name)) as Contender<'_>).collect();
    let samples = in_batches(if quick { 5 } else { 30 }, &vec![20; names.len()], &mut contenders)?;
    drop(contenders);
    let Some(rust) = names.iter().position(|name| *name == "Rust") else { return Ok(()) };
    for (name, sample) in names.iter().zip(&samples).filter(|(name, _)| **name != "Rust") {
        let size = |name: &str| megabytes(scopes[name].1);
        let what = format!("fresh sandbox + a small tool in {name} ({})", size(name));
        let beside = format!("the same in Rust ({})", size("Rust"));
        report.compare(&what, sample, &beside, &samples[rust], Ratio::Slower, "–");
    }
    Ok(())
}

fn megabytes(bytes: usize) -> String {
    format!("{}.{:02} MB", bytes / 1_000_000, bytes % 1_000_000 / 10_000)
}

fn scope(engine: &Engine, wasm: &[u8]) -> anyhow::Result<Scope> {
    let artifact = Artifact::built_in(digest(wasm), Vec::leak(precompile(wasm)?));
    let compiled = Compiled::load(engine, &artifact)?;
    let scope = Scope::open(engine, &Workspace::none(), Grants::default(), Limits::STANDARD, None)?;
    scope.add(&compiled, &compiled.describe(engine)?, "bench")?;
    Ok(scope)
}

/// The package of the template's tool, built by the program as its users build it.
pub(crate) fn built(language: &str) -> anyhow::Result<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let folder = target.join("hello").join(language).join("hello");
    drop(fs::remove_dir_all(&folder));
    let folder = folder.display().to_string();
    palisade(&target, &["plugins", "new", &folder, "--lang", language])?;
    // With the crates that this workspace has, which are here already.
    if language == "rust" {
        fs::copy(target.join("../Cargo.lock"), Path::new(&folder).join("Cargo.lock"))?;
    }
    palisade(&target, &["plugins", "build", &folder])?;
    Ok(PathBuf::from(folder).join("dist"))
}

fn palisade(target: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let program = std::env::current_exe()?.with_file_name("palisade");
    fs::create_dir_all(target.join("toolchains"))?;
    let target = target.canonicalize()?;
    let mut command = Command::new(&program);
    command.args(arguments).env("PALISADE_TOOLCHAINS", target.join("toolchains"));
    let output = command.env("CARGO_TARGET_DIR", target.join("authoring")).output();
    let output = output.with_context(|| format!("{}", program.display()))?;
    ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
