//! A component that comes alone: a manifest is made for it.

use anyhow::Context as _;
use palisade_packages::Package;
use serde_json::json;

use crate::assemble::Assembly;

/// A package around one component, with a tool for what it offers.
pub(super) fn package(stem: &str, wasm: Vec<u8>, assembly: &Assembly) -> anyhow::Result<Package> {
    let name = plugin_name(stem);
    let compiled = assembly.compiler().prepare(&assembly.engine, &wasm)?;
    let description =
        compiled.describe(&assembly.engine).with_context(|| format!("{stem} does not say which tool it is"))?;
    let schema: serde_json::Value = serde_json::from_str(&description.input_schema)?;
    let tool = json!({
        "name": description.name,
        "description": description.description,
        "component": format!("{name}.wasm"),
        "schema": schema,
    });
    let manifest = json!({ "name": name, "tools": [tool] });
    Ok(Package::of_component(&name, wasm, serde_json::to_vec_pretty(&manifest)?)?)
}

/// A name of a plugin, made from that of a file.
fn plugin_name(stem: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || character == '-' || character == '_';
    let name: String = stem.chars().map(|it| if is_plain(it) { it } else { '-' }).take(64).collect();
    let name = name.trim_matches(['-', '_']).to_owned();
    if name.is_empty() { "plugin".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_called_like_its_file_as_far_as_that_is_a_name() {
        for (stem, name) in [("get-weather", "get-weather"), ("a b.c", "a-b-c"), ("../x", "x"), ("…", "plugin")] {
            assert_eq!(plugin_name(stem), name);
        }
    }
}
