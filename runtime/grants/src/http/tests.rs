use super::*;
use crate::{Denial, NamesGrant};

fn grant(hosts: &[&str]) -> HttpGrant {
    Reach::new(hosts.iter().map(|host| host.parse().unwrap()))
}

fn get(hosts: &[&str], url: &str) -> Result<PermittedRequest, Denial> {
    grant(hosts).permit(HttpRequest::of_url("GET", url)?)
}

fn sent(hosts: &[&str], scheme: &str, authority: &str) -> Result<PermittedRequest, Denial> {
    grant(hosts).permit(HttpRequest::new("GET", scheme, authority)?)
}

#[test]
fn a_star_stands_for_hosts_below_and_not_for_the_name_itself() {
    let host: Host = "*.Example.com.".parse().unwrap();
    assert!(host.matches("api.example.com") && host.matches("A.B.EXAMPLE.COM."));
    assert!(!host.matches("example.com") && !host.matches("badexample.com") && !host.matches("example.com.evil.org"));
}

#[test]
fn what_is_no_host_is_refused() {
    for text in [
        "",
        "https://a.b",
        "a b",
        "*a.com",
        "a.*.com",
        "a..b",
        "a/b",
        "..",
        "*.",
        "a.b:",
        "a.b:0",
        "a.b:080",
        "a.b:99999",
        "http://",
        "http://a.b:*",
        "BREW a.b",
        ", a.b",
        "GET *",
        "user@a.b",
        "a%2eb",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "*.0.0.1",
        "1.2.3.4.5",
        "[::1",
        "::1",
        "[fe80::1%eth0]",
        "*.[::1]",
        "a.b?x",
        "a.b#x",
        "a\\b",
    ] {
        assert!(text.parse::<Host>().is_err(), "{text}");
    }
}

#[test]
fn hosts_are_written_as_they_are_read() {
    for text in [
        "*",
        "a.b",
        "*.a.b",
        "a.b:8443",
        "a.b:*",
        "http://a.b",
        "http://a.b:8080",
        "POST a.b",
        "GET,POST *.a.b:8443",
        "* a.b",
        "* http://a.b:81",
        "127.0.0.1",
        "[::1]:8443",
        "http://[::1]:8080",
        "a_b",
    ] {
        assert_eq!(text.parse::<Host>().unwrap().to_string(), text);
    }
    for (text, shown) in [
        ("A.B.", "a.b"),
        ("a.b:443", "a.b"),
        ("http://a.b:80", "http://a.b"),
        ("post, get a.b", "GET,POST a.b"),
        ("HEAD a.b", "a.b"),
        ("[0:0::1]", "[::1]"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("a.b:80", "a.b:80"),
    ] {
        assert_eq!(text.parse::<Host>().unwrap().to_string(), shown);
    }
}

#[test]
fn two_grants_meet_in_the_narrower_hosts() {
    let own = grant(&["*.example.com", "github.com", "x.org"]);
    let ceiling = grant(&["api.example.com", "*.github.com", "x.org", "y.org"]);
    assert_eq!(own.narrow(&ceiling), grant(&["api.example.com", "x.org"]));
    assert_eq!(own.narrow(&grant(&["*"])), own);
    let wide = grant(&["GET,POST a.org", "* b.org:*", "http://c.org:8080"]);
    assert_eq!(wide.narrow(&grant(&["*"])), wide);
    let ceiling = grant(&["POST,PUT *.org", "http://b.org", "c.org"]);
    assert_eq!(wide.narrow(&ceiling), grant(&["POST a.org", "POST,PUT b.org", "http://b.org"]));
}

/// NET-03
#[test]
fn a_name_that_only_looks_like_a_granted_one_is_another() {
    let hosts = ["api.example.test"];
    for url in [
        "https://api.example.test.evil.test/",
        "https://evil.test/api.example.test",
        "https://api.example.test@evil.test/",
        "https://user:key@api.example.test/",
        "https://evil.test#api.example.test",
        "https://evil.test?api.example.test",
        "https://api.example.test%00.evil.test/",
        "https://evil.test\\@api.example.test/",
        "https://evil.test\\.api.example.test/",
        "https://xapi.example.test/",
        "https://api.example.test../",
        "ftp://api.example.test/",
        "file:///etc/passwd",
        "data:text/plain,api.example.test",
        "//api.example.test/",
        "",
    ] {
        assert!(get(&hosts, url).is_err(), "{url}");
    }
    for url in [
        "https://api.example.test/",
        "HTTPS://API.EXAMPLE.TEST/x",
        "https://api.example.test./",
        "https://api.example.test:443/",
        "https:\\\\api.example.test\\evil.test",
    ] {
        assert_eq!(get(&hosts, url).unwrap().authority(), "api.example.test", "{url}");
    }
    for authority in [
        "",
        ":443",
        "api.example.test:",
        "api.example.test:0443",
        "api.example.test:443:443",
        "api.example.test,evil.test",
        "api.example.test evil.test",
        "api.example.test/evil",
        "api.example.test\\evil",
        "@api.example.test",
        "api.example.test@",
        "api%2eexample.test",
        "api.example.test\0",
        "api.example.test\n",
        "ａpi.example.test",
        "[api.example.test]",
        "api.example.test..",
    ] {
        assert!(sent(&hosts, "https", authority).is_err(), "{authority:?}");
    }
}

/// NET-04
#[test]
fn a_wildcard_is_not_the_apex_and_other_scripts_are_compared_as_they_are_sent() {
    let hosts = ["*.example.test", "bücher.example"];
    for (url, expected) in [
        ("https://a.example.test/", true),
        ("https://a.b.example.test/", true),
        ("https://example.test/", false),
        ("https://badexample.test/", false),
        ("https://.example.test/", false),
        ("https://bücher.example/", true),
        ("https://xn--bcher-kva.example/", true),
        ("https://BÜCHER.example/", true),
        ("https://bucher.example/", false),
        ("https://bu\u{0308}cher.example/", true),
    ] {
        assert_eq!(get(&hosts, url).is_ok(), expected, "{url}");
    }
}

/// NET-07
#[test]
fn an_address_in_disguise_is_the_address_or_nothing() {
    let networks = Networks::default();
    for url in [
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0177.0.0.1/",
        "https://127.0.0.1/",
        "https://[::ffff:7f00:1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::1]/",
        "https://0/",
        "https://0x7f.1/",
        "https://[::127.0.0.1]/",
        "https://169.254.169.254/",
        "https://[fd00:ec2::254]/",
        "https://[fe80::1]/",
    ] {
        let request = HttpRequest::of_url("GET", url).unwrap();
        assert!(get(&["*.example.test"], url).is_err(), "{url}");
        // Even where every host is granted: no wildcard names an address.
        let permitted = grant(&["*"]).permit(request).unwrap();
        let address = permitted.literal().unwrap();
        assert!(permitted.permit_address(address, &networks).is_err(), "{url}");
    }
    for authority in
        ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "0x7f.1", "[fe80::1%25eth0]", "[fe80::1%eth0]"]
    {
        assert!(sent(&["*"], "https", authority).is_err(), "{authority}");
    }
    let named = get(&["http://127.0.0.1:8080"], "http://127.1:8080/").unwrap();
    let dialled = named.permit_address(named.literal().unwrap(), &networks).unwrap();
    assert_eq!(dialled.get().to_string(), "127.0.0.1:8080");
    assert!(named.permit_address("127.0.0.2".parse().unwrap(), &networks).is_err());
}

