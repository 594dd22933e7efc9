//! A component that comes alone: a manifest is made for it.

use anyhow::bail;
use palisade_agent::PANEL_TOOLS;
use palisade_catalog::BuiltIn;
use palisade_grants::{DELEGATION, canonical_tool};
use palisade_packages::Package;
use palisade_sandbox::{Entry, Offer};
use serde_json::json;

use crate::assemble::Assembly;

/// A package around one component, with a tool for each function that it offers.
pub(super) fn package(stem: &str, wasm: Vec<u8>, assembly: &Assembly) -> anyhow::Result<Package> {
    let name = plugin_name(stem);
    let compiled = assembly.compiler().prepare(&assembly.engine, &wasm)?;
    let offers = compiled.offers(&assembly.engine)?;
    if offers.is_empty() {
        let reasons = compiled.not_offered().into_iter().map(|it| format!("{}: {}", it.function, it.reason));
        bail!("{stem} offers nothing that can be a tool: {}", reasons.collect::<Vec<_>>().join("; "));
    }
    let mut tools = Vec::new();
    for Offer { description, entry } in &offers {
        let schema: serde_json::Value = serde_json::from_str(&description.input_schema)?;
        let mut tool = json!({
            "name": tool_name(&name, &description.name),
            "description": description.description,
            "component": format!("{name}.wasm"),
            "schema": schema,
        });
        if *entry != Entry::Tool {
            tool["function"] = entry.to_string().into();
        }
        tools.push(tool);
    }
    let manifest = json!({ "name": name, "tools": tools });
    Ok(Package::of_component(&name, wasm, serde_json::to_vec_pretty(&manifest)?)?)
}

/// A name for a tool. Nobody gets one under a name of this program's own tools, so the plugin's name is put before it.
fn tool_name(plugin: &str, function: &str) -> String {
    let canonical = canonical_tool(function);
    let mut own = BuiltIn::all().map(|tool| tool.name).chain(DELEGATION).chain(PANEL_TOOLS).chain(["skill"]);
    let is_taken = canonical.starts_with("system_") || own.any(|own| canonical_tool(own) == canonical);
    if is_taken { format!("{}_{function}", plugin.to_lowercase().replace('-', "_")) } else { function.to_owned() }
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
    fn a_function_named_like_a_tool_of_this_program_is_named_after_its_plugin() {
        for (function, name) in
            [("eval", "eval"), ("exec", "my_eval_exec"), ("skill", "my_eval_skill"), ("system_x", "my_eval_system_x")]
        {
            assert_eq!(tool_name("my-Eval", function), name);
        }
    }

    #[test]
    fn a_plugin_is_called_like_its_file_as_far_as_that_is_a_name() {
        for (stem, name) in [("get-weather", "get-weather"), ("a b.c", "a-b-c"), ("../x", "x"), ("…", "plugin")] {
            assert_eq!(plugin_name(stem), name);
        }
    }
}
