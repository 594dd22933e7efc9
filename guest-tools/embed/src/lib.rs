//! Compiles components to machine code and writes them as Rust statics, for build scripts.
//!
//! The sandbox that will run a component makes its machine code and asks it for its description, so that a
//! program which embeds the result compiles nothing and asks nothing when it starts.
#![expect(clippy::disallowed_methods, reason = "runs inside build scripts: reads components, writes below OUT_DIR")]

use std::{fs, path::Path};

use palisade_guest_build::{Component, out_folder, write_if_changed};
use palisade_sandbox::{Artifact, Compiled, Description, Engine, Settings, precompile};

/// Writes a Rust file with one static per component, of the type `{type_path}` with the fields `name`, `digest`,
/// `wasm` and `code`, and with `described` also `description`.
pub fn embed(components: &[Component], file: &str, type_path: &str, described: bool) -> Result<(), String> {
    let out = out_folder()?;
    let engine = Engine::start(Settings::ONE_AGENT).map_err(|error| error.to_string())?;
    let mut rust = "&[\n".to_owned();
    for component in components {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", component.name);
        let wasm = fs::read(&component.wasm).map_err(|error| format!("{}: {error}", component.wasm.display()))?;
        let (digest, code) = compile(&out, &wasm).map_err(|error| failed(&error))?;
        let code_path = out.join(format!("{}.code", component.name));
        let wasm_path = out.join(format!("{}.wasm", component.name));
        write_if_changed(&code_path, &code)?;
        write_if_changed(&wasm_path, &wasm)?;
        let description = if described {
            let artifact = Artifact::built_in(digest, Vec::leak(code));
            let compiled = Compiled::load(&engine, &artifact).map_err(|error| failed(&error))?;
            let description = compiled.describe(&engine).map_err(|error| failed(&error))?;
            format!("description: {},", literal(&description))
        } else {
            String::new()
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

/// Writes a description as the source of a Rust value.
fn literal(description: &Description) -> String {
    let Description { name, description, input_schema, capabilities, read_only, idempotent, .. } = description;
    let capabilities: Vec<&str> = capabilities.iter().map(|capability| capability.name()).collect();
    format!(
        "StaticDescription {{ name: {name:?}, description: {description:?}, input_schema: {input_schema:?}, \
         capabilities: &{capabilities:?}, read_only: {read_only}, idempotent: {idempotent} }}"
    )
}
