//! Requests that do nothing, whoever sends them.

use serde_json::json;

use super::{Server, tenants};
use crate::world::World;

/// HTTP-05, HTTP-06
#[test]
fn pages_and_names_of_others_are_refused_before_anything_is_done() {
    let server = Server::start(World::new(), &[]);
    let address = &server.address;
    let get =
        |headers: &str| server.send(&format!("GET /api/agents HTTP/1.1\r\nConnection: close\r\n{headers}\r\n")).status;
    assert_eq!(get(&format!("Host: {address}\r\n")), 200);
    for headers in [
        "Host: evil.test\r\n".to_owned(),
        format!("Host: evil.test:{}\r\n", address.rsplit(':').next().unwrap()),
        format!("Host: {address}\r\nOrigin: https://evil.test\r\n"),
        format!("Host: {address}\r\nSec-Fetch-Site: cross-site\r\n"),
    ] {
        assert_eq!(get(&headers), 403, "{headers}");
    }
    let plain = server.send(&format!(
        "POST /api/runs HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{{}}"
    ));
    assert_eq!(plain.status, 400);
    assert!(!plain.head.to_ascii_lowercase().contains("access-control-allow-origin"));
}

/// HTTP-07
#[test]
fn nobody_outside_is_served_without_keys() {
    let world = World::new();
    let ended = world.palisade(&["serve", "--listen", "0.0.0.0:0"]).with_code(1);
    assert!(
        ended.stderr.contains("there is no key yet") && ended.stderr.contains("palisade tenants"),
        "{}",
        ended.stderr
    );
}

/// HTTP-13
#[test]
fn bodies_that_are_no_sensible_json_are_answered_and_nothing_is_done() {
    let server = Server::start(World::new(), &[]);
    let deep = "[".repeat(100_000);
    for body in [
        "{",
        "[]",
        "{}",
        r#"{"agent": "explore", "agent": "general", "input": "x"}"#,
        r#"{"agent": 7, "input": "x"}"#,
        r#"{"agent": "explore", "input": "x", "tenant": "other"}"#,
        r#"{"agent": "explore", "input": "\ud800"}"#,
        "1e999",
        deep.as_str(),
    ] {
        let answer = server.send(&format!(
            "POST /api/runs HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            server.address, body.len()
        ));
        assert_eq!(answer.status, 400, "{:?}: {}", body.get(..60), answer.body);
        assert_eq!(answer.json()["status"], json!(400));
    }
    assert_eq!(server.get("/api/sessions", "").with(200).json()["data"], json!([]));
}

/// HTTP-08
#[test]
fn what_is_too_large_is_refused() {
    let server = Server::start(World::new(), &[]);
    let answer = server.send(&format!(
        "POST /api/runs HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n",
        server.address
    ));
    assert_eq!(answer.status, 413, "{}", answer.body);
}

/// HTTP-14
#[test]
fn other_ways_to_write_a_path_lead_nowhere() {
    let (world, _) = tenants(&["acme"]);
    let server = Server::start(world, &["--keys"]);
    for path in [
        "//api/agents",
        "/api//agents",
        "/api/agents/",
        "/API/agents",
        "/api/%2e%2e/health",
        "/page/../api/agents",
        "/health;/api",
        "/api%2fagents",
    ] {
        let status = server.get(path, "").status;
        assert!([401, 404].contains(&status), "{path}: {status}");
    }
    server.get("/health", "").with(200);
}
