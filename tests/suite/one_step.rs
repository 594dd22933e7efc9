//! `palisade:host/http`: a request in one step reaches what `wasi:http` reaches, and nothing else.

use palisade_sandbox::{Failure, LinkRefusal, Report};
use palisade_tests::{
    web::{Certificate, Web, redirect},
    world::World,
};
use serde_json::json;

use crate::net::{AT, HOST};

fn send(world: &World, method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> Report {
    let input = json!({ "method": method, "url": url, "headers": headers, "body": body });
    let report = world.call("one_step", input);
    world.works_afterwards();
    world.no_canary(&report);
    report
}

fn get(world: &World, url: &str) -> Result<String, Failure> {
    send(world, "GET", url, &[], "").outcome
}

fn web() -> Web {
    let web = Web::new();
    web.serve(AT, Certificate::Right, |asked, out| {
        let body = match asked.path() {
            "/long" => "x".repeat(9 << 20),
            "/away" => return redirect(out, "https://elsewhere.test/"),
            path => format!("{path} {}", asked.header("x-own").unwrap_or("-")),
        };
        write!(out, "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    });
    web
}

/// NET-01, NET-03
#[test]
fn a_request_in_one_step_goes_to_granted_hosts_alone() {
    let web = web();
    for world in [World::new as fn() -> World, World::apart] {
        let world = world().granting(&[]).reaching(web.network(), &[HOST], &[]);
        let report = send(&world, "GET", &format!("https://{HOST}/a?b=c"), &[("x-own", "mine")], "");
        assert_eq!(report.outcome, Ok("200 text/plain /a?b=c mine".to_owned()));
        assert_eq!(get(&world, &format!("https://{HOST}/away")), Ok("302 none ".to_owned()), "it is not followed");
        web.forget();
        for (method, url) in [
            ("GET", "https://other.test/".to_owned()),
            ("GET", format!("http://{HOST}/")),
            ("GET", format!("https://{HOST}:444/")),
            ("GET", format!("https://{HOST}@other.test/")),
            ("POST", format!("https://{HOST}/")),
        ] {
            let report = send(&world, method, &url, &[], "");
            assert!(matches!(report.outcome, Err(Failure::Refused(_))), "{method} {url}: {:?}", report.outcome);
            assert_eq!(report.denials.len(), 1, "{method} {url}");
        }
        web.nothing_dialled();
    }
}

#[test]
fn without_a_granted_host_it_is_not_linked() {
    let web = web();
    let world = World::new().granting(&[]).reaching(web.network(), &[], &[]);
    let (compiled, description) = world.load("one_step");
    let refused = world.empty_scope().add(&compiled, &description, "one_step").unwrap_err();
    let LinkRefusal::NotGranted { import, .. } = refused else { panic!("{refused}") };
    assert_eq!(import, "palisade:host/http@0.1.0");
}

/// NET-05: an address is looked at here as it is there.
#[test]
fn a_name_that_leads_to_this_machine_is_refused() {
    let web = web();
    web.name(HOST, &[&["127.0.0.1"]]);
    let world = World::new().granting(&[]).reaching(web.network(), &[HOST], &[]);
    let outcome = get(&world, &format!("https://{HOST}/"));
    assert!(matches!(outcome, Err(Failure::Refused(_))), "{outcome:?}");
    web.nothing_dialled();
}

#[test]
fn what_is_no_request_is_refused_before_it_is_sent() {
    let web = web();
    let world = World::new().granting(&[]).reaching(web.network(), &[HOST], &[]);
    let url = format!("https://{HOST}/");
    for (method, url, header) in [
        ("GET", "nonsense", None),
        ("GET", "/relative", None),
        ("GET", "", None),
        ("GET", "https://ex ample.test/", None),
        ("G T", url.as_str(), None),
        ("GET", url.as_str(), Some(("host", "other.test"))),
        ("GET", url.as_str(), Some(("connection", "close"))),
        ("GET", url.as_str(), Some(("x own", "1"))),
        ("GET", url.as_str(), Some(("x-own", "1\r\nx-other: 2"))),
    ] {
        let outcome = send(&world, method, url, header.as_slice(), "").outcome;
        assert!(matches!(outcome, Err(Failure::InvalidInput(_))), "{method} {url} {header:?}: {outcome:?}");
    }
    web.nothing_dialled();
    assert_eq!(get(&world, &url), Ok("200 text/plain / -".to_owned()), "the control");
}

/// RES-06
#[test]
fn an_answer_is_no_larger_than_it_may_be() {
    let web = web();
    let world = World::new().granting(&[]).reaching(web.network(), &[HOST], &[]);
    let outcome = get(&world, &format!("https://{HOST}/long"));
    assert_eq!(outcome, Err(Failure::Failed("the answer is too large".to_owned())));
}

#[test]
fn what_is_sent_arrives_as_it_was_sent() {
    let web = Web::new();
    web.serve(AT, Certificate::Right, |asked, out| {
        let length = asked.header("content-length").unwrap_or("none").to_owned();
        write!(out, "HTTP/1.1 201 Created\r\ncontent-length: {}\r\n\r\n{length}", length.len())
    });
    let world = World::new().granting(&[]).reaching(web.network(), &[&format!("GET,POST {HOST}")], &[]);
    let report = send(&world, "POST", &format!("https://{HOST}/"), &[], "Grüße");
    assert_eq!(report.outcome, Ok("201 none 7".to_owned()));
}
