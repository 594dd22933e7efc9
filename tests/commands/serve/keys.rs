//! Tenants that do not know of each other.

use serde_json::{Value, json};

use super::{Server, tenants};

/// Every route, with an id of a session, a run, a tenant and a key where it has one.
const ROUTES: [(&str, &str); 42] = [
    ("GET", "/api/agents"),
    ("GET", "/api/agents/explore"),
    ("GET", "/api/agents/explore/explain"),
    ("GET", "/api/tools"),
    ("GET", "/api/plugins"),
    ("GET", "/api/sessions"),
    ("POST", "/api/sessions"),
    ("GET", "/api/sessions/SESSION"),
    ("PATCH", "/api/sessions/SESSION"),
    ("DELETE", "/api/sessions/SESSION"),
    ("POST", "/api/sessions/SESSION/clear"),
    ("PUT", "/api/sessions/SESSION/panels"),
    ("GET", "/api/sessions/SESSION/entries"),
    ("GET", "/api/sessions/SESSION/run"),
    ("GET", "/api/me"),
    ("GET", "/api/runs"),
    ("POST", "/api/runs"),
    ("GET", "/api/runs/RUN"),
    ("GET", "/api/runs/RUN/events"),
    ("POST", "/api/runs/RUN/cancel"),
    ("GET", "/api/runs/RUN/approvals"),
    ("POST", "/api/runs/RUN/approvals/x"),
    ("GET", "/api/usage"),
    ("GET", "/api/audit"),
    ("GET", "/api/tenants"),
    ("GET", "/api/tenants/acme"),
    ("GET", "/api/tenants/acme/keys"),
    ("PATCH", "/api/tenants/acme"),
    ("DELETE", "/api/tenants/acme"),
    ("POST", "/api/tenants/acme/keys"),
    ("DELETE", "/api/tenants/acme/keys/x"),
    ("GET", "/api/tenants/acme/secrets"),
    ("PUT", "/api/tenants/acme/secrets/x"),
    ("DELETE", "/api/tenants/acme/secrets/x"),
    ("GET", "/metrics"),
    ("POST", "/mcp"),
    ("POST", "/mcp/explore"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/explore"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/responses"),
    ("POST", "/v1/messages"),
];

fn body(method: &str, path: &str) -> Option<Value> {
    match (method, path) {
        ("POST", "/api/sessions") => Some(json!({ "agent": "explore" })),
        ("POST", "/api/runs") => Some(json!({ "agent": "explore", "input": "x" })),
        ("POST", path) if path.contains("/approvals/") => Some(json!({ "decision": "allow" })),
        ("PUT", path) if path.ends_with("/panels") => Some(json!({ "panels": [{ "id": "p1", "kind": "lists" }] })),
        ("PUT", _) => Some(json!({ "host": "api.example.com", "value": "x" })),
        ("PATCH", _) => Some(json!({ "name": "mine" })),
        ("POST", "/v1/responses") => Some(json!({ "model": "explore", "input": "x" })),
        ("POST", path) if path.starts_with("/v1") => {
            Some(json!({ "model": "explore", "messages": [{ "role": "user", "content": "x" }], "max_tokens": 9 }))
        }
        _ => None,
    }
}

/// HTTP-02, HTTP-16
#[test]
fn no_route_does_anything_without_a_key() {
    let (world, keys) = tenants(&["acme"]);
    let server = Server::start(world, &["--keys"]);
    let wrong = format!("pal_{}", "0".repeat(64));
    for (method, path) in ROUTES {
        for key in ["", "nonsense", wrong.as_str()] {
            let answer = server.ask(method, path, key, &[], body(method, path).as_ref());
            assert_eq!(answer.status, 401, "{method} {path} {key}");
            let told = answer.json();
            let is_ours = told["type"] == "/problems/unauthorized" && told["status"] == 401;
            // Clients of others are told in their own words.
            assert!(is_ours || (path.starts_with("/v1/") && told["error"].is_object()), "{method} {path}: {told}");
        }
    }
    assert_eq!(
        server.get("/api/sessions", &keys[0]).with(200).json()["data"],
        json!([]),
        "the control, and nothing was done"
    );
    // What is for the operator is not for a tenant.
    for path in ["/api/tenants", "/api/tenants/acme", "/api/tenants/acme/keys", "/metrics"] {
        assert_eq!(server.get(path, &keys[0]).status, 403, "{path}");
    }
    for (method, path) in ROUTES.iter().filter(|(_, path)| path.contains("/secrets")) {
        assert_eq!(server.ask(method, path, &keys[0], &[], body(method, path).as_ref()).status, 403, "{method} {path}");
    }
}

/// HTTP-01, HTTP-03
#[test]
fn what_belongs_to_somebody_else_is_not_there() {
    let (world, keys) = tenants(&["acme", "borg"]);
    let server = Server::start(world, &["--keys"]);
    let run = server
        .post("/api/runs", &keys[0], &json!({ "agent": "explore", "input": "map", "wait": true }))
        .with(200)
        .json();
    let (session, run) = (run["session"].as_str().unwrap().to_owned(), run["id"].as_str().unwrap().to_owned());
    let nobody = "00000000-0000-4000-8000-000000000000";
    for (method, path) in ROUTES.iter().filter(|(_, path)| path.contains("SESSION") || path.contains("RUN")) {
        let at = |session: &str, run: &str| {
            let path = path.replace("SESSION", session).replace("RUN", run);
            let answer =
                server.ask(method, &path, &keys[1], &[("X-Tenant", "acme")], body(method, path.as_str()).as_ref());
            (answer.status, answer.body)
        };
        let (theirs, none) = (at(&session, &run), at(nobody, nobody));
        assert_eq!(theirs, none, "{method} {path}");
        assert_eq!(theirs.0, 404, "{method} {path}");
    }
    server.get(&format!("/api/sessions/{session}"), &keys[0]).with(200);
    assert_eq!(server.get("/api/sessions", &keys[1]).json()["data"], json!([]));
}

#[test]
fn a_key_that_was_revoked_opens_nothing() {
    let (world, keys) = tenants(&["acme"]);
    let server = Server::start(world, &["--keys"]);
    server.get("/api/agents", &keys[0]).with(200);
    let shown = server.world.palisade(&["tenants", "show", "acme", "--json"]).with_code(0).json();
    let id = shown["keys"][0]["id"].as_str().unwrap();
    server.world.palisade(&["tenants", "revoke", "acme", id]).with_code(0);
    server.get("/api/agents", &keys[0]).with(401);
}
