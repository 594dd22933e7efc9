use proptest::{collection::vec, option, prelude::*, sample::select};

use super::*;
use crate::{HttpRequest, WorkspacePath};

#[test]
fn a_reading_tool_in_a_writing_agent_reads() {
    let agent = Grants::workspace(Access::ReadWrite);
    let grep = agent.narrow(&Grants::asking(&BTreeSet::from([Capability::FsRead])));
    assert_eq!(grep.files, FilesGrant::workspace(Access::Read));
    assert_eq!(grep.capabilities(), BTreeSet::from([Capability::FsRead, Capability::Progress]));
}

#[test]
fn a_writing_tool_in_a_reading_agent_reads() {
    let agent = Grants::workspace(Access::Read);
    let write = agent.narrow(&Grants::asking(&BTreeSet::from([Capability::FsWrite])));
    assert!(!write.files.writes());
}

#[test]
fn grants_with_which_something_can_be_changed_are_told_from_those_without() {
    let check = |grants: serde_json::Value, expected: bool| {
        let read: Grants = serde_json::from_value(grants.clone()).unwrap();
        assert_eq!(read.only_read(), expected, "{grants}");
    };
    check(serde_json::json!({}), true);
    check(serde_json::json!({ "files": { ".": "read" }, "http": ["docs.rs", "GET *.example.com"] }), true);
    check(serde_json::json!({ "env": ["LANG"], "secrets": ["TOKEN"], "agents": ["explore"] }), true);
    check(serde_json::json!({ "outside": ["claude-cli"] }), true);
    check(serde_json::json!({ "files": { ".": "read", "out": "read-write" } }), false);
    check(serde_json::json!({ "http": ["docs.rs", "GET,POST api.example.com"] }), false);
    check(serde_json::json!({ "http": ["OPTIONS api.example.com"] }), false);
    check(serde_json::json!({ "commands": ["ls"] }), false);
    check(serde_json::json!({ "storage": { "bytes": 1 } }), false);
    check(serde_json::json!({ "agents": ["*"], "outside": ["claude-cli"] }), false);
    assert!(!Grants::everything().only_read());
}

#[test]
fn nothing_asked_is_nothing_given() {
    assert_eq!(Grants::everything().narrow(&Grants::asking(&BTreeSet::new())), Grants::default());
}

#[test]
fn a_ceiling_of_everything_lowers_nothing() {
    let grants: Grants = serde_json::from_value(serde_json::json!({
        "files": { ".": "read", "out": "read-write" },
        "http": ["api.github.com", "*.example.com"],
        "commands": ["cargo test:*", "make"],
        "agents": ["explore", "data-*"],
        "env": ["LANG"],
        "secrets": ["GITHUB_TOKEN"],
        "storage": { "bytes": 1000 },
    }))
    .unwrap();
    assert_eq!(grants.narrow(&Grants::everything()), grants);
}

fn folders() -> impl Strategy<Value = FilesGrant> {
    let path = select(vec![".", "a", "a/b", "a/b/c", "d", "d/e", "ab"]);
    let access = select(vec![Access::Read, Access::ReadWrite]);
    vec((path, access), 0..4).prop_map(|folders| {
        FilesGrant::new(folders.into_iter().map(|(path, access)| (WorkspacePath::parse(path).unwrap(), access)))
    })
}

fn reach<S: Span + std::fmt::Debug + 'static>(texts: &'static [&'static str]) -> impl Strategy<Value = Reach<S>> {
    vec(select(texts), 0..4).prop_map(|texts| Reach::new(texts.iter().map(|text| text.parse().unwrap())))
}

fn grants() -> impl Strategy<Value = Grants> {
    let words = &["*", "a*", "ab", "abc*", "abc", "b"];
    (
        folders(),
        reach(&[
            "*",
            "example.com",
            "*.example.com",
            "a.example.com",
            "*.a.example.com",
            "b.a.example.com",
            "x.org",
            "a.example.com:8443",
            "http://a.example.com",
            "GET,POST a.example.com",
            "* *.example.com:*",
            "POST,PUT x.org",
            "* *.org:8443",
        ]),
        reach(&["*", "cargo:*", "cargo", "cargo test:*", "cargo test", "make", "make all:*"]),
        reach(words),
        reach(words),
        option::of(0_u64..3),
    )
        .prop_map(|(files, http, commands, agents, env, storage)| Grants {
            files,
            http,
            commands,
            secrets: env.clone(),
            outside: agents.clone(),
            agents,
            env,
            storage: storage.map(|bytes| StorageGrant { bytes }),
        })
}