/// NET-05
/// NET-06
#[test]
fn only_public_addresses_may_be_dialled() {
    let permitted = get(&["api.example.test"], "https://api.example.test/").unwrap();
    let may = |address: &str| permitted.permit_address(address.parse().unwrap(), &Networks::default()).is_ok();
    for address in [
        "127.0.0.1",
        "127.255.255.254",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "0.0.0.0",
        "0.1.2.3",
        "192.0.0.1",
        "192.0.0.192",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "198.18.0.1",
        "198.19.255.255",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "168.63.129.16",
        "192.88.99.1",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "::8.8.8.8",
        "fe80::1",
        "fec0::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::10.0.0.1",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::1",
        "::ffff:0:127.0.0.1",
        "2002:7f00:1::1",
        "2001::1",
        "2001:db8::1",
        "3fff::1",
        "4000::1",
        "100::1",
        "5f00::1",
    ] {
        assert!(!may(address), "{address}");
    }
    for address in [
        "8.8.8.8",
        "172.15.255.255",
        "172.32.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "192.0.1.1",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450::1",
        "64:ff9b::8.8.8.8",
        "::ffff:8.8.8.8",
    ] {
        assert!(may(address), "{address}");
    }
}

/// NET-08
#[test]
fn metadata_is_reached_only_where_it_is_named() {
    for name in METADATA_NAMES {
        let url = format!("http://{name}/");
        assert!(get(&["*", "http://*.internal", "http://*.google.internal", "http://*.goog"], &url).is_err(), "{name}");
        let named = get(&[&format!("http://{name}")], &url).unwrap();
        assert!(named.permit_address("169.254.169.254".parse().unwrap(), &Networks::default()).is_err(), "{name}");
    }
    let literal = get(&["http://169.254.169.254"], "http://169.254.169.254/").unwrap();
    assert!(literal.permit_address("169.254.169.254".parse().unwrap(), &Networks::default()).is_ok());
}

const METADATA_NAMES: [&str; 4] =
    ["metadata.google.internal", "metadata.goog", "metadata", "instance-data.ec2.internal"];

