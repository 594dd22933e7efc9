//! Which tools a file gives an agent.

use palisade_agent::PermissionMode;
use palisade_grants::{Decision, Lists, Pattern, Policy, Rule, ToolScope};

use super::*;

fn rules(rules: &[&str]) -> Vec<Rule> {
    rules.iter().map(|rule| Rule::parse(rule).unwrap()).collect()
}

fn patterns(patterns: &[&str]) -> Vec<Pattern> {
    patterns.iter().map(|pattern| Pattern::parse(pattern).unwrap()).collect()
}

fn tools(fields: &str) -> Option<Vec<Rule>> {
    agent(fields).scope.tools
}

/// B13, B14, CF-2
#[test]
fn tools_are_a_list_or_a_text_with_commas() {
    let expected = Some(rules(&["Read", "Grep", "Bash(git log:*, git diff:*)", "mcp__db__*"]));
    assert_eq!(tools("tools: [Read, Grep, 'Bash(git log:*, git diff:*)', mcp__db__*]"), expected);
    assert_eq!(tools("tools: ' Read,Grep , Bash(git log:*, git diff:*), mcp__db__*,'"), expected);
    assert_eq!(tools("allowedTools: Read"), tools("allowed-tools: [Read]"));
    assert_eq!(agent("disallowedTools: Write, Edit").scope.disallowed, rules(&["Write", "Edit"]));
    assert_eq!(agent("").scope, ToolScope::default());
}

/// B13, CF-3
#[test]
fn an_empty_list_is_no_tools_and_an_empty_field_is_absent_with_a_warning() {
    assert_eq!(tools("tools: []"), Some(Vec::new()));
    for empty in ["tools:", "tools: ~", "tools: ''", "tools: '  '"] {
        assert_eq!(noted(empty).agent.scope.tools, None);
        assert_eq!(
            notices(empty)[0].split_once(": ").unwrap().1,
            "warning: `tools` is empty and counts as absent: the agent has its usual tools; write `[]` for none"
        );
    }
    assert_eq!(notices("disallowedTools:").len(), 1);
}

/// CF-2
#[test]
fn tools_may_be_switches() {
    let scope = agent("tools: { write: false, bash: true, 'mcp_*': false }").scope;
    assert_eq!((scope.tools, scope.disallowed), (Some(rules(&["bash"])), rules(&["write", "mcp_*"])));
    assert_eq!(tools("tools: { write: false }"), None);
    starts_with(&notices("tools: {}")[0], "a.md:3:8: error: `tools` is an empty map");
    starts_with(
        &notices("tools: { write: 1 }")[0],
        "a.md:3:17: error: `tools.write` must be true or false, but is the number 1",
    );
}

/// CFG-06: a value of another type never lifts what the key restricts. Two values are none (CF-3): nothing after the key
/// counts as the key not being there, with a warning, and `*` is a pattern, no wider than saying nothing.
#[test]
fn a_restriction_of_another_type_is_an_error_or_nothing() {
    let lists = [
        "tools",
        "allowedTools",
        "allowed_tools",
        "allowed-tools",
        "toolAllowlist",
        "capabilityAllowlist",
        "skillAllowlist",
        "agentAllowlist",
        "disallowedTools",
        "toolDenylist",
        "agentDenylist",
    ];
    for list in lists {
        for wrong in ["7", "1.5", "true", "[[read]]", "[[[]]]", "[{}]", "[7]", "[true]", "[~]", "{ a: [b] }"] {
            let notices = notices(&format!("{list}: {wrong}"));
            assert!(notices[0].contains(": error: "), "{list}: {wrong}: {notices:?}");
        }
    }
    for wrong in ["7", "true", "'*'", "[read]", "{ allow: 7 }", "{ allow: [[read]] }", "{ deny: true }", "{ ask: [7] }"]
    {
        let notices = notices(&format!("permissions: {wrong}"));
        assert!(notices[0].contains(": error: "), "permissions: {wrong}: {notices:?}");
    }
    for empty in ["tools: []", "allowed_tools: []"] {
        assert_eq!(tools(empty), Some(Vec::new()), "{empty} is none");
    }
    // A word is a name, also one that means no elsewhere.
    for word in ["no", "none", "false_tool"] {
        assert_eq!(tools(&format!("allowed_tools: {word}")), Some(rules(&[word])));
    }
    assert_eq!(tools("allowed_tools: '*'"), Some(rules(&["*"])));
}

/// CFG-05
/// CFG-06
#[test]
fn no_mistake_in_a_list_of_tools_means_all_tools() {
    for wrong in [
        "tools: true",
        "tools: 3",
        "tools: [[read]]",
        "tools: [1]",
        "tools: [~]",
        "tools: [{rule: 1}]",
        "tools: [{other: read}]",
    ] {
        let notices = notices(wrong);
        starts_with(&notices[0], "a.md:3:");
        assert!(notices[0].contains("error: `tools"), "{notices:?}");
    }
    assert_eq!(
        notices("tools: [read, 'Bash(x', 'a, b']\ndisallowedTools: ['']"),
        [
            "a.md:3:15: error: `tools[1]` cannot be read as a rule: the parentheses of `Bash(x` do not match; write `Tool` or `Tool(what)`",
            "a.md:3:25: error: `a, b` holds several tools; make each an element of the list",
            "a.md:4:19: error: `disallowedTools[0]` cannot be read as a rule: a rule is empty; write a tool such as `Read`, or `Bash(cargo test:*)`",
        ]
    );
    // A word is a name, also one that means no elsewhere.
    assert_eq!(tools("tools: no"), Some(rules(&["no"])));
    // What is misspelt is not overlooked.
    for key in [
        "tool",
        "toolz",
        "Tools",
        "alowed_tools",
        "deny_tool",
        "alow_hosts",
        "permission",
        "tool_allow_list",
        "extends",
        "disable",
    ] {
        let notices = notices(&format!("{key}: [read]"));
        starts_with(
            &notices[0],
            &format!("a.md:3:1: error: `{key}` is unknown, and without it the agent might do more than is meant"),
        );
    }
    assert!(notices("toolz: read")[0].ends_with("did you mean `tools`?"));
}

