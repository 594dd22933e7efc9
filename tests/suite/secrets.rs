//! Secrets: a guest names one, the host puts it into a request to its bound host, and nobody on this side ever reads it.

use std::sync::{Arc, Mutex};

use palisade_sandbox::{Binding, Call, Vault};
use palisade_tests::{
    web::{Certificate, Web, plain, redirect},
    world::World,
};
use secrecy::SecretString;
use serde_json::json;

use crate::net::{AT, HOST, fetch, refused};

const VALUE: &str = "sk-canary/4711\"\\0123456789";

/// A vault with one secret, whose value can be replaced.
struct One(Arc<Mutex<String>>);

impl Vault for One {
    fn binding(&self, name: &str) -> Option<Binding> {
        let host = HOST.parse().unwrap();
        (name == "KEY").then(|| Binding { host, header: "authorization".to_owned() })
    }

    fn value(&self, _: &str) -> Result<SecretString, String> {
        Ok(SecretString::from(self.0.lock().unwrap().as_str()))
    }
}

struct Stage {
    web: Web,
    world: World,
    value: Arc<Mutex<String>>,
    /// What servers were asked.
    heads: Arc<Mutex<Vec<String>>>,
}

fn stage(hosts: &[&str], secrets: &[&str]) -> Stage {
    let web = Web::new();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let value = Arc::new(Mutex::new(VALUE.to_owned()));
    let seen = Arc::clone(&heads);
    web.serve(AT, Certificate::Right, move |asked, out| {
        seen.lock().unwrap().push(asked.head.clone());
        match asked.path() {
            "/away" => redirect(out, "https://other.test/"),
            "/echo" => {
                let sent = asked.header("authorization").unwrap_or_default();
                let json = sent.replace('\\', "\\\\").replace('"', "\\\"");
                let hex: String = sent.bytes().map(|byte| format!("{byte:02x}")).collect();
                let body = format!("{sent}\n{json}\n{hex}\nend");
                write!(out, "HTTP/1.1 200 OK\r\nx-echo: {sent}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
            }
            "/packed" => write!(out, "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx"),
            _ => plain(out, "hello"),
        }
    });
    let network = web.network().with_vault(Arc::new(One(Arc::clone(&value))));
    Stage { world: World::new().reaching(network, hosts, secrets), web, value, heads }
}

fn with_key(url: &str) -> serde_json::Value {
    json!({ "url": url, "headers": [["Authorization", "Bearer {{secret:KEY}}"], ["accept-encoding", "gzip"]], "follow": 3 })
}

/// No form of the value is in a text.
fn without_value(text: &str) {
    let json = VALUE.replace('\\', "\\\\").replace('"', "\\\"");
    let twice = json.replace('\\', "\\\\").replace('"', "\\\"");
    let hex: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
    for form in [VALUE, &json, &twice, &hex, "sk-canary"] {
        assert!(!text.contains(form), "{form} is in {text}");
    }
}

#[test]
fn a_secret_reaches_its_host_and_nobody_else_sees_it() {
    let Stage { world, heads, .. } = stage(&[HOST], &["KEY"]);
    let came = fetch(&world, &[with_key("https://api.example.test/")]);
    assert_eq!(came.each[0]["body"], "hello", "{}", came.each[0]);
    let heads = heads.lock().unwrap();
    assert!(heads[0].contains(&format!("authorization: Bearer {VALUE}\r\n")), "{}", heads[0]);
    assert!(!heads[0].contains("accept-encoding"), "{}", heads[0]);
    without_value(&format!("{:?}", came.report));
}

/// SEC-02
/// NET-11
#[test]
fn a_secret_goes_to_no_other_host_and_along_no_redirect() {
    let Stage { web, world, heads, .. } =
        stage(&[HOST, "other.test", "api.example.test:8443", "http://api.example.test"], &["KEY"]);
    for url in ["https://other.test/", "https://api.example.test:8443/", "http://api.example.test/"] {
        let (error, report) = refused(&world, with_key(url));
        assert_eq!((error.as_str(), report.denials.len()), ("HttpRequestDenied", 1), "{url}");
        assert_eq!(report.denials[0].capability.name(), "secrets");
        web.nothing_dialled();
    }
    let (error, report) = refused(&world, with_key("https://api.example.test/away"));
    assert_eq!(error, "HttpRequestDenied");
    without_value(&format!("{report:?}"));
    assert_eq!(heads.lock().unwrap().len(), 1, "only its own host was asked");
}

/// SEC-02
#[test]
fn a_secret_that_is_not_granted_or_not_there_ends_the_request() {
    let Stage { web, world, .. } = stage(&[HOST], &["OTHER"]);
    for name in ["KEY", "OTHER", "", "*", "../KEY"] {
        let header = json!([["authorization", format!("{{{{secret:{name}}}}}")]]);
        let (_, report) = refused(&world, json!({ "url": "https://api.example.test/", "headers": header }));
        assert_eq!(report.denials.len(), 1, "{name}");
    }
    web.nothing_dialled();
}

#[test]
fn a_secret_stands_in_its_header_alone() {
    let Stage { web, world, heads, .. } = stage(&[HOST], &["KEY"]);
    let (_, report) =
        refused(&world, json!({ "url": "https://api.example.test/", "headers": [["x-other", "{{secret:KEY}}"]] }));
    assert!(report.denials[0].to_string().contains("belongs in the header `authorization`"), "{:?}", report.denials);
    let two = json!([["authorization", "{{secret:KEY}} {{secret:OTHER}}"]]);
    refused(&world, json!({ "url": "https://api.example.test/", "headers": two }));
    web.nothing_dialled();
    // In a path it is a text like any other, and not a valid one.
    let came = fetch(&world, &[json!({ "url": "https://api.example.test/?{{secret:KEY}}" })]);
    assert!(heads.lock().unwrap().iter().all(|head| !head.contains(VALUE)), "{}", came.each[0]);
}

/// SEC-05
#[test]
fn a_server_that_echoes_a_secret_shows_it_to_nobody() {
    let Stage { world, .. } = stage(&[HOST], &["KEY"]);
    let came = fetch(&world, &[with_key("https://api.example.test/echo")]);
    let body = came.each[0]["body"].as_str().unwrap();
    assert!(body.ends_with("\nend") && body.matches("[secret]").count() >= 3, "{body}");
    let headers = came.each[0]["headers"].to_string();
    assert!(headers.contains("Bearer [secret]"), "{headers}");
    without_value(&format!("{:?}", came.report));
    // What is packed could not be searched.
    assert_eq!(refused(&world, with_key("https://api.example.test/packed")).0, "HttpResponseContentCoding");
}

/// SEC-06
#[test]
fn a_secret_that_was_replaced_is_not_used_again() {
    let Stage { world, value, heads, .. } = stage(&[HOST], &["KEY"]);
    fetch(&world, &[with_key("https://api.example.test/")]);
    "sk-new".clone_into(&mut value.lock().unwrap());
    fetch(&world, &[with_key("https://api.example.test/")]);
    let heads = heads.lock().unwrap();
    assert!(heads[0].contains(VALUE) && heads[1].contains("Bearer sk-new") && !heads[1].contains(VALUE), "{heads:?}");
}

/// SEC-01
/// SEC-03
#[test]
fn what_a_guest_can_ask_about_itself_holds_no_secret() {
    let Stage { world, .. } = stage(&[HOST], &["KEY"]);
    let binding = One(Arc::new(Mutex::new(VALUE.to_owned()))).binding("KEY");
    without_value(&format!("{binding:?} {:?}", SecretString::from(VALUE)));
    // Environment, arguments and files of the host are not there: the hostile probes look for them too.
    let report = world.scope(&["reach"]).call_here("reach", r#"{"steps":[{"op":"preopens"}]}"#, &Call::new());
    without_value(&format!("{report:?}"));
    world.no_canary(&report);
}
