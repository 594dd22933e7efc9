//! MCP servers of the operator, and tenants that may or may not use them.

use std::{
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::{Value, json};

use super::{
    Server,
    mcp::{message, names},
    tenants,
};
use crate::world::World;

const SCRIPT: &str = include_str!("../mcp/server.sh");

/// An address that hangs up on everybody, and how often it did.
fn hangs_up() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    thread::spawn(move || {
        for _ in listener.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    (address, asked)
}

/// Two tenants with an agent of the same words; the operator lets the first one less.
fn two(servers: &str, tools: &str, [less, more]: [Value; 2]) -> (World, Vec<String>) {
    let (world, keys) = tenants(&["acme", "borg"]);
    world.configure_operator(servers);
    for (tenant, grants) in [("acme", less), ("borg", more)] {
        let settings = json!({ "grants": grants }).to_string();
        world.palisade(&["tenants", "set", tenant, "--settings", &settings]).with_code(0);
        let agent = format!("---\nname: own\ndescription: d\ntools: [Read, {tools}]\n---\nLook.\n");
        world.add_at_home(&format!(".local/share/palisade/tenants/{tenant}/agents/own.md"), &agent);
    }
    (world, keys)
}

fn listed(server: &Server, key: &str) -> Vec<String> {
    let listed = server.post("/mcp/own", key, &message("tools/list", json!({}))).with(200).json();
    names(&listed).iter().map(|name| (*name).to_owned()).collect()
}

fn run(server: &Server, key: &str) {
    let said = json!([{ "role": "user", "content": "how are parcels carried?" }]);
    server.post("/v1/chat/completions", key, &json!({ "model": "own", "messages": said })).with(200);
}

/// T4, X11. What a tenant was not granted is not even started to be asked what it is.
#[test]
fn a_tenant_has_the_operators_servers_by_grants_alone() {
    let files = json!({ ".": "read" });
    let command = json!(["/bin/sh", "-c", SCRIPT, "post-server", "marker-tenant"]);
    let grants = json!({ "files": files, "agents": ["*"], "commands": ["mcp__post"] });
    let less = json!({ "files": files, "agents": ["*"] });
    let (world, keys) = two(&format!("[mcp.post]\ncommand = {command}\n"), "mcp__post__*", [less, grants]);
    let server = Server::start(world, &["--keys", "--no-apart"]);
    assert_eq!(listed(&server, &keys[0]), ["read"]);
    run(&server, &keys[0]);
    let met = |tenant: &str| {
        let files = World::files_below(&server.world.home().join(".local/share/palisade/tenants").join(tenant));
        files.iter().any(|file| file.ends_with("mcp.lock"))
    };
    assert!(!met("acme"), "nobody has met it");
    let theirs = listed(&server, &keys[1]);
    assert!(theirs.contains(&"mcp__post__look".to_owned()), "{theirs:?}");
    assert!(met("borg") && !met("acme"));
    assert_eq!(listed(&server, &keys[0]), ["read"], "what another one has met is not its own");
}

#[test]
fn a_server_that_cannot_be_met_is_not_asked_again_and_again() {
    let (address, asked) = hangs_up();
    let grants =
        json!({ "files": { ".": "read" }, "agents": ["*"], "http": [format!("GET,POST,DELETE http://{address}")] });
    let less = json!({ "files": { ".": "read" }, "agents": ["*"], "http": ["example.org"] });
    let servers = format!("[mcp.far]\nurl = \"http://{address}/mcp\"\n");
    let (world, keys) = two(&servers, "mcp__far__*", [less, grants]);
    let server = Server::start(world, &["--keys", "--no-apart"]);
    assert_eq!(listed(&server, &keys[0]), ["read"]);
    run(&server, &keys[0]);
    assert_eq!(asked.load(Ordering::SeqCst), 0, "it may not be reached from there");
    assert_eq!(listed(&server, &keys[1]), ["read"]);
    let once = asked.load(Ordering::SeqCst);
    assert!(once > 0, "the control");
    run(&server, &keys[1]);
    assert_eq!(listed(&server, &keys[1]), ["read"]);
    assert_eq!(asked.load(Ordering::SeqCst), once);
}
