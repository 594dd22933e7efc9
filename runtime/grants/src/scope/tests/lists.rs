//! The four glob lists.

use super::*;

fn lists(allow: Option<&[&str]>, deny: &[&str]) -> Lists {
    Lists { allow: allow.map(patterns), deny: patterns(deny) }
}

/// E9, E11, E12, B16
#[test]
fn deny_is_applied_after_allow() {
    let scope =
        ToolScope { names: lists(Some(&["reading_list_*", "read"]), &["reading_list_delete"]), ..ToolScope::default() };
    assert_eq!(names(&scope), ["read", "system_clock", "reading_list_add", "reading_list_show"]);
    assert_eq!(excluded(&scope, "reading_list_delete").rule.as_deref(), Some("reading_list_delete"));
}

/// E10, B17
#[test]
fn every_capability_must_be_allowed_and_none_denied() {
    let scope = ToolScope { capabilities: lists(Some(&["fs.*"]), &["fs.write"]), ..ToolScope::default() };
    assert_eq!(names(&scope), ["read", "grep", "glob", "ls", "tree", "think", "system_clock", "query_db"]);
    assert_eq!(excluded(&scope, "write").rule.as_deref(), Some("fs.write"));
    assert_eq!(excluded(&scope, "task").reason, "it needs `agents`, which is not in `capability_allowlist`");
}

/// E10, DF-11
#[test]
fn a_tool_that_needs_nothing_passes_every_capability_list() {
    let scope = ToolScope { capabilities: lists(Some(&["nothing"]), &["*"]), ..ToolScope::default() };
    assert_eq!(names(&scope), ["think", "system_clock", "query_db"]);
}

/// E21
#[test]
fn the_reading_list_agent_reads_and_does_not_write() {
    let scope = ToolScope {
        names: lists(Some(&["reading_list_*"]), &["reading_list_delete"]),
        capabilities: lists(Some(&["lists.*"]), &["lists.write"]),
        ..ToolScope::default()
    };
    assert_eq!(names(&scope), ["system_clock", "reading_list_show"]);
}

/// E14
#[test]
fn the_tools_for_asking_agents_follow_the_same_lists() {
    let scope = ToolScope { capabilities: lists(None, &["agents"]), ..ToolScope::default() };
    assert!(!names(&scope).contains(&"task".to_owned()));
}

/// K2, B19
#[test]
fn agents_are_let_in_and_taken_out_by_globs() {
    let peers = lists(Some(&["data-*", "explore"]), &["data-secret"]);
    let permitted = ["data-one", "explore", "data-secret", "other"].map(|name| peers.permit(name));
    assert_eq!(permitted, [true, true, false, false]);
    assert!(!lists(Some(&[]), &[]).permit("anyone"));
    assert!(Lists::default().permit("anyone"));
}
