//! Requests over the network: to granted hosts, as they were granted, and nowhere else. Nothing but loopback is dialled.

use std::sync::{Arc, Mutex};

use palisade_sandbox::{Call, LinkRefusal, Report};
use palisade_tests::{
    web::{Certificate, Web, plain, redirect},
    world::World,
};
use serde_json::{Value, json};

pub(crate) const HOST: &str = "api.example.test";
pub(crate) const AT: &str = "93.184.216.34:443";

/// What came of some requests.
pub(crate) struct Came {
    pub(crate) each: Vec<Value>,
    pub(crate) report: Report,
}

/// Has the guest `fetch` make some requests.
pub(crate) fn fetch(world: &World, requests: &[Value]) -> Came {
    let report = world.scope(&["fetch"]).call_here("fetch", &json!({ "requests": requests }).to_string(), &Call::new());
    world.works_afterwards();
    world.no_canary(&report);
    let text = report.outcome.clone().unwrap_or_else(|failure| panic!("{failure}"));
    Came { each: serde_json::from_str(&text).unwrap(), report }
}

/// The same for one request: what went wrong with it.
pub(crate) fn refused(world: &World, request: Value) -> (String, Report) {
    let came = fetch(world, std::slice::from_ref(&request));
    let error = came.each[0]["error"].as_str().unwrap_or_else(|| panic!("{request} got {}", came.each[0]));
    (error.to_owned(), came.report)
}

pub(crate) fn get(url: &str) -> Value {
    json!({ "url": url })
}

pub(crate) fn granted(web: &Web, hosts: &[&str]) -> World {
    World::new().reaching(web.network(), hosts, &[])
}

#[test]
fn a_granted_host_is_asked_and_its_answer_read() {
    let web = Web::new();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    web.serve(AT, Certificate::Right, move |asked, out| {
        seen.lock().unwrap().push(asked.head.clone());
        plain(out, "hello")
    });
    let came = fetch(
        &granted(&web, &["GET,POST api.example.test"]),
        &[
            get("https://API.example.test./a/b?c=d#e"),
            json!({ "method": "POST", "authority": HOST, "path": "/p", "send": 10_000, "headers": [["X-Own", "1"]] }),
            json!({ "authority": HOST, "path": "?only=query" }),
        ],
    );
    for each in &came.each {
        assert_eq!((&each["status"], &each["body"], &each["error"]), (&json!(200), &json!("hello"), &Value::Null));
    }
    assert_eq!(came.report.denials, []);
    assert_eq!((web.looked_up(), web.dialled()), (vec![HOST.to_owned(); 3], vec![AT.to_owned(); 3]));
    let heads = heads.lock().unwrap();
    assert!(heads[0].starts_with("GET /a/b?c=d HTTP/1.1\r\n"), "{}", heads[0]);
    assert!(heads.iter().all(|head| head.to_lowercase().contains("\r\nhost: api.example.test\r\n")), "{heads:?}");
    assert!(heads[1].starts_with("POST /p ") && heads[1].contains("x-own: 1"), "{}", heads[1]);
    assert!(heads[2].starts_with("GET /?only=query HTTP/1.1\r\n"), "{}", heads[2]);
}

/// NET-01
#[test]
fn without_a_granted_host_there_is_no_http_to_import() {
    let web = Web::new();
    let world = granted(&web, &[]);
    let (compiled, description) = world.load("fetch");
    let Err(LinkRefusal::NotGranted { import, denial }) = world.empty_scope().add(&compiled, &description, "fetch")
    else {
        panic!("it was linked")
    };
    assert!(import.starts_with("wasi:http/"), "{import}");
    assert!(denial.to_string().contains("grants: { http:"), "{denial}");
    web.nothing_dialled();
}

#[test]
fn without_a_network_a_granted_host_cannot_be_asked() {
    let scope = {
        let world = granted(&Web::new(), &[HOST]);
        let workspace = palisade_sandbox::Workspace::none();
        let grants = world.empty_scope().grants().clone();
        let scope =
            palisade_sandbox::Scope::open(world.engine(), &workspace, grants, *world.empty_scope().limits(), None);
        let scope = scope.unwrap();
        world.add(&scope, "fetch", "fetch");
        scope
    };
    let input = json!({ "requests": [get("https://api.example.test/")] }).to_string();
    let came = scope.call_here("fetch", &input, &Call::new()).outcome.unwrap();
    assert!(came.contains("ConfigurationError"), "{came}");
}

