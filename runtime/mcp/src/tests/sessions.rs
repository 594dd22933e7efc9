//! Both ways a session begins.

use serde_json::{Value, json};

use super::stage::Client;

/// What every request carries since 2026-07-28.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[tokio::test]
async fn a_session_begins_with_a_handshake_as_in_2025() {
    for version in ["2025-11-25", "2025-06-18", "2024-11-05"] {
        let mut client = Client::new();
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" },
        });
        let result = client.ask(1, "initialize", params).await["result"].take();
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["serverInfo"]["name"], "palisade");
        assert_eq!(result["capabilities"], json!({ "tools": {} }));
        assert_eq!(result["instructions"], "Odd tools.");
        let result = client.ask(2, "tools/list", json!({})).await["result"].take();
        assert_eq!(result["tools"].as_array().unwrap().len(), 5);
        assert!(result.get("resultType").is_none() && result.get("ttlMs").is_none(), "{result}");
        assert_eq!(client.ask(3, "ping", json!({})).await["result"], json!({}));
    }
}

#[tokio::test]
async fn a_session_needs_no_handshake_since_2026() {
    let mut client = Client::new();
    let result = client.ask("a", "server/discover", json!({ "_meta": meta() })).await["result"].take();
    let versions = result["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")), "{result}");
    let result = client.ask("b", "tools/list", json!({ "_meta": meta() })).await["result"].take();
    assert_eq!((&result["resultType"], &result["cacheScope"]), (&json!("complete"), &json!("private")), "{result}");
    assert!(result["ttlMs"].is_u64(), "{result}");
    let params = json!({ "_meta": meta(), "name": "echo", "arguments": { "text": "hello" } });
    let result = client.ask("c", "tools/call", params).await["result"].take();
    assert_eq!((&result["resultType"], &result["isError"]), (&json!("complete"), &json!(false)), "{result}");
    assert_eq!(result["content"][0]["text"], r#"{"text":"hello"}"#);
}

#[tokio::test]
async fn a_request_that_names_no_version_before_a_handshake_is_refused_and_the_next_is_not() {
    let mut client = Client::new();
    let error = client.ask(1, "tools/list", json!({})).await["error"].take();
    assert_eq!(error["code"], -32602, "{error}");
    let mut meta = meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2035-01-01");
    let error = client.ask(2, "tools/list", json!({ "_meta": meta })).await["error"].take();
    assert!(error["data"]["supported"].as_array().unwrap().contains(&json!("2026-07-28")), "{error}");
    assert!(client.ask(3, "tools/list", json!({ "_meta": self::meta() })).await["result"]["tools"].is_array());
}

#[tokio::test]
async fn tools_are_listed_in_one_order_with_what_is_true_of_them() {
    let mut client = Client::begun().await;
    let first = client.ask(1, "tools/list", json!({})).await["result"].take();
    let names: Vec<&str> = first["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["echo", "refuse", "tell", "wait", "agent_ferryman"]);
    let echo = &first["tools"][0];
    assert_eq!(echo["annotations"]["readOnlyHint"], true);
    assert_eq!(echo["inputSchema"]["properties"]["text"]["type"], "string");
    // Of what nobody knows anything of, nothing is promised.
    assert!(first["tools"][1].get("annotations").is_none());
    let agent = &first["tools"][4];
    assert_eq!(
        (&agent["annotations"]["readOnlyHint"], &agent["annotations"]["destructiveHint"]),
        (&json!(false), &json!(true))
    );
    assert!(agent["description"].as_str().unwrap().ends_with("Carries parcels."), "{agent}");
    assert_eq!(client.ask(2, "tools/list", json!({})).await["result"].take(), first);
    let error = client.ask(3, "tools/list", json!({ "cursor": "next" })).await["error"].take();
    assert_eq!(error["code"], -32602);
}
