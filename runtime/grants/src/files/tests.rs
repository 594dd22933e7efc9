use proptest::{collection::vec, prelude::*, sample::select};

use super::*;

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

fn grant(folders: &[(&str, Access)]) -> FilesGrant {
    FilesGrant::new(folders.iter().map(|(text, access)| (path(text), *access)))
}

#[test]
fn the_longest_folder_decides() {
    let grant = grant(&[(".", Access::Read), ("out", Access::ReadWrite), ("out/keep", Access::Read)]);
    let check = |text: &str, expected: Option<Access>| assert_eq!(grant.access(&path(text)), expected, "{text}");
    check("src/main.rs", Some(Access::Read));
    check("out", Some(Access::ReadWrite));
    check("out/a/b", Some(Access::ReadWrite));
    check("out/keep/x", Some(Access::Read));
    check("outside", Some(Access::Read));
}

#[test]
fn nothing_is_granted_by_default() {
    assert_eq!(FilesGrant::default().access(&path("a")), None);
    assert!(FilesGrant::default().permit_write(&path("a")).is_err());
}

#[test]
fn protected_names_are_read_only_at_any_depth_whether_or_not_they_exist() {
    let grant = FilesGrant::workspace(Access::ReadWrite);
    for text in [
        ".git/hooks/pre-commit",
        ".git",
        "sub/.git/config",
        ".GIT/hooks/x",
        ".palisade/agents/explore.md",
        ".claude/agents/a.md",
        ".mcp.json",
        "plugins/a/plugin.json",
    ] {
        assert!(grant.permit_write(&path(text)).is_err(), "{text}");
    }
    for text in [".github/workflows/ci.yml", ".gitignore", "git/hooks/x", "a.git/x"] {
        assert!(grant.permit_write(&path(text)).is_ok(), "{text}");
    }
}

#[test]
fn a_denial_says_what_would_allow_it() {
    let denial = FilesGrant::workspace(Access::Read).permit_write(&path("src/main.rs")).unwrap_err();
    assert_eq!(
        denial.to_string(),
        "fs.write: writing src/main.rs is refused: the folder is granted read-only; \
         `grants: { files: { \"src\": read-write } }` in the agent's definition would allow it"
    );
}

#[test]
fn a_tree_with_a_read_only_folder_inside_cannot_be_moved() {
    let grant = grant(&[(".", Access::ReadWrite), ("a/vendor", Access::Read)]);
    assert!(grant.permit_write(&path("a")).is_ok());
    assert!(grant.permit_move(&path("a"), true).is_err());
    assert!(grant.permit_move(&path("b"), true).is_ok());
}

fn any_path() -> impl Strategy<Value = WorkspacePath> {
    vec(select(vec!["a", "b", "ab"]), 0..4).prop_map(|parts| path(&parts.join("/")))
}

fn any_grant() -> impl Strategy<Value = FilesGrant> {
    vec((any_path(), select(vec![Access::Read, Access::ReadWrite])), 0..5).prop_map(FilesGrant::new)
}

proptest! {
    #[test]
    fn narrowing_never_widens_and_loses_nothing_both_allow(a in any_grant(), b in any_grant(), at in any_path()) {
        let both = a.access(&at).zip(b.access(&at)).map(|(a, b)| a.min(b));
        prop_assert_eq!(a.narrow(&b).access(&at), both);
    }

    #[test]
    fn narrowing_is_commutative_associative_and_idempotent(a in any_grant(), b in any_grant(), c in any_grant()) {
        prop_assert_eq!(a.narrow(&b), b.narrow(&a));
        prop_assert_eq!(a.narrow(&b).narrow(&c), a.narrow(&b.narrow(&c)));
        prop_assert_eq!(a.narrow(&a), a);
    }

    #[test]
    fn a_permitted_write_lies_in_a_writable_folder(a in any_grant(), at in any_path()) {
        prop_assert_eq!(a.permit_write(&at).is_ok(), a.access(&at) == Some(Access::ReadWrite));
    }
}

fn patterns(texts: &[&str]) -> Vec<PathPattern> {
    texts.iter().map(|text| PathPattern::parse(text).unwrap()).collect()
}

#[test]
fn what_is_hidden_is_not_there_and_what_is_frozen_is_not_changed() {
    let grant = FilesGrant::workspace(Access::ReadWrite)
        .hiding(patterns(&["secrets/**", ".env"]))
        .freezing(patterns(&["*.lock"]));
    let check = |text: &str, expected: Option<Access>| assert_eq!(grant.access(&path(text)), expected, "{text}");
    check("src/main.rs", Some(Access::ReadWrite));
    check("secrets", None);
    check("secrets/deep/key", None);
    check("app/.env", None);
    check("app/.ENV", None);
    check("Cargo.lock", Some(Access::Read));
    assert!(grant.hides_anything() && grant.hides(&path("secrets/x")) && !grant.hides(&path("src")));
    for text in ["secrets/x", "Cargo.lock", "a/.env"] {
        assert!(grant.permit_write(&path(text)).is_err(), "{text}");
    }
}

#[test]
fn a_folder_is_not_moved_away_from_the_pattern_that_keeps_its_contents_back() {
    let grant =
        FilesGrant::workspace(Access::ReadWrite).hiding(patterns(&["a/keys/**"])).freezing(patterns(&["*.lock"]));
    assert!(grant.permit_move(&path("a"), true).is_err());
    assert!(grant.permit_move(&path("A"), true).is_err());
    assert!(grant.permit_move(&path("a/b.txt"), false).is_ok());
    assert!(grant.permit_move(&path("b"), true).is_ok());
}

#[test]
fn grants_with_patterns_are_written_as_they_are_read() {
    let text = r#"{".":"read-write","vendor":"read","*.lock":"read",".env":"none"}"#;
    let grant: FilesGrant = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::from_str::<FilesGrant>(&serde_json::to_string(&grant).unwrap()).unwrap(), grant);
    assert_eq!(grant.access(&path("x/.env")), None);
    let error = serde_json::from_str::<FilesGrant>(r#"{"*.rs":"read-write"}"#).unwrap_err();
    assert!(error.to_string().contains("patterns only take away"), "{error}");
}

/// CF-31
#[test]
fn a_grant_that_is_written_and_read_again_allows_no_more() {
    let pattern = |text: &str| PathPattern::parse(text).unwrap();
    let grant = FilesGrant::new([(WorkspacePath::parse("src").unwrap(), Access::ReadWrite)])
        .freezing([pattern("Cargo.lock"), pattern("docs/a.md"), pattern("*.pem"), pattern("src/gen/")])
        .hiding([pattern(".env"), pattern("src/secret")]);
    let again: FilesGrant = serde_json::from_value(serde_json::to_value(&grant).unwrap()).unwrap();
    assert_eq!(again, grant);
    for path in ["src/Cargo.lock", "src/a/CARGO.LOCK", "src/gen/x", "src/x.pem"] {
        assert_eq!(again.access(&WorkspacePath::parse(path).unwrap()), Some(Access::Read), "{path}");
    }
    assert_eq!(again.access(&WorkspacePath::parse("docs/a.md").unwrap()), None);
}
