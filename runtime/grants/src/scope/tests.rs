use serde_json::json;

use super::*;
use crate::{Binding, Pattern};

mod delegation;
mod handing;
mod lists;
mod narrowing;
mod plugins;

/// The tools of the seeds' examples.
pub(super) fn tools() -> Vec<Candidate> {
    let core = |name: &str, capabilities: &[&str]| tool(name, capabilities, ToolSource::Core);
    let of = |plugin: &str, name: &str, capabilities: &[&str]| {
        tool(name, capabilities, ToolSource::Plugin(plugin.to_owned()))
    };
    vec![
        core("read", &["fs.read"]),
        core("grep", &["fs.read"]),
        core("glob", &["fs.read"]),
        core("ls", &["fs.read"]),
        core("tree", &["fs.read"]),
        core("think", &[]),
        of("lists", "reading_list_add", &["lists.write"]),
        of("lists", "reading_list_show", &["lists.read"]),
        of("lists", "reading_list_delete", &["lists.write"]),
        of("database", "query_db", &[]),
        core("write", &["fs.read", "fs.write"]),
        core("edit", &["fs.read", "fs.write"]),
        core("bash", &["fs.read", "fs.write"]),
        core("task", &["agents"]),
        core("system_clock", &["clock.read"]),
    ]
}

fn tool(name: &str, capabilities: &[&str], source: ToolSource) -> Candidate {
    Candidate::new(name, capabilities.iter().map(|&capability| capability.to_owned()), source)
}

pub(super) fn rules(texts: &[&str]) -> Vec<Rule> {
    texts.iter().map(|text| Rule::parse(text).unwrap()).collect()
}

pub(super) fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::parse(text).unwrap()).collect()
}

pub(super) fn listing(texts: &[&str]) -> ToolScope {
    ToolScope { tools: Some(rules(texts)), ..ToolScope::default() }
}

pub(super) fn resolve<'a>(scope: &ToolScope, tools: &'a [Candidate], identity: &Identity) -> Resolution<'a> {
    scope.resolve(tools, &Surroundings { identity, native: false, may_delegate: true, binding_overrides: &[] })
}

/// The names an agent without a plugin gets.
pub(super) fn names(scope: &ToolScope) -> Vec<String> {
    let tools = tools();
    resolve(scope, &tools, &Identity::of("a")).tools.iter().map(|tool| tool.name().to_owned()).collect()
}

pub(super) fn excluded(scope: &ToolScope, name: &str) -> Excluded {
    let tools = tools();
    let resolution = resolve(scope, &tools, &Identity::of("a"));
    resolution.excluded.into_iter().find(|tool| tool.name == name).unwrap()
}

fn decide(scope: &ToolScope, tool: &str, input: serde_json::Value) -> Decision {
    scope.decide(&Call::new(tool, &input)).decision
}

/// E4, E8
#[test]
fn without_any_list_an_agent_has_every_tool() {
    assert_eq!(names(&ToolScope::default()).len(), tools().len());
}

/// E2, E17, B13, CF-18, E16
#[test]
fn a_list_of_tools_is_all_an_agent_has_however_it_spells_them() {
    assert_eq!(names(&listing(&["Read", "DirectoryTree", "LS"])), ["read", "ls", "tree", "system_clock"]);
    assert_eq!(excluded(&listing(&["Read"]), "write").reason, "not in the allow list of `tools`");
}

/// E5, E6, CF-3
#[test]
fn an_empty_list_leaves_only_the_tools_of_the_host() {
    assert_eq!(names(&listing(&[])), ["system_clock"]);
    assert_eq!(
        names(&ToolScope { names: Lists { allow: Some(vec![]), deny: vec![] }, ..ToolScope::default() }),
        ["system_clock"]
    );
}

/// E7
#[test]
fn core_tools_come_before_those_of_plugins() {
    let all = names(&ToolScope::default());
    let first_of_plugin = all.iter().position(|name| name == "reading_list_add").unwrap();
    let last_of_core = all.iter().position(|name| name == "system_clock").unwrap();
    assert!(last_of_core < first_of_plugin, "{all:?}");
}