/// Requests to hosts of several kinds, in several ways.
fn requests() -> impl Iterator<Item = HttpRequest> {
    let hosts = ["example.com", "a.example.com", "b.a.example.com", "c.b.a.example.com", "x.org", "evil.org"];
    let places = [("https", ""), ("https", ":8443"), ("http", ""), ("http", ":8443")];
    let each =
        move |host: &'static str| places.into_iter().map(move |(scheme, port)| (scheme, format!("{host}{port}")));
    hosts.into_iter().flat_map(each).flat_map(|(scheme, authority)| {
        ["GET", "POST", "PUT"].into_iter().map(move |method| HttpRequest::new(method, scheme, &authority).unwrap())
    })
}

/// Whether the first allows nothing that the second does not, tried out request by request.
fn within(narrow: &Grants, wide: &Grants) -> bool {
    let paths = ["x", "a", "a/x", "a/b/x", "a/b/c/x", "d/x", "d/e/x", "ab/x"];
    let commands =
        [&["cargo"][..], &["cargo", "test"], &["cargo", "test", "x"], &["make"], &["make", "all", "x"], &["rm"]];
    let names = ["a", "ab", "abc", "abcd", "b", "c"];
    let any = |reach: &NamesGrant, name: &str| reach.iter().any(|word| word.matches(name));
    paths
        .iter()
        .map(|path| WorkspacePath::parse(path).unwrap())
        .all(|path| narrow.files.access(&path) <= wide.files.access(&path))
        && requests().all(|request| narrow.http.permit(request.clone()).is_err() || wide.http.permit(request).is_ok())
        && commands.iter().all(|words| {
            !narrow.commands.iter().any(|own| own.matches(words)) || wide.commands.iter().any(|own| own.matches(words))
        })
        && names.iter().all(|name| {
            (!any(&narrow.agents, name) || any(&wide.agents, name))
                && (!any(&narrow.env, name) || any(&wide.env, name))
                && (!any(&narrow.outside, name) || any(&wide.outside, name))
        })
        && narrow.storage.map(|storage| storage.bytes) <= wide.storage.map(|storage| storage.bytes)
}

proptest! {
    /// E24, X6
    #[test]
    fn narrowing_never_widens(a in grants(), b in grants()) {
        let both = a.narrow(&b);
        prop_assert!(within(&both, &a) && within(&both, &b), "{both:?}");
    }

    #[test]
    fn narrowing_takes_no_more_than_it_must(a in grants(), b in grants()) {
        let both = a.narrow(&b);
        for request in requests() {
            let allows = |grants: &Grants| grants.http.permit(request.clone()).is_ok();
            prop_assert_eq!(allows(&both), allows(&a) && allows(&b), "{:?}", request);
        }
    }

    #[test]
    fn narrowing_twice_is_narrowing_once(a in grants(), b in grants()) {
        prop_assert_eq!(a.narrow(&a), a.clone());
        prop_assert_eq!(a.narrow(&b).narrow(&b), a.narrow(&b));
    }

    #[test]
    fn narrowing_does_not_care_who_is_first(a in grants(), b in grants()) {
        prop_assert_eq!(a.narrow(&b), b.narrow(&a));
    }

    #[test]
    fn narrowing_does_not_care_about_the_order(a in grants(), b in grants(), c in grants()) {
        prop_assert_eq!(a.narrow(&b).narrow(&c), a.narrow(&b.narrow(&c)));
    }

    #[test]
    fn grants_are_written_as_they_are_read(a in grants()) {
        let text = serde_json::to_string(&a).unwrap();
        prop_assert_eq!(serde_json::from_str::<Grants>(&text).unwrap(), a);
    }
}
