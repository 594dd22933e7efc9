//! Builds the core tools and the probes, and puts their machine code into the program.

use std::{
    env,
    path::{Path, PathBuf},
};

use palisade_guest_build::{Built, Guests, build, embed, or_explain, rerun_if_changed};

const TOOLS: [&str; 13] =
    ["dial", "edit", "exec", "glob", "grep", "ls", "probe", "read", "relay", "think", "tree", "web-fetch", "write"];
const PREFIX: &str = "palisade-tool-";
const PROBES: [&str; 5] = ["borrow", "exec", "http", "sockets", "spawn"];

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = here.join("../..");
    rerun_if_changed(&["guest-tools", "wit"].map(|path| workspace.join(path)));
    rerun_if_changed(&[here.join("probes")]);
    or_explain(tools(&workspace).and_then(|()| probes(&here.join("probes"))));
}

fn tools(workspace: &Path) -> Result<(), String> {
    let mut built = build(workspace, &Guests::Packages { prefix: PREFIX, names: &TOOLS })?;
    built.extend(build(workspace, &Guests::Alone { prefix: PREFIX, name: "bash" })?);
    built.sort_by(|a, b| a.name.cmp(&b.name));
    embed(&built, "tools.rs", "BuiltIn", true)
}

#[expect(clippy::disallowed_methods, reason = "a build script reads its sources and writes below OUT_DIR")]
fn probes(folder: &Path) -> Result<(), String> {
    let out = PathBuf::from(env::var("OUT_DIR").map_err(|error| error.to_string())?);
    let assemble = |name: &str| {
        let wasm = wat::parse_file(folder.join(format!("{name}.wat"))).map_err(|error| error.to_string())?;
        let path = out.join(format!("probe-{name}.wasm"));
        std::fs::write(&path, wasm).map_err(|error| error.to_string())?;
        Ok(Built { name: format!("probe-{name}"), wasm: path })
    };
    let built: Result<Vec<Built>, String> = PROBES.into_iter().map(assemble).collect();
    embed(&built?, "probes.rs", "LinkProbe", false)
}
