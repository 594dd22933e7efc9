//! Builds guest crates as components with a nested cargo, for build scripts.
//!
//! Nothing here depends on another crate, so that the guests are built beside wasmtime and not after it.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "runs inside build scripts: reads cargo's environment, runs cargo, writes below OUT_DIR"
)]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The guests to build, all of the workspace `guest-tools`.
pub enum Guests<'a> {
    /// The libraries of the default members; a component is named after its package without the prefix, with `_` for `-`.
    Packages {
        /// The prefix of every package's name.
        prefix: &'a str,
        /// The rest of their names.
        names: &'a [&'a str],
    },
    /// The examples of one package.
    Examples {
        /// The package.
        package: &'a str,
        /// The examples.
        names: &'a [String],
    },
}

/// A component that was built.
pub struct Component {
    /// Its short name.
    pub name: String,
    /// Its file.
    pub wasm: PathBuf,
}

const TARGET: &str = "wasm32-wasip2";
/// The variables of the outer cargo that the nested one needs: where it finds crates, and the job server, without
/// which two cargos would each use all processors.
const KEPT: [&str; 4] = ["CARGO_HOME", "CARGO_MAKEFLAGS", "CARGO_NET_OFFLINE", "RUSTUP_HOME"];

/// Builds guests of the workspace in `folder`. The error is a message for the developer.
pub fn build(folder: &Path, guests: &Guests<'_>) -> Result<Vec<Component>, String> {
    check_target()?;
    let target = target_folder()?.join("guests");
    let profile = if env::var("PROFILE").is_ok_and(|profile| profile == "release") { "guest" } else { "guest-dev" };
    let mut cargo = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let outer = text.starts_with("CARGO") || text.starts_with("RUSTFLAGS") || text.starts_with("RUSTC");
        if outer && !KEPT.contains(&text.as_ref()) {
            cargo.env_remove(name);
        }
    }
    // Flags of the compiler are in the folder's `.cargo/config.toml`, so that `just` can begin this build earlier.
    cargo.current_dir(folder).args(["build", "--quiet", "--locked", "--profile", profile, "--target-dir"]).arg(&target);
    match guests {
        Guests::Packages { .. } => cargo.arg("--lib"),
        Guests::Examples { package, .. } => cargo.args(["--examples", "-p", package]),
    };
    let output = cargo.output().map_err(|error| format!("failed to run cargo for the guests: {error}"))?;
    if !output.status.success() {
        return Err(format!("the guests do not build:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let out = target.join(TARGET).join(profile);
    Ok(match guests {
        Guests::Packages { prefix, names } => {
            let library = |name: &&str| Component {
                name: name.replace('-', "_"),
                wasm: out.join(format!("{prefix}{name}.wasm").replace('-', "_")),
            };
            names.iter().map(library).collect()
        }
        Guests::Examples { names, .. } => {
            let example =
                |name: &String| Component { name: name.clone(), wasm: out.join(format!("examples/{name}.wasm")) };
            names.iter().map(example).collect()
        }
    })
}

/// Tells cargo to run the build script again when one of these changes.
pub fn rerun_if_changed(paths: &[PathBuf]) {
    for path in paths {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// Ends a build script with a message a developer can act on.
pub fn or_explain(result: Result<(), String>) {
    if let Err(message) = result {
        for line in message.lines() {
            println!("cargo::error={line}");
        }
    }
}

/// The folder that a build script writes to.
pub fn out_folder() -> Result<PathBuf, String> {
    env::var("OUT_DIR").map(PathBuf::from).map_err(|error| format!("OUT_DIR: {error}"))
}

/// Writes a file unless it has these bytes already, so that its time of change stays.
pub fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

fn check_target() -> Result<(), String> {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(rustc).args(["--print", "sysroot"]).output();
    let output = output.map_err(|error| format!("failed to run rustc: {error}"))?;
    if !output.status.success() {
        return Err(format!("rustc does not say where it is:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    check_target_in(Path::new(String::from_utf8_lossy(&output.stdout).trim()))
}

fn check_target_in(sysroot: &Path) -> Result<(), String> {
    if sysroot.join("lib/rustlib").join(TARGET).join("lib").exists() {
        return Ok(());
    }
    Err(format!("the tools are WebAssembly and the compiler target for it is missing; run: rustup target add {TARGET}"))
}

fn target_folder() -> Result<PathBuf, String> {
    target_folder_above(&out_folder()?)
}

/// Finds cargo's target folder: build scripts run below `build` below the profile below it. With `--target` the
/// profile lies one folder deeper. The tag that cargo leaves in a target folder is no sign: a folder that was there
/// before cargo came has none.
fn target_folder_above(out: &Path) -> Result<PathBuf, String> {
    let build = out.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "build"));
    let target = build.and_then(|build| build.ancestors().nth(2));
    target.map(Path::to_owned).ok_or_else(|| format!("no cargo target folder above {}", out.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_folder_is_found_without_a_tag_of_cargos() {
        let found = |out: &str| target_folder_above(Path::new(out));
        assert_eq!(found("/build/main/target/debug/build/tools-1f/out"), Ok("/build/main/target".into()));
        assert_eq!(found("/main/target/release/build/tools/1f/out"), Ok("/main/target".into()));
        assert!(found("/main/elsewhere").is_err());
    }

    #[test]
    fn a_missing_target_is_answered_with_the_command_that_adds_it() {
        let sysroot = tempfile::tempdir().unwrap();
        fs::create_dir_all(sysroot.path().join("lib/rustlib/x86_64-unknown-linux-gnu/lib")).unwrap();
        let message = check_target_in(sysroot.path()).unwrap_err();
        assert!(message.contains("rustup target add wasm32-wasip2"), "{message}");
        fs::create_dir_all(sysroot.path().join("lib/rustlib/wasm32-wasip2/lib")).unwrap();
        assert_eq!(check_target_in(sysroot.path()), Ok(()));
    }
}