/// CF-2
#[test]
fn allow_lists_intersect_and_deny_lists_unite() {
    let scope = ToolScope {
        tools: Some(rules(&["read", "grep", "glob", "write"])),
        disallowed: rules(&["glob"]),
        permissions: Policy {
            allow: Some(rules(&["read", "grep", "write", "ls"])),
            deny: rules(&["write"]),
            ..Policy::default()
        },
        names: Lists { allow: Some(patterns(&["*r*"])), deny: patterns(&["grep"]) },
        ..ToolScope::default()
    };
    assert_eq!(names(&scope), ["read", "system_clock"]);
    assert_eq!(excluded(&scope, "write").rule.as_deref(), Some("write"));
    assert_eq!(excluded(&scope, "grep").rule.as_deref(), Some("grep"));
}

/// F10
#[test]
fn a_denied_tool_stays_denied_though_it_is_allowed() {
    let permissions = Policy { allow: Some(rules(&["read", "write"])), deny: rules(&["write"]), ..Policy::default() };
    let scope = ToolScope { permissions, ..ToolScope::default() };
    assert_eq!(names(&scope), ["read", "system_clock"]);
    assert_eq!(decide(&scope, "write", json!({"path": "a"})), Decision::Deny);
}

/// CF-33
#[test]
fn what_no_list_decides_is_asked_where_there_are_only_denials() {
    let permissions = Policy { deny: rules(&["write"]), ..Policy::default() };
    let alone = ToolScope { permissions: permissions.clone(), ..ToolScope::default() };
    assert_eq!(decide(&alone, "read", json!({"path": "a"})), Decision::Ask);
    let listed = ToolScope { permissions, ..listing(&["read", "write"]) };
    assert_eq!(decide(&listed, "read", json!({"path": "a"})), Decision::Allow);
    assert_eq!(decide(&ToolScope::default(), "read", json!({"path": "a"})), Decision::Allow);
}

/// E13, E15, X5
#[test]
fn a_call_is_decided_by_the_same_lists_as_the_listing() {
    let scope = listing(&["read"]);
    assert_eq!(decide(&scope, "functions.Read", json!({"path": "a"})), Decision::Allow);
    assert_eq!(decide(&scope, "write", json!({"path": "a"})), Decision::Deny);
}

/// CF-17
#[test]
fn tools_of_the_host_are_removed_only_by_a_denial_that_names_them() {
    let deny = |texts: &[&str]| ToolScope { disallowed: rules(texts), ..ToolScope::default() };
    assert_eq!(names(&deny(&["*"])), ["system_clock"]);
    assert!(names(&deny(&["system_*"])).iter().all(|name| name != "system_clock"));
    assert_eq!(decide(&deny(&["*"]), "system_clock", json!({})), Decision::Allow);
    assert_eq!(decide(&deny(&["System_clock"]), "system_clock", json!({})), Decision::Deny);
}

/// CF-21, I19
#[test]
fn an_agent_delegates_if_it_is_unrestricted_or_says_so() {
    let has_task = |scope: &ToolScope| names(scope).iter().any(|name| name == "task");
    assert!(has_task(&ToolScope::default()));
    assert!(has_task(&listing(&["read", "Agent"])));
    assert!(has_task(&listing(&["Subagent"])));
    assert!(!has_task(&listing(&["*"])));
    let tools = tools();
    let identity = Identity::of("a");
    let native = Surroundings { identity: &identity, native: true, may_delegate: true, binding_overrides: &[] };
    let deep = Surroundings { native: false, may_delegate: false, ..native };
    for around in [native, deep] {
        let resolution = ToolScope::default().resolve(&tools, &around);
        assert!(resolution.tools.iter().all(|tool| tool.name() != "task"));
        assert!(resolution.excluded.iter().any(|tool| tool.name == "task"));
    }
}

/// E23
#[test]
fn names_that_no_tool_has_are_told() {
    let scope = listing(&["read", "raed", "mcp__x__*", "Bash(ls:*)", "Curl(a)", "Curl(b)"]);
    assert_eq!(scope.unknown(&tools()), ["raed", "Curl"]);
}

/// E18, R7
#[test]
fn a_thousand_tools_and_fifty_patterns_are_no_trouble() {
    let tools: Vec<Candidate> =
        (0..1000).map(|at| tool(&format!("tool_{at}"), &["fs.read"], ToolSource::Core)).collect();
    let globs: Vec<String> = (0..50).map(|at| format!("*_{at}")).collect();
    let globs: Vec<&str> = globs.iter().map(String::as_str).collect();
    let scope = ToolScope { names: Lists { allow: Some(patterns(&globs)), deny: vec![] }, ..ToolScope::default() };
    assert_eq!(resolve(&scope, &tools, &Identity::of("a")).tools.len(), 50);
}