/// NET-03
#[test]
fn what_only_looks_like_a_granted_host_is_refused_before_anything_is_looked_up() {
    let web = Web::new();
    web.say(AT, "hello");
    let world = granted(&web, &[HOST]);
    for url in [
        "https://api.example.test.evil.test/",
        "https://evil.test/api.example.test",
        "https://api.example.test@evil.test/",
        "https://me:key@api.example.test/",
        "https://evil.test#api.example.test",
        "https://evil.test\\@api.example.test/",
        "https://xapi.example.test/",
        "https://example.test/",
        "ftp://api.example.test/",
    ] {
        let (_, report) = refused(&world, get(url));
        assert_eq!(report.denials.len(), 1, "{url}");
        assert_eq!(report.denials[0].capability.name(), "net.http");
    }
    for authority in [
        "",
        ":443",
        "api.example.test:",
        "api.example.test:0443",
        "api.example.test@evil.test",
        "evil.test@api.example.test",
        "api.example.test%00.evil.test",
        "api.example.test\\evil.test",
        "api.example.test/evil.test",
        "api.example.test#",
        "api.example.test evil.test",
        "api.example.test,evil.test",
        "api.example.test..",
        "api%2eexample.test",
    ] {
        refused(&world, json!({ "authority": authority, "path": "/" }));
    }
    // A path cannot become a host.
    for path in ["https://evil.test/", "//evil.test/", "@evil.test/", ".evil.test/", "\\\\evil.test"] {
        let came = fetch(&world, &[json!({ "authority": HOST, "path": path })]);
        assert!(came.each[0]["error"].is_string() || web.looked_up().iter().all(|name| name == HOST), "{path}");
    }
    assert!(web.looked_up().iter().all(|name| name == HOST), "{:?}", web.looked_up());
    assert!(web.dialled().iter().all(|address| address == AT), "{:?}", web.dialled());
    web.forget();
    let came = fetch(&world, &[get("https://API.EXAMPLE.TEST/"), get("https://api.example.test./")]);
    assert!(came.each.iter().all(|each| each["status"] == 200), "{:?}", came.each);
}

/// NET-04
#[test]
fn a_wildcard_is_not_the_apex() {
    let web = Web::new();
    web.say(AT, "hello");
    let world = granted(&web, &["*.example.test"]);
    for url in ["https://example.test/", "https://badexample.test/", "https://example.test.evil.test/"] {
        refused(&world, get(url));
    }
    web.nothing_dialled();
    assert_eq!(fetch(&world, &[get("https://api.example.test/")]).each[0]["status"], 200);
}

/// NET-14
#[test]
fn other_ports_schemes_and_methods_are_refused_unless_they_are_granted() {
    let web = Web::new();
    web.say("93.184.216.34:8443", "another port");
    web.serve("93.184.216.34:80", Certificate::None, |_, out| plain(out, "no encryption"));
    let world = granted(&web, &[HOST]);
    for port in [22, 25, 80, 6379, 8443] {
        refused(&world, get(&format!("https://api.example.test:{port}/")));
    }
    refused(&world, get("http://api.example.test/"));
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "BREW"] {
        refused(&world, json!({ "method": method, "authority": HOST, "path": "/" }));
    }
    web.nothing_dialled();
    drop(world);
    let world = granted(&web, &["api.example.test:8443", "http://api.example.test"]);
    let came = fetch(&world, &[get("https://api.example.test:8443/"), get("http://api.example.test/")]);
    assert_eq!((&came.each[0]["body"], &came.each[1]["body"]), (&json!("another port"), &json!("no encryption")));
}

