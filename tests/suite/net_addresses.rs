//! Where names lead: every address is looked at, once, and what was looked at is what is dialled.

use palisade_grants::Networks;
use palisade_tests::{
    web::{Certificate, PUBLIC, Web, plain},
    world::World,
};

use crate::net::{AT, HOST, fetch, get, granted, refused};

const URL: &str = "https://api.example.test/";

/// NET-05
/// NET-06
#[test]
fn a_granted_name_that_leads_inside_is_not_followed() {
    let web = Web::new();
    web.say(AT, "hello");
    let world = granted(&web, &[HOST, "*.example.test"]);
    for address in [
        "127.0.0.1",
        "127.1.2.3",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "192.0.0.8",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "fe80::1",
        "fc00::1",
        "fd12::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2001:db8::1",
    ] {
        web.name(HOST, &[&[address]]).forget();
        let (error, report) = refused(&world, get(URL));
        assert_eq!(error, "DestinationIpProhibited", "{address}");
        assert_eq!((web.looked_up(), report.denials.len()), (vec![HOST.to_owned()], 1), "{address}");
        assert!(!report.denials[0].to_string().contains(address), "what a name leads to is nobody's business");
        web.nothing_dialled();
    }
    web.name(HOST, &[&[PUBLIC]]);
    assert_eq!(fetch(&world, &[get(URL)]).each[0]["status"], 200);
}

/// NET-06
/// NET-07
/// NET-08
#[test]
fn addresses_and_metadata_are_refused_however_they_are_written() {
    let web = Web::new();
    web.name("metadata.google.internal", &[&["169.254.169.254"]]);
    let world = granted(&web, &["*", "*.internal", "http://*.internal"]);
    for host in [
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.0.0.1",
        "[::ffff:7f00:1]",
        "[::1]",
        "[::]",
        "0",
        "[fe80::1]",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "metadata.google.internal",
        "metadata",
        "instance-data",
    ] {
        refused(&world, get(&format!("http://{host}/")));
        refused(&world, get(&format!("https://{host}/")));
        web.nothing_dialled();
    }
    // An address with a scope is no address of a URL.
    for authority in ["[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1%lo]", "fe80::1", "127.0.0.1%00"] {
        refused(&world, serde_json::json!({ "authority": authority, "path": "/" }));
        web.nothing_dialled();
    }
    drop(world);
    // Whoever may write the definition can name an address, and gets that one.
    web.serve("127.0.0.1:8080", Certificate::None, |_, out| plain(out, "named"));
    let world = granted(&web, &["http://127.0.0.1:8080"]);
    assert_eq!(fetch(&world, &[get("http://127.1:8080/")]).each[0]["body"], "named");
    assert_eq!(web.dialled(), ["127.0.0.1:8080"]);
    refused(&world, get("http://127.0.0.2:8080/"));
}

/// NET-09
#[test]
fn a_name_is_looked_up_once_and_what_was_looked_at_is_dialled() {
    let web = Web::new();
    web.name(HOST, &[&[PUBLIC], &["127.0.0.1"]]).say(AT, "hello").say("127.0.0.1:443", "inside");
    let came = fetch(&granted(&web, &[HOST]), &[get(URL), get(URL)]);
    assert_eq!((&came.each[0]["body"], &came.each[1]["error"]), (&"hello".into(), &"DestinationIpProhibited".into()));
    assert_eq!((web.looked_up().len(), web.dialled()), (2, vec![AT.to_owned()]));
}

/// NET-10
#[test]
fn of_a_mixed_answer_only_public_addresses_are_dialled() {
    let web = Web::new();
    web.name(HOST, &[&["10.0.0.1", "203.0.113.9", "8.8.8.8", "127.0.0.1", "::1"]]).say("127.0.0.1:443", "inside");
    let (error, report) = refused(&granted(&web, &[HOST]), get(URL));
    assert_eq!((error.as_str(), web.dialled()), ("ConnectionRefused", vec!["8.8.8.8:443".to_owned()]));
    assert!(!report.denials.is_empty());
    web.name(HOST, &[&["10.0.0.1", "8.8.8.8", PUBLIC]]).say(AT, "hello").forget();
    assert_eq!(fetch(&granted(&web, &[HOST]), &[get(URL)]).each[0]["body"], "hello");
    assert_eq!(web.dialled(), ["8.8.8.8:443", AT]);
}

#[test]
fn the_operator_can_let_one_name_lead_into_one_network() {
    let web = Web::new();
    web.name(HOST, &[&["10.1.2.3"]]).name("other.test", &[&["10.1.2.3"]]).say("10.1.2.3:443", "intranet");
    let mut networks = Networks::default();
    networks.add(HOST, "10.1.0.0/16").unwrap();
    let world = World::new().reaching(web.network().with_private(networks), &[HOST, "other.test"], &[]);
    let came = fetch(&world, &[get(URL), get("https://other.test/")]);
    assert_eq!(
        (&came.each[0]["body"], &came.each[1]["error"]),
        (&"intranet".into(), &"DestinationIpProhibited".into())
    );
}

/// NET-18
#[test]
fn a_certificate_that_is_not_the_hosts_own_ends_the_request() {
    for certificate in [Certificate::WrongName, Certificate::Expired, Certificate::SelfSigned] {
        let web = Web::new();
        web.serve(AT, certificate, |_, out| plain(out, "not to be believed"));
        let (error, _) = refused(&granted(&web, &[HOST]), get(URL));
        assert_eq!(error, "TlsCertificateError", "{certificate:?}");
    }
    let web = Web::new();
    web.serve(AT, Certificate::None, |_, out| plain(out, "not encrypted"));
    let world = granted(&web, &[HOST]).limits(|limits| limits.request_time = std::time::Duration::from_millis(500));
    assert_eq!(refused(&world, get(URL)).0, "ConnectionTimeout");
}
