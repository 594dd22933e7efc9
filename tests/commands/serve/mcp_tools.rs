//! The tools of an agent over HTTP, held to what a run of it would be held to.

use serde_json::{Value, json};

use super::{
    Server,
    mcp::{events, message, names},
    tenants,
};
use crate::world::World;

/// Two tenants, each with a folder of its own to work in: the first in the workspace, the other in an empty one.
fn two_tenants(more: &Value) -> (World, Vec<String>) {
    let (world, keys) = tenants(&["acme", "borg"]);
    let empty = world.home().join("empty");
    for (tenant, folder, more) in [("acme", world.workspace(), more), ("borg", empty, &json!({}))] {
        let mut settings = json!({ "workspace": folder });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        world.palisade(&["tenants", "set", tenant, "--settings", &settings.to_string()]).with_code(0);
    }
    (world, keys)
}

impl Server {
    /// Calls a tool of an agent; gives what it said, and whether that is an error.
    fn tool(&self, key: &str, agent: &str, tool: &str, arguments: Value) -> (String, bool) {
        let call = message("tools/call", json!({ "name": tool, "arguments": arguments }));
        let called = events(&self.post(&format!("/mcp/{agent}"), key, &call).with(200));
        let result = &called.last().unwrap()["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{called:?}")).to_owned();
        (text, result["isError"] == true)
    }
}

fn listed(server: &Server, key: &str, path: &str) -> Value {
    server.post(path, key, &message("tools/list", json!({}))).with(200).json()
}

fn hints(listed: &Value, tool: &str) -> Value {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().find(|it| it["name"] == tool).unwrap_or_else(|| panic!("{listed}"))["annotations"].clone()
}

/// SUP-08: what is offered over HTTP is what is offered over standard input, to the last hint.
#[test]
fn the_tools_of_an_agent_are_those_of_standard_input() {
    let server = Server::start(World::new(), &["--no-apart"]);
    for agent in ["explore", "general"] {
        let begin = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
        let lines = [message("initialize", begin), message("tools/list", json!({}))].map(|it| it.to_string());
        let piped = server.world.palisade_reading(&["mcp", "--agent", agent], &format!("{}\n", lines.join("\n")));
        let piped = piped.with_code(0).stdout;
        let last: Value = serde_json::from_str(piped.lines().last().unwrap()).unwrap();
        let served = listed(&server, "", &format!("/mcp/{agent}"));
        assert_eq!(served["result"]["tools"], last["result"]["tools"], "{agent}");
        assert!(names(&served).contains(&"read"), "{served}");
    }
    let agents = listed(&server, "", "/mcp");
    assert_eq!(hints(&agents, "agent_explore")["readOnlyHint"], true);
    assert_eq!(hints(&agents, "agent_general")["readOnlyHint"], false);
    assert_eq!(hints(&agents, "agent_general")["destructiveHint"], true);
}

