use proptest::prelude::*;
use serde_json::json;

use super::*;

fn rule(text: &str) -> Rule {
    Rule::parse(text).unwrap()
}

fn policy(yaml_like: serde_json::Value) -> Policy {
    serde_json::from_value(yaml_like).unwrap()
}

fn decide(policy: &Policy, tool: &str, input: serde_json::Value) -> Decision {
    policy.decide(&Call::new(tool, &input)).decision
}

/// F1
#[test]
fn a_policy_is_built_rule_by_rule() {
    let built = Policy::default().allow(rule("read")).deny(rule("Bash(rm:*)")).ask(rule("write"));
    assert_eq!(built, policy(json!({ "allow": ["read"], "deny": ["Bash(rm:*)"], "ask": ["write"] })));
    let all = Policy::default().allow_all().deny(rule("write"));
    assert_eq!(decide(&all, "anything", json!({})), Decision::Allow);
    assert_eq!(decide(&all, "write", json!({})), Decision::Deny);
    let none = Policy::default().allow(rule("read")).deny_all();
    assert_eq!(decide(&none, "read", json!({})), Decision::Deny);
}

/// F2
/// CF-19
#[test]
fn both_ways_to_write_a_rule_mix_and_round_trip() {
    let mixed =
        policy(json!({ "allow": ["read", { "rule": "grep" }], "deny": [{ "rule": "Write" }], "default": "ask" }));
    let written = serde_json::to_value(&mixed).unwrap();
    assert_eq!(written, json!({ "allow": ["read", "grep"], "deny": ["Write"], "default": "ask" }));
    assert_eq!(policy(written), mixed);
    assert!(serde_json::from_value::<Policy>(json!({ "allows": ["read"] })).is_err());
}

/// CF-20, X11. A program that is run without a shell is no way around the rules about one.
#[test]
fn rules_about_commands_hold_for_programs_that_are_run_without_a_shell() {
    let run = |policy: &Policy, words: &[&str]| {
        decide(policy, "exec", json!({ "program": words[0], "arguments": &words[1..] }))
    };
    let some = policy(json!({ "allow": ["Exec(cargo test:*)", "Exec(git diff)"], "deny": ["Bash(rm:*)"] }));
    assert_eq!(run(&some, &["cargo", "test", "-q", "a b"]), Decision::Allow);
    assert_eq!(run(&some, &["git", "diff"]), Decision::Allow);
    for denied in [&["cargo", "build"][..], &["git", "diff", "x"], &["cargo test"], &["cargo", "tests"], &["cargo"]] {
        assert_eq!(run(&some, denied), Decision::Deny, "{denied:?}");
    }
    let all = policy(json!({ "allow": ["exec"], "deny": ["Bash(rm:*)"] }));
    assert_eq!(run(&all, &["ls", "; rm x"]), Decision::Allow);
    for denied in [&["rm", "x"][..], &["sh", "-c", "ls; rm x"], &["env", "rm", "x"], &["/bin/rm", "x"]] {
        assert_eq!(run(&all, denied), Decision::Deny, "{denied:?}");
    }
    // Allowing a shell allows no native program; denying it denies them.
    assert_eq!(run(&policy(json!({ "allow": ["Bash"] })), &["ls"]), Decision::Deny);
    let denied = policy(json!({ "allow": ["exec"], "deny": ["Bash"] }));
    assert_eq!(run(&denied, &["ls"]), Decision::Deny);
    assert_eq!(denied.possible("exec").decision, Decision::Deny);
}

/// F9
/// CF-33
#[test]
fn the_default_depends_on_which_lists_there_are() {
    let other = |policy: &Policy| decide(policy, "other", json!({}));
    assert_eq!(other(&Policy::default()), Decision::Allow);
    assert_eq!(other(&policy(json!({ "allow": ["read"] }))), Decision::Deny);
    assert_eq!(other(&policy(json!({ "allow": [] }))), Decision::Deny);
    assert_eq!(other(&policy(json!({ "deny": ["read"] }))), Decision::Ask);
    assert_eq!(other(&policy(json!({ "ask": ["read"] }))), Decision::Ask);
    assert_eq!(other(&policy(json!({ "allow": ["read"], "default": "ask" }))), Decision::Ask);
    assert_eq!(other(&policy(json!({ "deny": ["read"], "default": "allow" }))), Decision::Allow);
    assert_eq!(other(&policy(json!({ "default": "deny" }))), Decision::Deny);
}

/// F10
#[test]
fn a_denied_call_stays_denied_whatever_allows_it() {
    let both = policy(json!({ "allow": ["Bash(rm -i x)", "read"], "deny": ["Bash(rm:*)", "read"], "ask": ["read"] }));
    assert_eq!(decide(&both, "read", json!({ "path": "a" })), Decision::Deny);
    assert_eq!(decide(&both, "bash", json!({ "command": "rm -i x" })), Decision::Deny);
}

#[test]
fn the_order_is_deny_ask_allow() {
    let all = policy(json!({ "allow": ["*"], "ask": ["Bash(git push:*)"], "deny": ["Bash(git push --force:*)"] }));
    let bash = |command: &str| decide(&all, "bash", json!({ "command": command }));
    assert_eq!(bash("git status"), Decision::Allow);
    assert_eq!(bash("git push"), Decision::Ask);
    assert_eq!(bash("git push --force"), Decision::Deny);
    assert_eq!(bash("git status && git push; git push --force"), Decision::Deny);
}

