//! MCP over HTTP, message by message.

use serde_json::{Value, json};

use super::{Answer, Server};
use crate::world::World;

fn message(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// What a message of the newest version says of itself.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "p",
    })
}

/// The messages of an answer that is a stream of events.
fn events(answer: &Answer) -> Vec<Value> {
    assert!(answer.head.to_lowercase().contains("content-type: text/event-stream"), "{}", answer.head);
    let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|text| serde_json::from_str(text).unwrap()).collect()
}

fn names(listed: &Value) -> Vec<&str> {
    listed["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect()
}

#[test]
fn agents_are_tools_in_every_version_without_a_session() {
    let server = Server::start(World::new(), &[]);
    let own = json!({ "name": "t", "version": "0" });
    let begun = server.post(
        "/mcp",
        "",
        &message("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": own })),
    );
    assert_eq!(begun.clone().with(200).json()["result"]["protocolVersion"], "2025-11-25");
    assert!(!begun.head.to_lowercase().contains("mcp-session-id"), "{}", begun.head);
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(server.post("/mcp", "", &initialized).with(202).body, "");
    let listed = server.ask(
        "POST",
        "/mcp",
        "",
        &[("MCP-Protocol-Version", "2025-11-25")],
        Some(&message("tools/list", json!({}))),
    );
    let listed = listed.with(200).json();
    assert!(names(&listed).contains(&"agent_explore") && names(&listed).contains(&"agent_general"), "{listed}");
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")];
    let newest =
        server.ask("POST", "/mcp/explore", "", &headers, Some(&message("tools/list", json!({ "_meta": meta() }))));
    assert_eq!(names(&newest.with(200).json()), ["agent_explore"]);

    let arguments = json!({ "task": "where are parcels unloaded?" });
    let params = json!({ "name": "agent_explore", "arguments": arguments, "_meta": meta() });
    let called = events(&server.post("/mcp", "", &message("tools/call", params)).with(200));
    let (last, told) = called.split_last().unwrap();
    let text = last["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("harbour") && text.contains("[session "), "{text}");
    assert!(told.iter().all(|told| told["method"] == "notifications/progress") && !told.is_empty(), "{told:?}");
    let session = text.split("[session ").nth(1).unwrap().split(';').next().unwrap();
    let again = json!({ "name": "agent_explore", "arguments": { "task": "and what is it?", "session": session } });
    let again = events(&server.post("/mcp/explore", "", &message("tools/call", again)).with(200));
    assert!(again.last().unwrap()["result"]["content"][0]["text"].as_str().unwrap().contains(session), "{again:?}");
}

#[test]
fn what_is_no_message_is_answered_and_what_does_not_fit_its_headers_is_refused() {
    let server = Server::start(World::new(), &[]);
    let code = |answer: Answer, status: u16| answer.with(status).json()["error"]["code"].clone();
    assert_eq!(code(server.post("/mcp", "", &json!([])), 400), -32600);
    assert_eq!(code(server.post("/mcp", "", &message("pigeons/feed", json!({}))), 200), -32601);
    let unknown = message("tools/call", json!({ "name": "agent_nobody", "arguments": { "task": "x" } }));
    assert_eq!(events(&server.post("/mcp", "", &unknown).with(200))[0]["error"]["code"], -32602);
    let list = message("tools/list", json!({ "_meta": meta() }));
    let with = |header: (&str, &str)| server.ask("POST", "/mcp", "", &[header], Some(&list));
    assert_eq!(code(with(("Mcp-Method", "tools/call")), 400), -32020);
    assert_eq!(code(with(("MCP-Protocol-Version", "2025-11-25")), 400), -32020);
    assert_eq!(code(with(("MCP-Protocol-Version", "1999-01-01")), 400), -32022);
    assert_eq!(with(("Mcp-Method", "tools/list")).status, 200, "the control");
    server.post("/mcp/nobody", "", &list).with(404);
    server.get("/mcp", "").with(405);
    let foreign = server.ask("POST", "/mcp", "", &[("Origin", "https://evil.example")], Some(&list));
    foreign.with(403);
}
