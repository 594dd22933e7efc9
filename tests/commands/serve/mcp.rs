//! MCP over HTTP, message by message.

use serde_json::{Value, json};

use super::{Answer, Server, tenants};
use crate::world::World;

pub(super) fn message(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// What a message of the newest version says of itself.
pub(super) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "p",
    })
}

/// The messages of an answer that is a stream of events.
pub(super) fn events(answer: &Answer) -> Vec<Value> {
    assert!(answer.head.to_lowercase().contains("content-type: text/event-stream"), "{}", answer.head);
    let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|text| serde_json::from_str(text).unwrap()).collect()
}

pub(super) fn names(listed: &Value) -> Vec<&str> {
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
    let newest = server.ask("POST", "/mcp", "", &headers, Some(&message("tools/list", json!({ "_meta": meta() }))));
    assert!(names(&newest.with(200).json()).contains(&"agent_explore"));

    let arguments = json!({ "task": "where are parcels unloaded?" });
    let params = json!({ "name": "agent_explore", "arguments": arguments, "_meta": meta() });
    let called = events(&newest_call(&server, "/mcp", params).with(200));
    let (last, told) = called.split_last().unwrap();
    let text = last["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("harbour") && text.contains("[session "), "{text}");
    assert!(told.iter().all(|told| told["method"] == "notifications/progress") && !told.is_empty(), "{told:?}");
    let session = text.split("[session ").nth(1).unwrap().split(';').next().unwrap();
    let again = json!({ "name": "agent_explore", "arguments": { "task": "and what is it?", "session": session } });
    let again = events(&server.post("/mcp", "", &message("tools/call", again)).with(200));
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
    let with = |version: &str, method: &str| {
        let headers = [("MCP-Protocol-Version", version), ("Mcp-Method", method)];
        server.ask("POST", "/mcp", "", &headers[..if method.is_empty() { 1 } else { 2 }], Some(&list))
    };
    assert_eq!(code(with("2026-07-28", "tools/call"), 400), -32020);
    assert_eq!(code(with("2026-07-28", ""), 400), -32020);
    assert_eq!(code(with("2025-11-25", "tools/list"), 400), -32020);
    assert_eq!(code(with("1999-01-01", "tools/list"), 400), -32020);
    let old = [("MCP-Protocol-Version", "1999-01-01")];
    let unspoken = server.ask("POST", "/mcp", "", &old, Some(&message("tools/list", json!({})))).with(400).json();
    assert_eq!(
        (&unspoken["error"]["code"], &unspoken["error"]["data"]["requested"]),
        (&json!(-32022), &json!("1999-01-01"))
    );
    assert_eq!(with("2026-07-28", "tools/list").status, 200, "the control");
    server.post("/mcp/nobody", "", &message("tools/list", json!({}))).with(404);
    server.get("/mcp", "").with(405);
    let foreign = server.ask("POST", "/mcp", "", &[("Origin", "https://evil.example")], Some(&list));
    foreign.with(403);
}

/// In the newest version those on the way see from the status what the message says.
#[test]
fn errors_of_the_newest_version_have_a_status_of_their_own() {
    let server = Server::start(World::new(), &[]);
    let ask = |method: &str, params: Value| {
        let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        let answer = server.ask("POST", "/mcp", "", &headers, Some(&message(method, params)));
        (answer.status, answer.json()["error"]["code"].clone())
    };
    for method in ["pigeons/feed", "initialize", "ping", "logging/setLevel"] {
        assert_eq!(ask(method, json!({ "_meta": meta() })), (404, json!(-32601)), "{method}");
    }
    assert_eq!(ask("tools/list", json!({})), (400, json!(-32602)));
    let mut without = meta();
    without.as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(ask("tools/list", json!({ "_meta": without })), (400, json!(-32602)));
    let mut anonymous = meta();
    anonymous.as_object_mut().unwrap().remove("io.modelcontextprotocol/clientInfo");
    assert_eq!(ask("tools/list", json!({ "_meta": anonymous })).0, 200, "nobody has to say who it is");
}

/// A call of the newest version.
fn newest_call(server: &Server, path: &str, params: Value) -> Answer {
    let name = params["name"].as_str().unwrap().to_owned();
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", name.as_str())];
    server.ask("POST", path, "", &headers, Some(&message("tools/call", params)))
}

/// Waits until the one run of an agent has ended, and says how it has to.
#[track_caller]
pub(super) fn ended_as(server: &Server, key: &str, agent: &str, ending: &str) {
    let sessions = server.get("/api/sessions", key).with(200).json();
    let of_agent = |session: &&Value| session["agentId"] == agent;
    let sessions: Vec<&Value> = sessions["data"].as_array().unwrap().iter().filter(of_agent).collect();
    let [session] = sessions[..] else { panic!("one session of `{agent}`: {sessions:?}") };
    let id = session["sessionId"].as_str().unwrap();
    let run = server.get(&format!("/api/sessions/{id}/run"), key).with(200).json();
    // The stream of its events ends when it does.
    let path = format!("/api/runs/{}", run["id"].as_str().unwrap());
    server.get(&format!("{path}/events"), key).with(200);
    assert_eq!(server.get(&path, key).with(200).json()["ending"], ending);
}

/// Until 2025-11-25 a client says which of its requests it gives up; what closing the stream means is not agreed upon.
#[test]
fn a_client_ends_its_own_call_by_a_message_and_nobody_elses() {
    let (world, keys) = tenants(&["acme", "borg"]);
    let waits = world.script("waits.json", r#"[{"wait": 600000, "text": "too late"}]"#);
    let server = Server::start(world, &["--keys", "--no-apart", "--model", &waits]);
    let own = json!({ "name": "t", "version": "0" });
    let begin =
        message("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": own }));
    let session = |key: &str| {
        let head = server.post("/mcp", key, &begin).with(200).head;
        let line = head.lines().find(|line| line.to_lowercase().starts_with("mcp-session-id:")).unwrap().to_owned();
        line.split_once(':').unwrap().1.trim().to_owned()
    };
    let (mine, other) = (session(&keys[0]), session(&keys[0]));
    assert_ne!(mine, other);
    let arguments = json!({ "task": "take your time" });
    let call = message("tools/call", json!({ "name": "agent_explore", "arguments": arguments }));
    let cancel = |key: &str, session: &[(&str, &str)], id: Value| {
        let params = json!({ "requestId": id });
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        server.ask("POST", "/mcp", key, session, Some(&cancelled)).with(202);
    };
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| server.ask("POST", "/mcp", &keys[0], &[("Mcp-Session-Id", &mine)], Some(&call)));
        let working = || {
            let runs = server.get("/api/runs", &keys[0]).with(200).json();
            let runs = runs["data"].as_array().unwrap().clone();
            runs.first().map(|run| run["id"].as_str().unwrap().to_owned())
        };
        let run = loop {
            match working() {
                Some(run) => break run,
                None => std::thread::yield_now(),
            }
        };
        cancel(&keys[0], &[], json!(1));
        cancel(&keys[0], &[("Mcp-Session-Id", &other)], json!(1));
        cancel(&keys[1], &[("Mcp-Session-Id", &mine)], json!(1));
        cancel(&keys[0], &[("Mcp-Session-Id", &mine)], json!("1"));
        let shown = server.get(&format!("/api/runs/{run}"), &keys[0]).with(200).json();
        assert_eq!(shown["ending"], Value::Null, "{shown}");
        cancel(&keys[0], &[("Mcp-Session-Id", &mine)], json!(1));
        // Whoever has given up is not answered.
        assert!(events(&calling.join().unwrap().with(200)).iter().all(|told| told.get("result").is_none()));
    });
    ended_as(&server, &keys[0], "explore", "cancelled");
    let ended = server.ask("DELETE", "/mcp", &keys[0], &[("Mcp-Session-Id", &mine)], None);
    ended.with(405);
}
