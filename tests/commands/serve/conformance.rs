//! The conformance suite of MCP against the tools of an agent over HTTP.

use palisade_tests::guests::guest;
use serde_json::{Value, json};

use super::Server;
use crate::{peers, world::World};

/// An agent with the tools that the suite calls, as far as tools of ours can be what it wants of them.
fn world() -> World {
    let world = World::new();
    let tool = |name: &str, component: &str, schema: Value| {
        let component = format!("{component}.wasm");
        json!({ "name": name, "description": "A tool of the suite.", "component": component, "schema": schema })
    };
    let nothing = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let address =
        json!({ "type": "object", "properties": { "street": { "type": "string" }, "city": { "type": "string" } } });
    let newer = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": address },
        "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" } },
        "additionalProperties": false,
    });
    let tools = json!([
        tool("test_simple_text", "recite", nothing.clone()),
        tool("test_tool_with_progress", "recite", nothing.clone()),
        // It wants a text and is given none.
        tool("test_error_handling", "echo", nothing),
        tool("json_schema_2020_12_tool", "recite", newer),
    ]);
    world.add("plugins/pupil/plugin.json", json!({ "name": "pupil", "tools": tools }).to_string());
    for name in ["echo", "recite"] {
        world.add(&format!("plugins/pupil/{name}.wasm"), guest(name).unwrap().wasm);
    }
    let tools = "test_simple_text, test_tool_with_progress, test_error_handling, json_schema_2020_12_tool";
    world.add_agent("pupil", &format!("---\nname: pupil\ndescription: d\ntools: [{tools}]\n---\nBe tested.\n"));
    world
}

/// What does not apply is listed, with reasons, in tests/clients/conformance.yml; what is listed and passes is an error,
/// too.
#[test]
fn every_scenario_of_the_conformance_suite_that_applies_passes() {
    let Some(suite) = peers::installed("@modelcontextprotocol/conformance-0.1.16", "_mcp") else { return };
    // The suite wants a newer Node than many systems have.
    let Some(node) = peers::installed("node-22.23.3", "_mcp") else { return };
    let server = Server::start(world(), &["--plugins-dir", "plugins", "--no-apart"]);
    let main = suite.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let url = format!("http://{}/mcp/pupil", server.address);
    let expected = peers::root().join("tests/clients/conformance.yml").display().to_string();
    let arguments =
        [main.to_str().unwrap(), "server", "--suite", "all", "--url", &url, "--expected-failures", &expected];
    let ran = peers::run(&node.join("node_modules/.bin/node"), &arguments, &server.world.home(), &[]);
    assert_eq!(ran.code, Some(0), "{}\n{}\n{}", ran.stdout, ran.stderr, server.log());
    for scenario in ["server-initialize", "tools-call-simple-text", "tools-call-with-progress", "json-schema-2020-12"] {
        assert!(ran.stdout.contains(&format!("✓ {scenario}")), "the control: {scenario}\n{}", ran.stdout);
    }
}
