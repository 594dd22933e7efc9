//! Rust, by cargo: every library of the workspace that is a `cdylib` is a component.

use std::path::{Path, PathBuf};

use anyhow::bail;
use serde_json::Value;

use crate::authoring::{
    build::{Made, Workshop},
    files,
    program::Program,
    project::Project,
};

const CARGO: &str = "install Rust from https://rustup.rs";
const TARGET: &str = "wasm32-wasip2";
/// Enough memory from the start: to grow takes a lock of the whole process.
const MEMORY: &str = "target.wasm32-wasip2.rustflags=['-C', 'link-arg=--initial-memory=4194304']";

pub(in crate::authoring) fn build(project: &Project, _: &Workshop<'_>) -> anyhow::Result<Vec<Made>> {
    check_target()?;
    let what = "the Rust code does not build";
    let cargo = Program::new("cargo", CARGO).in_folder(&project.root).arguments([
        "build",
        "--quiet",
        "--release",
        "--workspace",
        "--lib",
        "--target",
        TARGET,
        "--config",
        MEMORY,
        "--message-format=json-render-diagnostics",
    ]);
    // Where cargo put them is for cargo to say: people have target folders elsewhere.
    let printed = cargo.run(what)?;
    let libraries: Vec<(String, PathBuf)> = printed.lines().filter_map(library).collect();
    let mut made = Vec::new();
    for part in project.parts()? {
        let name = part.stem.replace('-', "_");
        let Some((_, path)) = libraries.iter().find(|(library, _)| *library == name) else {
            let names: Vec<&str> = libraries.iter().map(|(name, _)| name.as_str()).collect();
            bail!(
                "no crate of the project is called `{name}`, as the component {} is; there are {} with the crate type `cdylib`",
                part.component,
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            );
        };
        made.push(Made { component: files::read(path)?, part });
    }
    Ok(made)
}

/// The name and file of a component, from a line of cargo's.
fn library(line: &str) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_component = |kinds: &Value| kinds.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "cdylib"));
    if message["reason"] != "compiler-artifact" || !is_component(&message["target"]["crate_types"]) {
        return None;
    }
    let files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
    let wasm = files.map(Path::new).find(|file| file.extension().is_some_and(|ending| ending == "wasm"))?;
    Some((message["target"]["name"].as_str()?.replace('-', "_"), wasm.to_owned()))
}

fn check_target() -> anyhow::Result<()> {
    let rustc = Program::new("rustc", CARGO).arguments(["--print", "target-libdir", "--target", TARGET]);
    let folder = rustc.run("rustc does not know WebAssembly components; a newer one does: rustup update")?;
    if !Path::new(folder.trim()).is_dir() {
        bail!("the compiler's target for components is missing; run: rustup target add {TARGET}");
    }
    Ok(())
}