#[test]
fn the_operator_can_let_one_host_lead_into_one_network() {
    let mut networks = Networks::default();
    networks.add("Intra.Example.test", "10.1.0.0/16").unwrap();
    networks.add("intra.example.test", "fd00::7").unwrap();
    let hosts = ["*.example.test"];
    let intra = get(&hosts, "https://intra.example.test/").unwrap();
    let may = |address: &str| intra.permit_address(address.parse().unwrap(), &networks).is_ok();
    assert!(may("10.1.2.3") && may("fd00::7") && may("::ffff:10.1.2.3"));
    assert!(!may("10.2.0.1") && !may("fd00::8") && !may("127.0.0.1"));
    let other = get(&hosts, "https://other.example.test/").unwrap();
    assert!(other.permit_address("10.1.2.3".parse().unwrap(), &networks).is_err());
    for (host, network) in
        [("*.a", "10.0.0.0/8"), ("a", "10.0.0.0/33"), ("a", "ten"), ("a b", "10.0.0.1"), ("a", "1/8")]
    {
        assert!(networks.add(host, network).is_err(), "{host} {network}");
    }
}

/// NET-14
#[test]
fn a_grant_is_for_its_port_scheme_and_methods() {
    let hosts = ["a.test", "b.test:8443", "http://c.test", "GET,POST d.test", "* e.test:*"];
    for (url, expected) in [
        ("https://a.test/", true),
        ("https://a.test:22/", false),
        ("https://a.test:25/", false),
        ("https://a.test:80/", false),
        ("https://a.test:6379/", false),
        ("http://a.test/", false),
        ("http://a.test:443/", false),
        ("https://b.test:8443/", true),
        ("https://b.test/", false),
        ("http://c.test/", true),
        ("http://c.test:8080/", false),
        ("https://c.test/", false),
        ("https://e.test:99/", true),
        ("http://e.test/", true),
    ] {
        assert_eq!(get(&hosts, url).is_ok(), expected, "{url}");
    }
    let may = |method: &str, host: &str| {
        HttpRequest::new(method, "https", host).and_then(|request| grant(&hosts).permit(request)).is_ok()
    };
    assert!(may("GET", "a.test") && may("HEAD", "a.test") && may("POST", "d.test") && may("DELETE", "e.test"));
    assert!(!may("POST", "a.test") && !may("PUT", "d.test") && !may("get", "a.test"));
    assert!(!may("CONNECT", "e.test") && !may("TRACE", "e.test") && !may("BREW", "e.test"));
}

#[test]
fn a_denial_says_what_would_allow_it_and_no_path() {
    let denial = get(&["a.test"], "https://b.test/secret?key=1").unwrap_err();
    assert_eq!(
        denial.to_string(),
        "net.http: GET https://b.test is refused: the host is not granted; `grants: { http: [\"b.test\"] }` in the \
         agent's definition would allow it"
    );
    let denial = get(&["a.test"], "http://a.test:8080/").unwrap_err();
    assert!(denial.remedy.contains("\"http://a.test:8080\"") && denial.rule.contains("but not for this"), "{denial}");
    let request = HttpRequest::new("POST", "https", "a.test").unwrap();
    assert!(grant(&["a.test"]).permit(request).unwrap_err().remedy.contains("\"POST a.test\""));
}

#[test]
fn addresses_that_are_not_public_can_be_left_out() {
    let all = grant(&["a.test", "http://127.0.0.1:8080", "[fd00::1]", "8.8.8.8", "*.b.test"]);
    assert_eq!(all.public(), grant(&["a.test", "8.8.8.8", "*.b.test"]));
}

/// SEC-02
#[test]
fn a_secret_goes_to_its_host_in_its_header_and_encrypted() {
    let secrets: NamesGrant = Reach::new(["KEY".parse().unwrap()]);
    let host: Host = "api.example.test".parse().unwrap();
    let hosts = ["* api.example.test:*", "* other.test"];
    let may = |url: &str, name: &str, header: &str| {
        get(&hosts, url).unwrap().permit_secret(&secrets, name, Some((&host, "authorization")), header).is_ok()
    };
    assert!(may("https://api.example.test/", "KEY", "Authorization"));
    assert!(!may("https://other.test/", "KEY", "authorization"));
    assert!(!may("http://api.example.test/", "KEY", "authorization"));
    assert!(!may("https://api.example.test:8443/", "KEY", "authorization"));
    assert!(!may("https://api.example.test/", "OTHER", "authorization"));
    assert!(!may("https://api.example.test/", "KEY", "x-echo"));
    let permitted = get(&hosts, "https://api.example.test/").unwrap();
    let denial = permitted.permit_secret(&secrets, "KEY", None, "authorization").unwrap_err();
    assert!(denial.to_string().contains("[secrets.KEY]"), "{denial}");
}
