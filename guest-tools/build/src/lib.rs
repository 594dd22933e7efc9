//! Builds guest crates as components and compiles them to machine code, for build scripts.
//!
//! A nested cargo builds the guests into a target folder of their own; the sandbox that will run
//! them makes the machine code and asks each tool what it is, so that a program which embeds the
//! result compiles nothing and asks nothing when it starts.
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

use palisade_sandbox::{Artifact, Compiled, Description, Engine, Settings, precompile};

/// Guests to build: the libraries of some packages, of one that stands alone, or the examples of one.
pub enum Guests<'a> {
    /// One component per package; it is named after the package without the given prefix, with `_` for `-`.
    Packages {
        /// What every package's name begins with.
        prefix: &'a str,
        /// The rest of their names.
        names: &'a [&'a str],
    },
    /// One package that is a workspace of its own, in a folder of the same name below `guest-tools`.
    Alone {
        /// What the package's name begins with.
        prefix: &'a str,
        /// The rest of its name.
        name: &'a str,
    },
    /// One component per example of a package.
    Examples {
        /// The package.
        package: &'a str,
        /// The examples.
        names: &'a [String],
    },
}

/// A guest that was built.
pub struct Built {
    /// Its short name.
    pub name: String,
    /// The component.
    pub wasm: PathBuf,
}

const TARGET: &str = "wasm32-wasip2";
const PROFILE: &str = "guest";
/// SIMD makes searching fast. Enough memory from the start keeps `memory.grow`, and with it the
/// process's memory lock, out of ordinary calls.
const FLAGS: &str = "-C target-feature=+simd128 -C link-arg=--initial-memory=4194304";

/// Builds the guests. The error is what the developer should read.
pub fn build(workspace: &Path, guests: &Guests<'_>) -> Result<Vec<Built>, String> {
    check_target()?;
    let folder = target_folder()?.join("guests");
    let mut cargo = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let ours = text.starts_with("CARGO") || text.starts_with("RUSTFLAGS") || text.starts_with("RUSTC");
        if ours && text != "CARGO_HOME" && text != "CARGO_NET_OFFLINE" && text != "RUSTUP_HOME" {
            cargo.env_remove(name);
        }
    }
    cargo.current_dir(workspace).env("RUSTFLAGS", FLAGS).args(["build", "--quiet", "--locked", "--target", TARGET]);
    cargo.args(["--profile", PROFILE, "--target-dir"]).arg(&folder);
    match guests {
        Guests::Packages { prefix, names } => {
            cargo.arg("--lib").args(names.iter().flat_map(|name| ["-p".to_owned(), format!("{prefix}{name}")]));
        }
        Guests::Alone { name, .. } => drop(cargo.arg("--lib").current_dir(workspace.join("guest-tools").join(name))),
        Guests::Examples { package, .. } => drop(cargo.args(["--examples", "-p", package])),
    }
    let output = cargo.output().map_err(|error| format!("cargo cannot be run to build the guests: {error}"))?;
    if !output.status.success() {
        return Err(format!("the guests do not build:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let out = folder.join(TARGET).join(PROFILE);
    let built = |name: &str, wasm: PathBuf| Built { name: name.to_owned(), wasm };
    let library = |prefix: &str, name: &str| {
        built(&name.replace('-', "_"), out.join(format!("{prefix}{name}.wasm").replace('-', "_")))
    };
    Ok(match guests {
        Guests::Packages { prefix, names } => names.iter().map(|name| library(prefix, name)).collect(),
        Guests::Alone { prefix, name } => vec![library(prefix, name)],
        Guests::Examples { names, .. } => {
            names.iter().map(|name| built(name, out.join("examples").join(format!("{name}.wasm")))).collect()
        }
    })
}

/// Compiles guests to machine code and writes a Rust file with one static per guest, of the type
/// `{type_path}` with the fields `name`, `digest`, `wasm`, `code`; with descriptions also
/// `description`.
pub fn embed(guests: &[Built], file: &str, type_path: &str, described: bool) -> Result<(), String> {
    let out = PathBuf::from(env::var("OUT_DIR").map_err(|error| format!("OUT_DIR: {error}"))?);
    let engine = Engine::start(Settings::ONE_AGENT).map_err(|error| error.to_string())?;
    let mut rust = "&[\n".to_owned();
    for guest in guests {
        let wasm = fs::read(&guest.wasm).map_err(|error| format!("{}: {error}", guest.wasm.display()))?;
        let (digest, code) = compile(&out, &wasm).map_err(|error| format!("{}: {error}", guest.name))?;
        let code_path = out.join(format!("{}.code", guest.name));
        let wasm_path = out.join(format!("{}.wasm", guest.name));
        write_if_changed(&code_path, &code)?;
        write_if_changed(&wasm_path, &wasm)?;
        let description = if described {
            let artifact = Artifact::built_in(digest, Vec::leak(code));
            let compiled = Compiled::load(&engine, &artifact).map_err(|error| format!("{}: {error}", guest.name))?;
            let description = compiled.describe(&engine).map_err(|error| format!("{}: {error}", guest.name))?;
            format!("description: {},", literal(&description))
        } else {
            String::new()
        };
        rust += &format!(
            "    {type_path} {{ name: {:?}, digest: {digest:?}, wasm: include_bytes!({:?}), code: include_bytes!({:?}), {description} }},\n",
            guest.name, wasm_path, code_path
        );
    }
    rust += "]\n";
    write_if_changed(&out.join(file), rust.as_bytes())
}

/// Compiles, unless the same bytes were compiled in an earlier build.
fn compile(out: &Path, wasm: &[u8]) -> Result<([u8; 32], Vec<u8>), String> {
    let digest = palisade_sandbox::digest(wasm);
    let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let kept = out.join(format!("{name}.code"));
    if let Ok(code) = fs::read(&kept) {
        return Ok((digest, code));
    }
    let code = precompile(wasm).map_err(|error| error.to_string())?;
    fs::write(&kept, &code).map_err(|error| format!("{}: {error}", kept.display()))?;
    Ok((digest, code))
}

/// A description as the source of a Rust value.
fn literal(description: &Description) -> String {
    let Description { name, description, input_schema, capabilities, read_only, idempotent, .. } = description;
    let capabilities: Vec<&str> = capabilities.iter().map(|capability| capability.name()).collect();
    format!(
        "StaticDescription {{ name: {name:?}, description: {description:?}, input_schema: {input_schema:?}, \
         capabilities: &{capabilities:?}, read_only: {read_only}, idempotent: {idempotent} }}"
    )
}

/// Tells cargo when to build the guests again.
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

fn check_target() -> Result<(), String> {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(rustc).args(["--print", "sysroot"]).output();
    let output = output.map_err(|error| format!("rustc cannot be run: {error}"))?;
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
    let out = PathBuf::from(env::var("OUT_DIR").map_err(|error| format!("OUT_DIR: {error}"))?);
    target_folder_above(&out)
}

/// Cargo runs build scripts below `build` below the profile below its target folder. The tag it
/// leaves in a target folder is no sign: a folder that was there before cargo came has none.
fn target_folder_above(out: &Path) -> Result<PathBuf, String> {
    let build = out.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "build"));
    let target = build.and_then(|build| build.ancestors().nth(2));
    target.map(Path::to_owned).ok_or_else(|| format!("no cargo target folder above {}", out.display()))
}

fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
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
