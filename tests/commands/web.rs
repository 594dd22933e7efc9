//! Requests over the network, as a user configures them. Servers are on loopback, where an agent of the user's may name them.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its stage has failed")]

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use palisade_tests::{
    guests::guest,
    web::{AUTHORITY, Certificate, listen, plain},
};
use serde_json::{Value, json};

use crate::world::{Ended, World};

fn agent(world: &World, name: &str, frontmatter: &str) {
    world.add_agent(name, &format!("---\nname: {name}\ndescription: Reads pages.\n{frontmatter}\n---\nRead pages.\n"));
}

fn fetch(world: &World, variables: &[(&str, &str)], agent: &str, url: &str) -> Ended {
    let input = json!({ "url": url }).to_string();
    let arguments = ["tools", "call", "web_fetch", "--agent", agent, "--input", &input, "--json"];
    world.palisade_with(variables, &arguments)
}

/// The variables that other programs read, all of them.
pub(crate) fn proxies(through: &str) -> Vec<(&'static str, &str)> {
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let set = names.into_iter().map(|name| (name, through));
    set.chain([("NO_PROXY", ""), ("no_proxy", "")]).collect()
}

/// NET-12
#[test]
fn a_page_is_fetched_without_the_proxies_of_the_environment() {
    let proxied = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&proxied);
    let proxy = listen(Certificate::None, move |_, out| {
        count.fetch_add(1, Ordering::Relaxed);
        plain(out, "through a proxy")
    });
    let server = listen(Certificate::None, |_, out| {
        let body =
            "<html><head><title>Tides</title></head><body><h1>High water</h1><p>At <b>noon</b>.</p></body></html>";
        write!(out, "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    });
    let world = World::empty();
    agent(&world, "reader", &format!("tools: [WebFetch]\ngrants: {{ http: [\"http://{server}\"] }}"));
    let through = format!("http://{proxy}");
    let variables = proxies(&through);
    let report = fetch(&world, &variables, "reader", &format!("http://{server}/tides")).with_code(0).json();
    let output = report["output"].as_str().unwrap();
    assert!(output.contains("# High water") && output.contains("At **noon**."), "{output}");
    assert_eq!(proxied.load(Ordering::Relaxed), 0);
}

#[test]
fn without_a_granted_host_the_tool_is_absent_and_explain_says_why() {
    let world = World::empty();
    agent(&world, "reader", "tools: [WebFetch, Read]");
    let shown = world.palisade(&["explain", "reader", "--json"]).with_code(0).json();
    let excluded = shown["excluded"].as_array().unwrap().iter().find(|tool| tool["name"] == "web_fetch").unwrap();
    assert!(excluded["reason"].as_str().unwrap().contains("it needs `net.http`, which is not granted"), "{excluded}");
    agent(&world, "ruled", "tools: [\"WebFetch(domain:docs.example.com)\", Read]");
    let shown = world.palisade(&["explain", "ruled", "--json"]).with_code(0).json();
    assert_eq!(shown["grants"]["http"], json!(["docs.example.com"]));
    assert!(shown["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "web_fetch"), "{shown}");
    // What a rule does not allow is not even tried.
    let ended = fetch(&world, &[], "ruled", "https://elsewhere.example.com/").with_code(1);
    assert!(ended.stderr.contains("refuse this call"), "{}", ended.stderr);
}

/// NET-04
#[test]
fn an_agent_says_which_hosts_it_wants() {
    let world = World::empty();
    agent(&world, "greedy", "grants: { http: [\"*\"] }");
    let ended = world.palisade(&["explain", "greedy"]).with_code(1);
    assert!(ended.stderr.contains("cannot be `*`") && ended.stderr.contains("name the hosts"), "{}", ended.stderr);
    agent(&world, "ruled", "tools: [\"WebFetch(domain:*)\"]");
    let shown = world.palisade(&["explain", "ruled", "--json"]).with_code(0).json();
    assert_eq!(shown["grants"]["http"], json!([]));
}

#[test]
fn an_agent_of_a_project_names_no_address_inside() {
    let server = listen(Certificate::None, |_, out| plain(out, "inside"));
    let world = World::empty();
    let hosts = format!("grants: {{ http: [\"http://{server}\", \"docs.example.com\"] }}");
    let text = format!("---\nname: reader\ndescription: Reads pages.\ntools: [WebFetch]\n{hosts}\n---\nRead pages.\n");
    world.add(".palisade/agents/reader.md", text);
    world.palisade(&["agents", "trust", "reader"]).with_code(0);
    let shown = world.palisade(&["explain", "reader", "--json"]).with_code(0).json();
    assert_eq!(shown["grants"]["http"], json!(["docs.example.com"]));
    assert!(shown["warnings"].to_string().contains("an address that is not public"), "{}", shown["warnings"]);
    let report = fetch(&world, &[], "reader", &format!("http://{server}/")).with_code(1).json();
    assert_eq!(report["outcome"], "refused");
}

fn keyed(world: &World, config: &str, server: &std::net::SocketAddr, url: &str) -> (Ended, Value) {
    world.configure(config);
    agent(world, "keyed", &format!("grants: {{ http: [\"{server}\"], secrets: [\"SERVICE\"] }}"));
    let file = world.add_outside("fetch.wasm", guest("fetch").unwrap().wasm);
    let authority = world.add_outside("authority.pem", AUTHORITY);
    let header = json!([["authorization", "Bearer {{secret:SERVICE}}"]]);
    let input = json!({ "requests": [{ "url": url, "headers": header }] }).to_string();
    let variables = [("SERVICE_KEY", KEY), ("SSL_CERT_FILE", authority.as_str())];
    let ended =
        world.palisade_with(&variables, &["tools", "call", &file, "--agent", "keyed", "--input", &input, "--json"]);
    let output = ended.json()["output"].as_str().map_or(Value::Null, |output| serde_json::from_str(output).unwrap());
    (ended, output)
}

const KEY: &str = "sk-canary-0123456789";

/// SEC-01
/// SEC-05
#[test]
fn a_configured_secret_reaches_its_server_and_is_printed_nowhere() {
    let seen = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&seen);
    let server = listen(Certificate::Right, move |asked, out| {
        let sent = asked.header("authorization").unwrap_or_default();
        sent.clone_into(&mut kept.lock().unwrap());
        plain(out, &format!("you said {sent}"))
    });
    let world = World::empty();
    let config = format!("[secrets.SERVICE]\nhost = \"{server}\"\nkey_env = \"SERVICE_KEY\"\n");
    let (ended, output) = keyed(&world, &config, &server, &format!("https://{server}/"));
    assert_eq!(output[0]["body"], "you said Bearer [secret]", "{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(*seen.lock().unwrap(), format!("Bearer {KEY}"));
    assert!(!ended.stdout.contains(KEY) && !ended.stderr.contains(KEY));
    // Bound to another host, it is not sent.
    let elsewhere = "[secrets.SERVICE]\nhost = \"api.example.com\"\nkey_env = \"SERVICE_KEY\"\n";
    "nothing".clone_into(&mut seen.lock().unwrap());
    let (ended, output) = keyed(&world, elsewhere, &server, &format!("https://{server}/"));
    assert_eq!((&output[0]["error"], seen.lock().unwrap().as_str()), (&json!("HttpRequestDenied"), "nothing"));
    assert!(ended.stdout.contains("it belongs to"), "{}", ended.stdout);
}

#[test]
fn a_project_configures_no_secrets_and_no_networks() {
    let world = World::empty();
    world.add(".palisade/config.toml", "[secrets.A]\nhost = \"evil.example.com\"\nkey_env = \"HOME\"\n[http.private]\n\"a.example.com\" = [\"10.0.0.0/8\"]\n");
    let ended = world.palisade(&["config", "show"]);
    assert!(ended.stderr.contains("secrets.A.host") && ended.stderr.contains("http.private"), "{}", ended.stderr);
}

#[test]
fn what_is_wrong_with_secrets_and_networks_is_said_with_its_place() {
    let world = World::empty();
    for (config, expected) in [
        ("[secrets.A]\nhost = \"*.example.com\"\nkey_env = \"A\"\n", "belongs to one host"),
        ("[secrets.A]\nhost = \"http://a.example.com\"\nkey_env = \"A\"\n", "belongs to one host"),
        ("[secrets.A]\nkey_env = \"A\"\n", "add `host`"),
        ("[secrets.A]\nhost = \"a.example.com\"\n", "say where it comes from"),
        ("[secrets.A]\nvalue = \"sk-1\"\n", "keys do not stand in files"),
        ("[http.private]\n\"a.example.com\" = [\"ten\"]\n", "is no network"),
    ] {
        let path = world.configure(config);
        let ended = world.palisade(&["tools", "call", "think", "--agent", "explore"]).with_code(1);
        assert!(ended.stderr.contains(&path) && ended.stderr.contains(expected), "{config}: {}", ended.stderr);
        assert!(!ended.stderr.contains("sk-1"), "{}", ended.stderr);
    }
}
