//! The conformance suite of MCP against `/mcp`.

use super::Server;
use crate::{peers, world::World};

/// What does not apply is listed, with reasons, in tests/clients/conformance.yml.
#[test]
fn every_scenario_of_the_conformance_suite_that_applies_passes() {
    let Some(suite) = peers::installed("@modelcontextprotocol/conformance-0.1.16", "_mcp") else { return };
    // The suite wants a newer Node than many systems have.
    let Some(node) = peers::installed("node-22.23.3", "_mcp") else { return };
    let server = Server::start(World::new(), &[]);
    let main = suite.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let url = format!("http://{}/mcp", server.address);
    let expected = peers::root().join("tests/clients/conformance.yml");
    let arguments =
        [main.to_str().unwrap(), "server", "--url", &url, "--expected-failures", expected.to_str().unwrap()];
    let ran = peers::run(&node.join("node_modules/.bin/node"), &arguments, &server.world.home(), &[]);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("server-initialize"), "the control: something was run\n{}", ran.stdout);
}
