//! Builds the built-in tools and the hostile guests of `palisade prove`.

use std::path::Path;

use palisade_guest_build::{Guests, build, or_explain, out_folder, rerun_if_changed, write_if_changed};

const NAMES: [&str; 14] = [
    "bash",
    "dial",
    "edit",
    "exec",
    "glob",
    "grep",
    "ls",
    "probe",
    "read",
    "relay",
    "think",
    "tree",
    "web-fetch",
    "write",
];

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guests = here.join("..");
    let sources = NAMES.iter().map(|name| guests.join(name));
    let shared = ["Cargo.toml", "Cargo.lock", "sdk", "../wit"].map(|path| guests.join(path));
    rerun_if_changed(&sources.chain(shared).collect::<Vec<_>>());
    or_explain(list(&guests));
}

fn list(guests: &Path) -> Result<(), String> {
    let built = build(guests, &Guests::Packages { prefix: "palisade-tool-", names: &NAMES })?;
    let rows = built.iter().map(|component| format!("    ({:?}, {:?}),\n", component.name, component.wasm));
    let rust = format!("&[\n{}]\n", rows.collect::<String>());
    write_if_changed(&out_folder()?.join("components.rs"), rust.as_bytes())
}
