//! What the server writes down holds nobody's secrets.

use serde_json::json;

use super::{
    Server,
    model::{Model, Said},
    tenants,
};

/// HTTP-04
#[test]
fn keys_and_what_is_said_are_in_no_log_however_much_is_logged() {
    const CANARY: &str = "canary-5d1c";
    let (world, keys) = tenants(&["acme", "borg"]);
    let model = Model::start(|results, _| match results {
        0 => Said::Call("grep", json!({ "pattern": CANARY })),
        _ => Said::Text(CANARY.to_owned()),
    });
    model.configure(&world);
    let server = Server::start(world, &["--keys", "--log", "trace"]);
    let asked = json!({ "agent": "explore", "input": CANARY, "wait": true, "session_name": CANARY });
    let run = server.post("/api/runs", &keys[0], &asked).with(200).json();
    assert_eq!(run["answer"], CANARY, "the control: it was said");
    let theirs = format!("/api/sessions/{}?x={CANARY}", run["session"].as_str().unwrap());
    server.get(&theirs, &keys[1]).with(404);
    server.get(&format!("/{CANARY}"), &keys[0]).with(404);
    server.get("/api/agents", &format!("pal_{CANARY}")).with(401);
    server.ask("GET", "/api/agents", "", &[("x-api-key", CANARY), ("Cookie", CANARY)], None).with(401);
    server.post("/api/runs", &keys[0], &json!({ CANARY: CANARY })).with(400);
    server.post("/v1/chat/completions", &keys[0], &json!({ "model": CANARY, "messages": [] })).with(400);
    server.get(&format!("/api/agents/{CANARY}"), &keys[0]).with(404);
    let log = server.log();
    assert!(log.contains("answered") && log.contains("/api/runs"), "the control: it was logged\n{log}");
    for secret in [CANARY, &keys[0][4..], &keys[1][4..]] {
        assert!(!log.contains(secret), "{log}");
    }
}
