//! What `/openapi.json` says is what the server does.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::json;

use super::{
    Server,
    clients::{LOOKS, scripted},
};
use crate::{peers, world::World};

/// The operations of the document: method, path, whether no key is needed.
fn operations(server: &Server) -> Vec<(String, String, bool)> {
    let document = server.get("/openapi.json", "").with(200).json();
    let paths = document["paths"].as_object().unwrap().iter();
    let all = paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(|(method, it)| (method.to_uppercase(), path.clone(), it["security"] == json!([{}])))
    });
    all.collect()
}

/// A path with something in the place of what it leaves open.
fn filled(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// Routes that are no part of the table, each with the reason.
const ELSEWHERE: [&str; 2] = [
    // MCP describes itself.
    r#".route("/mcp", "#,
    r#".route("/mcp/{agent}", "#,
];

#[test]
fn every_route_is_described_and_everything_described_is_a_route() {
    let server = Server::start(World::new(), &["--no-apart"]);
    let operations = operations(&server);
    let paths: BTreeSet<&str> = operations.iter().map(|(_, path, _)| path.as_str()).collect();
    for path in paths {
        // Nobody asks with this method, and the answer says with which somebody does.
        let answer = server.ask("TRACE", &filled(path), "", &[], None).with(405);
        let allowed =
            answer.head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("allow:").map(str::to_owned));
        let allowed = allowed.unwrap_or_else(|| panic!("{path}: {}", answer.head)).to_uppercase();
        let allowed: BTreeSet<&str> = allowed.split(',').map(str::trim).filter(|method| *method != "HEAD").collect();
        let described = operations.iter().filter(|(_, it, _)| it == path).map(|(method, _, _)| method.as_str());
        assert_eq!(allowed, described.collect(), "{path}");
    }
    // The table takes routes with their descriptions alone; nothing else adds one.
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/src");
    let sources = World::files_below(&sources).into_iter().filter(|file| file.extension().is_some_and(|it| it == "rs"));
    for file in sources.filter(|file| !file.ends_with("tests.rs")) {
        let text = fs::read_to_string(&file).unwrap();
        let added = [".route(", ".route_service(", ".nest(", ".nest_service("];
        let others = text.lines().filter(|line| added.iter().any(|it| line.contains(it)));
        let unknown: Vec<&str> = others.filter(|line| !ELSEWHERE.iter().any(|it| line.contains(it))).collect();
        assert_eq!(unknown, <[&str; 0]>::default(), "{}", file.display());
    }
}

/// HTTP-02
#[test]
fn whatever_is_described_needs_a_key_unless_it_says_otherwise() {
    let (server, key) = scripted(LOOKS, json!({}));
    let operations = operations(&server);
    let open: Vec<&str> = operations.iter().filter(|(_, _, open)| *open).map(|(_, path, _)| path.as_str()).collect();
    assert_eq!(open, ["/", "/docs", "/docs/{file}", "/health", "/openapi.json", "/page/{file}", "/ready"]);
    for (method, path, open) in &operations {
        let status = server.ask(method, &filled(path), "", &[], Some(&json!({}))).status;
        assert_eq!(status == 401, !open, "{method} {path}: {status}");
    }
    server.get("/api/me", &key).with(200);
}

#[test]
fn the_page_of_the_documentation_is_whole_and_closed_to_others() {
    let server = Server::start(World::new(), &["--no-apart"]);
    let page = server.get("/docs", "").with(200);
    for file in page.body.split('"').filter(|part| part.starts_with("/docs/")) {
        assert!(server.get(file, "").with(200).head.contains("default-src 'none'"), "{file}");
    }
    let policy = "content-security-policy: default-src 'none'; script-src 'self';";
    assert!(page.head.contains(policy) && page.body.contains("/docs/docs.js"), "{}", page.head);
    assert!(!page.body.contains("<script>") && !page.body.contains("//"), "nothing but files of this server");
    server.get("/docs/docs.rs", "").with(404);
}

/// A tenant with every right that is not turned away for asking often, and a key of it.
fn trier(server: &Server) -> String {
    let settings = json!({ "workspace": server.world.workspace(), "quotas": { "requests": 1_000_000 } }).to_string();
    server.world.palisade(&["tenants", "add", "tried", "--settings", &settings]).with_code(0);
    let scopes = ["read", "run", "approve", "admin"].map(|scope| ["--scope", scope]).concat();
    let made = server.world.palisade(&[&["tenants", "key", "tried"], &scopes[..]].concat()).with_code(0);
    made.stdout.trim().to_owned()
}

impl Server {
    /// Has PyPI's `schemathesis` read the document and try everything, with sense and without, the same way each time.
    fn tried(&self, folder: &Path, more: &[&str]) {
        let config = peers::root().join("tests/clients/schemathesis.toml").display().to_string();
        let document = format!("http://{}/openapi.json", self.address);
        let arguments = [
            &["--config-file", &config, "run", &document, "--no-color", "--workers", "1"][..],
            &["--generation-deterministic", "--max-examples", "16", "--request-timeout", "60"],
            &["--suppress-health-check", "all", "--warnings", "off"],
            more,
        ]
        .concat();
        let ran = peers::run(&folder.join("bin/schemathesis"), &arguments, &self.world.home(), &[]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn nothing_that_can_be_asked_for_breaks_the_server_or_its_word() {
    let Some(folder) = peers::installed("schemathesis-4.32.5", "_clients") else { return };
    let (server, _) = scripted(LOOKS, json!({}));
    let key = trier(&server);
    let bearer = format!("Authorization: Bearer {key}");
    server.tried(
        &folder,
        &[
            &["--header", &bearer][..],
            // What is right in form may still be wrong in what it says: an agent that is not there, a last message that
            // is not the user's.
            &["--exclude-checks", "positive_data_acceptance"],
            // What takes the key away that all of this is tried with; the next test has those.
            &["--exclude-tag", "tenants"],
        ]
        .concat(),
    );
    // The key counted to the end, agents have worked, and something was kept.
    server.get("/api/me", &key).with(200);
    let usage = server.get("/api/usage", &key).with(200).json();
    assert!(usage["data"].as_array().unwrap().iter().any(|row| row["runs"].as_u64() > Some(0)), "{usage}");
    assert_ne!(server.get("/api/sessions", &key).with(200).json()["data"], json!([]));
    let metrics = server.get("/metrics", &key).with(200).body;
    assert!(metrics.contains("class=\"5xx\"} 0"), "{metrics}");
}

/// Whoever sits at the machine needs no key, so that no tenant and no key that comes to an end is missed.
#[test]
fn nothing_that_can_be_asked_for_of_tenants_breaks_the_server_or_its_word() {
    let Some(folder) = peers::installed("schemathesis-4.32.5", "_clients") else { return };
    let server = Server::start(World::new(), &["--no-apart"]);
    server.tried(&folder, &["--include-tag", "tenants", "--exclude-checks", "positive_data_acceptance,ignored_auth"]);
    assert_ne!(server.get("/api/tenants", "").with(200).json()["data"], json!([]));
    let metrics = server.get("/metrics", "").with(200).body;
    assert!(metrics.contains("class=\"5xx\"} 0"), "{metrics}");
}