/// B15, CF-33
#[test]
fn permissions_have_three_lists_and_a_default() {
    let policy = |fields: &str| agent(&format!("permissions: {fields}")).scope.permissions;
    assert_eq!(
        policy("{ allow: 'read, grep', ask: [write], deny: ['Bash(rm:*)'], default: deny }"),
        Policy {
            allow: Some(rules(&["read", "grep"])),
            ask: rules(&["write"]),
            deny: rules(&["Bash(rm:*)"]),
            default: Some(Decision::Deny)
        }
    );
    assert_eq!(policy("{ allow: [] }").allow, Some(Vec::new()));
    assert_eq!(policy("{ deny: [write] }").allow, None);
    assert_eq!(policy("{ defaultMode: ask }").default, Some(Decision::Ask));
    assert_eq!(policy("{ default_decision: allow }").default, Some(Decision::Allow));
    starts_with(
        &notices("permissions: { alow: [read] }")[0],
        "a.md:3:16: error: `permissions.alow` is unknown; did you mean `allow`?",
    );
    starts_with(
        &notices("permissions: { default: maybe }")[0],
        "a.md:3:25: error: `permissions.default` must be `allow`, `ask` or `deny`",
    );
    starts_with(&notices("permissions: { default: plan }")[0], "a.md:3:25: error: `permissions.default` must be");
    starts_with(
        &notices("permissions: { default: deny, defaultMode: allow }")[0],
        "a.md:3:31: error: there are two defaults",
    );
    starts_with(&notices("permissions: [read]")[0], "a.md:3:14: error: `permissions` must be a map");
    starts_with(&notices("permissions:")[0], "a.md:3:13: warning: `permissions` is empty and counts as absent");
    starts_with(&notices("permissions: { allow: }")[0], "a.md:3:");
    starts_with(
        &notices("permissions: { additionalDirectories: [x] }")[0],
        "a.md:3:16: warning: `permissions.additionalDirectories` has no effect",
    );
}

/// B16, B17, B18, B19, B34
#[test]
fn the_four_pairs_of_lists_are_read() {
    let agent = agent(
        "toolAllowlist: ['reading_list_*']\ntoolDenylist: [reading_list_delete]\n\
         capability_allowlist: [lists.*]\ncapability-denylist: [lists.write]\n\
         skillAllowlist: notes\nskillDenylist: ['*']\nagentAllowlist: []\nagentDenylist: [a, b]\n",
    );
    let lists = |allow: &[&str], deny: &[&str]| Lists { allow: Some(patterns(allow)), deny: patterns(deny) };
    assert_eq!(agent.scope.names, lists(&["reading_list_*"], &["reading_list_delete"]));
    assert_eq!(agent.scope.capabilities, lists(&["lists.*"], &["lists.write"]));
    assert_eq!(agent.skill_lists, lists(&["notes"], &["*"]));
    assert_eq!(agent.peers, lists(&[], &["a", "b"]));
    assert!(!agent.peers.permit("todo"), "an empty list lets nobody in");
    assert_eq!(super::agent("toolAllowlist: ~\ntoolDenylist: ~").scope.names, Lists::default());
    starts_with(
        &notices("toolAllowlist: 7")[0],
        "a.md:3:16: error: `toolAllowlist` must be a list of patterns, but is the number 7",
    );
    starts_with(
        &notices("toolAllowlist: [a, 7]")[0],
        "a.md:3:20: error: `toolAllowlist[1]` must be a pattern, but is the number 7",
    );
}

#[test]
fn permission_modes_that_only_widen_are_not_honoured() {
    let mode = |mode: &str| noted(&format!("permissionMode: {mode}")).agent.permission_mode;
    assert_eq!(mode("default"), Some(PermissionMode::Default));
    assert_eq!(mode("manual"), Some(PermissionMode::Default));
    assert_eq!(mode("dontAsk"), Some(PermissionMode::DontAsk));
    assert_eq!(mode("plan"), Some(PermissionMode::Plan));
    for widening in ["acceptEdits", "bypassPermissions", "auto"] {
        assert_eq!(mode(widening), None);
        starts_with(
            &notices(&format!("permissionMode: {widening}"))[0],
            &format!("a.md:3:17: warning: `{widening}` is not honoured: rules and grants decide"),
        );
    }
    starts_with(&notices("permissionMode: planned")[0], "a.md:3:17: error: `permissionMode` must be");
    assert_eq!(agent("permissions: { defaultMode: plan }").permission_mode, Some(PermissionMode::Plan));
}
