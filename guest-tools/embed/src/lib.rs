//! Compiles components to machine code and writes them as Rust statics, for build scripts.
//!
//! The sandbox that will run a component makes its machine code and asks it for its description, so that a
//! program which embeds the result compiles nothing and asks nothing when it starts. The machine code is for the
//! processor that the program is built for; the feature `cross` has the compiler for aarch64.
#![expect(clippy::disallowed_methods, reason = "runs inside build scripts: reads components, writes below OUT_DIR")]

use std::{env, fs, path::Path};

use palisade_guest_build::{Component, out_folder, write_if_changed};
use palisade_sandbox::{Artifact, Compiled, Description, Engine, Settings, digest, precompile, precompile_for};

/// Writes a Rust file with one static per component, of the type `{type_path}` with the fields `name`, `digest`,
/// `wasm` and `code`, and with `described` also `description`.
pub fn embed(components: &[Component], file: &str, type_path: &str, described: bool) -> Result<(), String> {
    let out = out_folder()?;
    let target = env::var("TARGET").map_err(|error| format!("TARGET: {error}"))?;
    let mut rust = "&[\n".to_owned();
    for component in components {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", component.name);
        let wasm = fs::read(&component.wasm).map_err(|error| format!("{}: {error}", component.wasm.display()))?;
        let digest = digest(&wasm);
        let code = compile(&out, &target, &wasm).map_err(|error| failed(&error))?;
        let code_path = out.join(format!("{}.code", component.name));
        let wasm_path = out.join(format!("{}.wasm", component.name));
        write_if_changed(&code_path, &code)?;
        write_if_changed(&wasm_path, &wasm)?;
        let description = match described {
            true => format!("description: {},", literal(&describe(&wasm, code).map_err(|error| failed(&error))?)),
            false => String::new(),
        };
        rust += &format!(
            "    {type_path} {{ name: {:?}, digest: {digest:?}, wasm: include_bytes!({:?}), code: include_bytes!({:?}), {description} }},\n",
            component.name, wasm_path, code_path
        );
    }
    rust += "]\n";
    write_if_changed(&out.join(file), rust.as_bytes())
}

/// Compiles, unless the same bytes were compiled in an earlier build.
fn compile(out: &Path, target: &str, wasm: &[u8]) -> Result<Vec<u8>, String> {
    let name: String = digest(wasm).iter().map(|byte| format!("{byte:02x}")).collect();
    let kept = out.join(format!("{name}.code"));
    if let Ok(code) = fs::read(&kept) {
        return Ok(code);
    }
    let code = precompile_for(target, wasm).map_err(|error| error.to_string())?;
    fs::write(&kept, &code).map_err(|error| format!("{}: {error}", kept.display()))?;
    Ok(code)
}

/// Asks a component for its description, here: what cannot run on the machine that builds it is compiled for that, too.
fn describe(wasm: &[u8], code: Vec<u8>) -> Result<Description, String> {
    let ask = |code: Vec<u8>| {
        let engine = Engine::start(Settings::ONE_AGENT).map_err(|error| error.to_string())?;
        let artifact = Artifact::built_in(digest(wasm), Vec::leak(code));
        let compiled = Compiled::load(&engine, &artifact).map_err(|error| error.to_string())?;
        compiled.describe(&engine).map_err(|error| error.to_string())
    };
    ask(code).or_else(|_| ask(precompile(wasm).map_err(|error| error.to_string())?))
}

/// Writes a description as the source of a Rust value.
fn literal(description: &Description) -> String {
    let Description { name, description, input_schema, capabilities, read_only, idempotent, .. } = description;
    let capabilities: Vec<&str> = capabilities.iter().map(|capability| capability.name()).collect();
    format!(
        "StaticDescription {{ name: {name:?}, description: {description:?}, input_schema: {input_schema:?}, \
         capabilities: &{capabilities:?}, read_only: {read_only}, idempotent: {idempotent} }}"
    )
}
