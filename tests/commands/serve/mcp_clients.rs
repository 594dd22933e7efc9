//! MCP over HTTP, as clients speak it that nobody here wrote: PyPI `mcp` and npm `@modelcontextprotocol/inspector`.

use serde_json::{Value, json};

use super::{Server, mcp::ended_as};
use crate::{peers, world::World};

/// A server with a tenant, which works in the workspace, and its key.
fn server(model: Option<&str>) -> (Server, String) {
    let world = World::new();
    world.add_outside("secret.txt", b"canary");
    let settings = json!({ "workspace": world.workspace() }).to_string();
    world.palisade(&["tenants", "add", "acme", "--settings", &settings]).with_code(0);
    let key = world.palisade(&["tenants", "key", "acme"]).with_code(0).stdout.trim().to_owned();
    let model = model.map(|replies| world.script("replies.json", replies));
    let model: Vec<&str> = model.iter().flat_map(|model| ["--model", model.as_str()]).collect();
    (Server::start(world, &[&["--keys", "--no-apart"][..], &model].concat()), key)
}

/// Both ways of beginning a session; a call that is allowed, one that is refused, one of nothing; an agent with the offline
/// model, heard while it works; and one that is given up.
#[test]
fn the_client_in_python_lists_calls_hears_and_cancels() {
    let Some(client) = peers::installed("mcp-2.3.0", "_mcp") else { return };
    let script = peers::root().join("tests/clients/mcp_http.py").display().to_string();
    for (mode, version) in [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")] {
        let (slow, slow_key) = server(Some(r#"[{"wait": 600000, "text": "too late"}]"#));
        let (server, key) = server(None);
        let arguments = [script.as_str(), mode, &server.address, &key, &slow.address, &slow_key];
        let ran = peers::run(&client.join("bin/python"), &arguments, &server.world.home(), &[]);
        assert_eq!(ran.code, Some(0), "{mode}: {}{}\n{}", ran.stdout, ran.stderr, server.log());
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["version"], version);
        assert_eq!((&report["tools"]["read"], &report["tools"]["agent_explore"]), (&json!(true), &Value::Null));
        assert!(report["allowed"]["text"].as_str().unwrap().contains("Carries parcels"), "{report}");
        assert_eq!(report["refused"]["error"], true, "{report}");
        assert!(!ran.stdout.contains("canary"), "{report}");
        assert_eq!(report["unknown"], -32602, "`explore` does not write: {report}");
        let agents = &report["agents"];
        assert_eq!((&agents["agent_explore"], &agents["agent_general"]), (&json!(true), &json!(false)), "{report}");
        assert!(report["agent"]["text"].as_str().unwrap().contains("harbour.rs"), "{report}");
        let counts = report["progress"].as_array().unwrap().iter().filter_map(|said| said[0].as_f64());
        let counts: Vec<f64> = counts.collect();
        assert!(counts.len() > 2 && counts.is_sorted_by(|one, next| one < next), "{report}");
        assert_eq!(report["cancelled"], true, "{report}");
        assert!(report["after"].as_u64().unwrap() > 1, "{report}");
        ended_as(&slow, &slow_key, "explore", "cancelled");
    }
}

#[test]
fn the_inspector_lists_calls_and_finds_nothing_wrong_with_the_schemas() {
    let Some(folder) = peers::installed("@modelcontextprotocol/inspector-2.12.0", "_mcp") else { return };
    let (server, key) = server(None);
    let bearer = format!("Authorization: Bearer {key}");
    let ask = |path: &str, arguments: &[&str]| {
        let url = format!("http://{}{path}", server.address);
        let common = ["--cli", &url, "--transport", "http", "--header", &bearer, "--method"];
        let inspector = folder.join("node_modules/.bin/mcp-inspector");
        peers::run(&inspector, &[&common[..], arguments].concat(), &server.world.home(), &[])
    };
    let answer = |path: &str, arguments: &[&str]| {
        let ran = ask(path, arguments);
        let answer = serde_json::from_str(&ran.stdout);
        let answer: Value = answer.unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr));
        (answer, ran.code)
    };
    for path in ["/mcp", "/mcp/explore", "/mcp/general"] {
        let (listed, code) = answer(path, &["tools/list", "--strict"]);
        assert_eq!(code, Some(0), "{listed}");
        let tools = listed["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        let expected = [names.contains(&"read"), names.contains(&"write"), names.contains(&"agent_explore")];
        assert_eq!(expected, [path != "/mcp", path == "/mcp/general", path == "/mcp"], "{names:?}");
    }
    let call = ["tools/call", "--tool-name"];
    let (read, code) = answer("/mcp/explore", &[&call[..], &["read", "--tool-arg", "path=README.md"]].concat());
    assert_eq!(code, Some(0));
    assert!(read["content"][0]["text"].as_str().unwrap().contains("Carries parcels"), "{read}");
    let outside = [&call[..], &["read", "--tool-arg", "path=../secret.txt"]].concat();
    assert_eq!(answer("/mcp/explore", &outside).0["isError"], true);
    let task = [&call[..], &["agent_explore", "--tool-arg", "task=where are parcels unloaded?"]].concat();
    let (answered, code) = answer("/mcp", &task);
    assert_eq!(code, Some(0));
    assert!(answered["content"][0]["text"].as_str().unwrap().contains("src/harbour.rs"), "{answered}");
    let nobody = ask("/mcp/nobody", &["tools/list"]);
    assert_ne!(nobody.code, Some(0), "{}", nobody.stdout);
}
