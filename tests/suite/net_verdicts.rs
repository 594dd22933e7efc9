//! One policy, however a request comes about: what the grant says of an address, what a guest gets that asks for it, what
//! `web_fetch` gets, and what becomes of a redirect there.

use palisade_grants::{HttpGrant, HttpRequest, Networks};
use palisade_sandbox::Call;
use palisade_tests::web::{Certificate, PUBLIC, Web, plain, redirect};
use serde_json::json;

use crate::net::{fetch, granted};

const HOSTS: [&str; 5] = [
    "api.example.test",
    "*.sub.example.test",
    "xn--bcher-kva.example.test",
    "other.test:8443",
    "http://plain.example.test",
];

fn urls() -> Vec<String> {
    let hosts = [
        "api.example.test",
        "API.Example.TEST",
        "api.example.test.",
        "api.example.test..",
        "xapi.example.test",
        "example.test",
        "a.sub.example.test",
        "a.b.sub.example.test",
        "sub.example.test",
        "badsub.example.test",
        "bücher.example.test",
        "xn--bcher-kva.example.test",
        "bucher.example.test",
        "other.test",
        "plain.example.test",
        "api.example.test.evil.test",
        "evil.test",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:7f00:1]",
        "10.0.0.1",
        "169.254.169.254",
        "metadata.google.internal",
        "localhost",
        "8.8.8.8",
        "api.example.test%2eevil.test",
        "api%2eexample.test",
        "ａpi.example.test",
    ];
    let forms = [
        "https://{}/",
        "https://{}:443/",
        "https://{}:8443/",
        "http://{}/",
        "http://{}:80/x",
        "https://me@{}/",
        "https://evil.test@{}/",
        "https:\\\\{}\\x",
        "HTTPS://{}/%2e%2e/?q=https://evil.test/#f",
        "ftp://{}/",
    ];
    let mut urls: Vec<String> = hosts.iter().flat_map(|host| forms.map(|form| form.replace("{}", host))).collect();
    urls.extend(
        [
            "",
            "api.example.test",
            "//api.example.test/",
            "https:api.example.test",
            "https:/api.example.test",
            "https:///api.example.test/",
            "https://api.example.test#@evil.test/",
            "https://api.example.test?@evil.test/",
            "https://api.example.test\\@evil.test/",
            "https://evil.test\\@api.example.test/",
            "javascript:alert(1)",
            "data:text/plain,x",
            "file:///etc/passwd",
            "https://api.example.test:99999/",
            "https://api.example.test:0/",
            "https://api.example.test: 443/",
            " https://api.example.test/ ",
            "https://api.exa\tmple.test/",
            "https://api.example.test:443@evil.test/",
            "https://[api.example.test]/",
        ]
        .map(str::to_owned),
    );
    urls
}

/// NET-19
#[test]
fn three_hundred_addresses_get_one_verdict_each() {
    let urls = urls();
    assert!(urls.len() >= 300, "{}", urls.len());
    let grant: HttpGrant = HOSTS.iter().map(|host| host.parse().unwrap()).collect();
    let expected: Vec<bool> = urls
        .iter()
        .map(|url| HttpRequest::of_url("GET", url.trim()).and_then(|request| grant.permit(request)).is_ok())
        .collect();
    let allowed = expected.iter().filter(|allowed| **allowed).count();
    assert!((15..urls.len() / 2).contains(&allowed), "{allowed} of {}", urls.len());

    // Everything that gets through is answered; what leads on leads to the address with that number.
    let web = Web::new();
    let targets = urls.clone();
    let answer = move |asked: &palisade_tests::web::Asked, out: &mut dyn std::io::Write| {
        let number = asked.path().strip_prefix("/lead/").and_then(|number| number.parse::<usize>().ok());
        match number.and_then(|number| targets.get(number)) {
            // What cannot stand in a header leads nowhere else either.
            Some(to) => {
                redirect(out, &to.trim().replace('\t', "").chars().filter(|c| c.is_ascii()).collect::<String>())
            }
            None => plain(out, "answered"),
        }
    };
    let answer = std::sync::Arc::new(answer);
    for (at, certificate) in [("443", Certificate::Right), ("8443", Certificate::Right), ("80", Certificate::None)] {
        let answer = std::sync::Arc::clone(&answer);
        web.serve(&format!("{PUBLIC}:{at}"), certificate, move |asked, out| answer(asked, out));
    }
    let world = granted(&web, &HOSTS).limits(|limits| {
        limits.requests = 10_000;
        limits.call_time = std::time::Duration::from_secs(120);
    });
    let is_answered = |came: &serde_json::Value| {
        let error = came["error"].as_str();
        // A certificate is only for some of the names; whoever comes so far was let through.
        error.is_none() || error == Some("TlsCertificateError")
    };
    let got: Vec<bool> = {
        let requests: Vec<_> = urls.iter().map(|url| json!({ "url": url.trim() })).collect();
        fetch(&world, &requests).each.iter().map(is_answered).collect()
    };
    let scope = world.scope(&["web_fetch"]);
    for (index, url) in urls.iter().enumerate() {
        assert_eq!(got[index], expected[index], "a guest asks for {url:?}");
        web.forget();
        let report = scope.call_here("web_fetch", &json!({ "url": url }).to_string(), &Call::new());
        let was_let_through = !web.dialled().is_empty();
        assert_eq!(was_let_through, expected[index], "web_fetch asks for {url:?}: {:?}", report.outcome);
    }
    // Redirects: only what can stand in a header.
    let leads: Vec<(usize, &String)> = urls
        .iter()
        .enumerate()
        .filter(|(_, url)| url.is_ascii() && url.trim() == url.as_str() && url.contains(':') && !url.contains('\t'))
        .collect();
    assert!(leads.len() >= 250, "{}", leads.len());
    let requests: Vec<_> = leads
        .iter()
        .map(|(index, _)| json!({ "url": format!("https://api.example.test/lead/{index}"), "follow": 1 }))
        .collect();
    let came = fetch(&world, &requests).each;
    for ((index, url), came) in leads.iter().zip(&came) {
        // An address without a host is a path of the server that says it.
        let base = url::Url::parse("https://api.example.test/").unwrap();
        let joined = base.join(url).map(String::from).unwrap_or_default();
        let expected = HttpRequest::of_url("GET", &joined).and_then(|request| grant.permit(request));
        let expected = expected.is_ok_and(|permitted| {
            permitted.literal().is_none_or(|address| permitted.permit_address(address, &Networks::default()).is_ok())
        });
        assert_eq!(is_answered(came), expected, "a redirect to {url:?} ({index}): {came}");
    }
}
