//! Rules about paths and hosts, as grants.

use super::*;
use crate::{Access, FilesGrant, Grants, WorkspacePath};

fn access(grants: &Grants, path: &str) -> Option<Access> {
    grants.files.access(&WorkspacePath::parse(path).unwrap())
}

/// DF-21, X5
#[test]
fn a_denied_path_is_kept_back_from_every_tool() {
    let permissions =
        Policy { deny: rules(&["Read(secrets/**)", "Edit(*.lock)", "Write(docs/**)", "write"]), ..Policy::default() };
    let scope = ToolScope { permissions, disallowed: rules(&["Read(.env)"]), ..ToolScope::default() };
    let grants = scope.restrict(&Grants::workspace(Access::ReadWrite));
    assert_eq!(access(&grants, "secrets/key"), None);
    assert_eq!(access(&grants, "app/.env"), None);
    assert_eq!(access(&grants, "Cargo.lock"), Some(Access::Read));
    assert_eq!(access(&grants, "docs/a.md"), Some(Access::Read));
    assert_eq!(access(&grants, "src/a.rs"), Some(Access::ReadWrite));
}

#[test]
fn a_tool_that_is_allowed_in_a_folder_finds_no_other() {
    let scope = listing(&["Read(src/**/*.rs)", "Read(docs/**)", "Edit(src/**)", "grep"]);
    let all = Grants::workspace(Access::ReadWrite);
    let read = scope.narrow_for("read", &all);
    assert_eq!(access(&read, "src/a.rs"), Some(Access::ReadWrite));
    assert_eq!(access(&read, "docs/a.md"), Some(Access::ReadWrite));
    assert_eq!(access(&read, "Cargo.toml"), None);
    assert_eq!(access(&scope.narrow_for("edit", &all), "docs/a.md"), None);
    assert_eq!(scope.narrow_for("grep", &all), all);
}

#[test]
fn two_lists_leave_a_tool_the_folders_of_both() {
    let scope = ToolScope {
        permissions: Policy { allow: Some(rules(&["Read(src/**)"])), ..Policy::default() },
        ..listing(&["Read(src/a/**)", "Read(docs/**)"])
    };
    let read = scope.narrow_for("read", &Grants::workspace(Access::Read));
    assert_eq!(read.files, FilesGrant::new([(WorkspacePath::parse("src/a").unwrap(), Access::Read)]));
}

#[test]
fn allowed_domains_are_hosts_that_may_be_asked() {
    let scope = listing(&["WebFetch(domain:docs.rs)", "WebFetch(domain:*.example.com)"]);
    assert_eq!(serde_json::to_value(scope.hosts()).unwrap(), json!(["docs.rs", "*.example.com"]));
}