/// F6
/// F7
/// F8
#[test]
fn an_exploring_agent_may_look_and_may_not_touch() {
    let look = ["ls", "cat", "head", "tail", "find", "wc"];
    let touch = ["rm", "mv", "cp"];
    let rules = |names: &[&str]| names.iter().map(|name| format!("Bash({name}:*)")).collect::<Vec<_>>();
    let explore = policy(json!({ "allow": rules(&look), "deny": rules(&touch) }));
    for name in look {
        assert_eq!(decide(&explore, "bash", json!({ "command": format!("{name} src") })), Decision::Allow, "{name}");
    }
    for name in touch {
        let verdict = explore.decide(&Call::new("bash", &json!({ "command": format!("{name} a b") })));
        assert_eq!((verdict.decision, verdict.rule), (Decision::Deny, Some(format!("Bash({name}:*)"))));
    }
    for evil in ["cat f > g", "find . -delete", "find . -exec rm {} +", "ls; rm -rf x", "cat x | sh"] {
        assert_eq!(decide(&explore, "bash", json!({ "command": evil })), Decision::Deny, "{evil}");
    }
}

#[test]
fn a_tool_is_possible_if_any_call_of_it_could_be_made() {
    let check = |policy: &Policy, tool: &str, decision: Decision, rule: Option<&str>| {
        let verdict = policy.possible(tool);
        assert_eq!((verdict.decision, verdict.rule.as_deref()), (decision, rule), "{tool}: {}", verdict.reason);
    };
    let some = policy(json!({
        "allow": ["Bash(ls:*)", "Read", "mcp__a"],
        "ask": ["WebFetch(domain:a.b)", "Edit"],
        "deny": ["Bash(rm:*)", "Grep", "Write(**)"],
    }));
    check(&some, "Bash", Decision::Allow, Some("Bash(ls:*)"));
    check(&some, "read", Decision::Allow, Some("Read"));
    check(&some, "mcp__a__b", Decision::Allow, Some("mcp__a"));
    check(&some, "grep", Decision::Deny, Some("Grep"));
    check(&some, "write", Decision::Deny, Some("Write(**)"));
    check(&some, "edit", Decision::Deny, Some("Write(**)"));
    check(&some, "web_fetch", Decision::Ask, Some("WebFetch(domain:a.b)"));
    check(&some, "tree", Decision::Deny, None);
    check(&Policy::default(), "tree", Decision::Allow, None);
    check(&policy(json!({ "deny": ["Bash(rm:*)"] })), "bash", Decision::Ask, None);
    check(&policy(json!({ "deny": ["*"], "allow": ["read"] })), "read", Decision::Deny, Some("*"));
}

#[test]
fn with_nobody_to_ask_a_question_is_a_denial_that_says_so() {
    let asked = policy(json!({ "ask": ["read"] })).decide(&Call::new("read", &json!({}))).without_asking();
    assert_eq!((asked.decision, asked.rule.as_deref()), (Decision::Deny, Some("read")));
    assert!(asked.reason.contains("nobody to ask"), "{}", asked.reason);
    let allowed = Policy::default().decide(&Call::new("read", &json!({})));
    assert_eq!(allowed.clone().without_asking(), allowed);
}

#[test]
fn the_stricter_decision_is_the_greater() {
    assert!(Decision::Deny > Decision::Ask && Decision::Ask > Decision::Allow);
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let texts = [
        "*",
        "read",
        "Read(src/**)",
        "Read(*.rs)",
        "Edit(src/**)",
        "Write(**)",
        "Bash",
        "Bash(ls:*)",
        "grep",
        "Agent(a)",
        "mcp__a",
        "mcp__*",
        "WebFetch(domain:a.b)",
        "x(*y*)",
    ];
    prop::sample::select(texts.to_vec()).prop_map(rule)
}

proptest! {
    /// CFG-14
    #[test]
    fn any_text_is_a_rule_or_says_why_not(text in ".{0,40}", inside in "[a-z*?/.~:{}\\[\\]!, -]{0,20}") {
        let _ = Rule::parse(&text);
        for tool in ["Bash", "Read", "WebFetch", "Agent", "Skill", "other"] {
            if let Ok(rule) = Rule::parse(&format!("{tool}({inside})")) {
                let input = json!({ "command": inside, "path": inside, "url": inside, "agent": inside, "skill": inside });
                let call = Call::new(tool, &input);
                rule.allows(&call);
                rule.denies(&call);
                prop_assert_eq!(Rule::parse(&rule.to_string()), Ok(rule));
            }
        }
    }

    #[test]
    fn another_deny_rule_never_makes_a_decision_milder(
        allow in prop::option::of(prop::collection::vec(any_rule(), 0..4)),
        ask in prop::collection::vec(any_rule(), 0..3),
        deny in prop::collection::vec(any_rule(), 0..3),
        added in any_rule(),
        tool in prop::sample::select(vec!["read", "edit", "bash", "grep", "task", "mcp__a__b", "web_fetch", "x"]),
        path in prop::sample::select(vec!["src/a.rs", "b", "../c", "/d", "a"]),
    ) {
        let before = Policy { allow, ask, deny, default: None };
        let after = before.clone().deny(added);
        let input = json!({ "path": path, "command": "ls", "agent": path, "url": "https://a.b/" });
        let call = Call::new(tool, &input);
        prop_assert!(after.decide(&call).decision >= before.decide(&call).decision);
        prop_assert!(after.possible(tool).decision >= before.possible(tool).decision);
        prop_assert!(before.possible(tool).decision <= before.decide(&call).decision, "a call beats what is possible");
    }
}