/// HTTP-03: the ceiling of a tenant is that of the tools, too, and what is told of them follows from it.
#[test]
fn a_tenants_tools_stay_in_its_workspace_and_below_its_ceiling() {
    let (world, keys) = two_tenants(&json!({ "grants": { "files": { ".": "read" } } }));
    world.add_outside("secret.txt", b"canary");
    let agent = "---\nname: own\ndescription: d\ntools: [Read]\npermissions:\n  allow: [Read]\n  ask: [\"Read(Cargo.toml)\"]\n---\nLook.\n";
    world.add_at_home(".local/share/palisade/tenants/acme/agents/own.md", agent);
    let server = Server::start(world, &["--keys", "--no-apart"]);
    let (text, failed) = server.tool(&keys[0], "general", "read", json!({ "path": "README.md" }));
    assert!(text.contains("Carries parcels") && !failed, "{text}");
    let (text, failed) = server.tool(&keys[0], "general", "read", json!({ "path": "../secret.txt" }));
    assert!(failed && !text.contains("canary"), "{text}");
    let theirs = listed(&server, &keys[0], "/mcp/general");
    assert_eq!(hints(&theirs, "read")["readOnlyHint"], true);
    assert!(!names(&theirs).contains(&"write") || hints(&theirs, "write")["readOnlyHint"] == true, "{theirs}");
    assert_eq!(hints(&listed(&server, &keys[0], "/mcp"), "agent_general")["readOnlyHint"], true);
    // Where the operator keeps things is nobody's business.
    let begin =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
    let begun = server.post("/mcp/general", &keys[0], &message("initialize", begin)).with(200).body;
    assert!(!begun.contains(server.world.home().to_str().unwrap()), "{begun}");
    // Another tenant has another workspace, and writes there.
    let (text, failed) = server.tool(&keys[1], "general", "read", json!({ "path": "README.md" }));
    assert!(failed && !text.contains("parcels"), "{text}");
    let (text, failed) = server.tool(&keys[1], "general", "write", json!({ "path": "new.txt", "content": "x" }));
    assert!(!failed, "{text}");
    assert!(server.world.read("new.txt").is_none());
    // Nobody is there to be asked.
    let (text, failed) = server.tool(&keys[0], "own", "read", json!({ "path": "Cargo.toml" }));
    assert!(failed && text.contains("nobody"), "{text}");
    assert!(!server.tool(&keys[0], "own", "read", json!({ "path": "README.md" })).1, "the control");
    // An agent of somebody else is not there.
    let list = message("tools/list", json!({}));
    let [theirs, none] = ["own", "nobody"].map(|name| server.post(&format!("/mcp/{name}"), &keys[1], &list));
    assert_eq!((theirs.status, &theirs.body), (404, &none.body));
}

#[test]
fn a_key_that_may_not_run_anything_calls_nothing_and_calls_are_written_down() {
    let (world, keys) = two_tenants(&json!({}));
    let key = world.palisade(&["tenants", "key", "acme", "--scope", "read"]).with_code(0).stdout.trim().to_owned();
    let server = Server::start(world, &["--keys", "--no-apart"]);
    let call = message("tools/call", json!({ "name": "ls", "arguments": {} }));
    for path in ["/mcp", "/mcp/explore"] {
        server.post(path, &key, &call).with(403);
    }
    let written = || server.get("/api/audit", &keys[0]).with(200).json()["data"].as_array().unwrap().clone();
    assert!(written().is_empty(), "{:?}", written());
    server.tool(&keys[0], "explore", "ls", json!({ "path": "." }));
    let [record] = &written()[..] else { panic!("one record: {:?}", written()) };
    assert_eq!(record["kind"], "call");
    let detail = &record["detail"];
    assert_eq!((&detail["agent"], &detail["tool"]), (&json!("explore"), &json!("ls")));
    assert_eq!(detail["input"], r#"{"path":"."}"#);
    assert!(detail["key"].is_string(), "{record}");
}

/// HTTP-17: a call takes the place of a run.
#[test]
fn calls_of_tools_count_as_what_a_tenant_has_at_work() {
    let model = super::model::Model::start(|_, _| {
        super::model::Said::Held(Box::new(super::model::Said::Text("done".to_owned())))
    });
    let (world, keys) = two_tenants(&json!({ "quotas": { "runs": 1, "waiting": 0 } }));
    model.configure(&world);
    let server = Server::start(world, &["--keys", "--no-apart"]);
    server.post("/api/runs", &keys[0], &json!({ "agent": "explore", "input": "look" })).with(202);
    model.holds(1);
    let call = message("tools/call", json!({ "name": "ls", "arguments": {} }));
    let refused = server.post("/mcp/explore", &keys[0], &call).with(429);
    assert!(refused.head.to_lowercase().contains("retry-after:"), "{}", refused.head);
    assert!(!server.tool(&keys[1], "explore", "ls", json!({})).1, "others do not notice");
    model.release();
}
