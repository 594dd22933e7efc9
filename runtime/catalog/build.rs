//! Puts the built-in tools and the probes into the program, with their machine code.

use std::path::Path;

use palisade_components::FILES;
use palisade_guest_build::{Component, or_explain, out_folder, rerun_if_changed, write_if_changed};
use palisade_guest_embed::embed;

const PROBES: [&str; 5] = ["borrow", "exec", "http", "sockets", "spawn"];

fn main() {
    let probes = Path::new(env!("CARGO_MANIFEST_DIR")).join("probes");
    rerun_if_changed(std::slice::from_ref(&probes));
    rerun_if_changed(&FILES.iter().map(|(_, file)| file.into()).collect::<Vec<_>>());
    or_explain(tools().and_then(|()| link_probes(&probes)));
}

fn tools() -> Result<(), String> {
    let component = |&(name, file): &(&str, &str)| Component { name: name.to_owned(), wasm: file.into() };
    embed(&FILES.iter().map(component).collect::<Vec<_>>(), "tools.rs", "BuiltIn", true)
}

fn link_probes(folder: &Path) -> Result<(), String> {
    let out = out_folder()?;
    let assemble = |name: &str| {
        let wasm = wat::parse_file(folder.join(format!("{name}.wat"))).map_err(|error| error.to_string())?;
        let path = out.join(format!("probe-{name}.wasm"));
        write_if_changed(&path, &wasm)?;
        Ok(Component { name: format!("probe-{name}"), wasm: path })
    };
    let built: Result<Vec<Component>, String> = PROBES.into_iter().map(assemble).collect();
    embed(&built?, "probes.rs", "LinkProbe", false)
}