/// NET-13
#[test]
fn headers_of_the_connection_are_the_hosts_and_nothing_leaves_otherwise() {
    let web = Web::new();
    web.say(AT, "hello");
    let world = granted(&web, &["* api.example.test"]);
    for headers in [
        json!([["Host", "evil.test"]]),
        json!([["host", HOST]]),
        json!([["Transfer-Encoding", "chunked"]]),
        json!([["Content-Length", "3"], ["Transfer-Encoding", "chunked"]]),
        json!([["Content-Length", "3"], ["Content-Length", "4"]]),
        json!([["Content-Length", "3"], ["content-length", "3"]]),
        json!([["Content-Length", "3"]]),
        json!([["Content-Length", "+3"]]),
        json!([["Connection", "upgrade"]]),
        json!([["Upgrade", "websocket"]]),
        json!([["Keep-Alive", "1"]]),
        json!([["Proxy-Authorization", "Basic x"]]),
        json!([["Proxy-Connection", "close"]]),
        json!([["TE", "trailers"]]),
        json!([["Trailer", "x"]]),
        json!([["Expect", "100-continue"]]),
        json!([["X-Own", "a\r\nHost: evil.test"]]),
        json!([["X-Own", "a\nb"]]),
        json!([["X-Own\r\nHost", "evil.test"]]),
    ] {
        refused(&world, json!({ "authority": HOST, "path": "/", "headers": headers }));
        web.nothing_dialled();
    }
    for path in ["/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", "/a b", "/\u{0}"] {
        refused(&world, json!({ "authority": HOST, "path": path }));
    }
    web.nothing_dialled();
    let long = json!({ "requests": [{ "authority": HOST, "path": "/", "headers": [["X-Long", "x".repeat(40_000)]] }] });
    let report = world.scope(&["fetch"]).call_here("fetch", &long.to_string(), &Call::new());
    assert_eq!(report.outcome.unwrap_err().kind(), "trap");
    web.nothing_dialled();
    let came = fetch(&world, &[json!({ "authority": HOST, "path": "/", "headers": [["X-Own", "fine"]] })]);
    assert_eq!(came.each[0]["status"], 200);
}

/// NET-11
#[test]
fn a_redirect_is_an_answer_and_each_hop_is_looked_at() {
    let web = Web::new();
    web.serve(AT, Certificate::Right, |asked, out| match asked.path() {
        "/denied" => redirect(out, "https://evil.test/"),
        "/loopback" => redirect(out, "https://127.0.0.1/"),
        "/disguised" => redirect(out, "https://0x7f000001/"),
        "/metadata" => redirect(out, "http://169.254.169.254/latest/"),
        "/downgrade" => redirect(out, "http://api.example.test/"),
        "/port" => redirect(out, "https://api.example.test:6379/"),
        "/scheme" => redirect(out, "gopher://api.example.test/"),
        "/file" => redirect(out, "file:///etc/passwd"),
        "/user" => redirect(out, "https://me@api.example.test/"),
        "/allowed" => redirect(out, "https://other.test/end"),
        "/end" => plain(out, "arrived"),
        path => redirect(out, &format!("{path}x")),
    });
    let world = granted(&web, &[HOST, "other.test"]);
    for path in ["denied", "loopback", "disguised", "metadata", "downgrade", "port", "scheme", "file", "user"] {
        web.forget();
        let request = json!({ "url": format!("https://api.example.test/{path}"), "follow": 5 });
        let came = fetch(&world, &[request]);
        assert!(came.each[0]["error"].is_string(), "{path}: {}", came.each[0]);
        assert_eq!(web.dialled(), [AT], "{path}");
        assert_eq!(web.looked_up(), [HOST], "{path}");
    }
    let came = fetch(&world, &[json!({ "url": "https://api.example.test/allowed", "follow": 5 })]);
    assert_eq!((&came.each[0]["body"], &came.each[0]["made"]), (&json!("arrived"), &json!(2)));
    // A chain costs a request for each hop, and there are only so many.
    let world = world.limits(|limits| limits.requests = 10);
    let came = fetch(&world, &[json!({ "url": "https://api.example.test/x", "follow": 20 })]);
    assert_eq!((&came.each[0]["error"], &came.each[0]["made"]), (&json!("ConnectionLimitReached"), &json!(11)));
}
