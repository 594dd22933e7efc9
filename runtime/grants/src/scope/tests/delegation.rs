//! Who may ask other agents, and which.

use super::*;
use crate::{DELEGATION, canonical_tool};

fn tools_for_asking() -> Vec<Candidate> {
    DELEGATION.map(|name| Candidate::new(name, ["agents".to_owned()], ToolSource::Core)).to_vec()
}

fn has(scope: &ToolScope, native: bool) -> Vec<String> {
    let identity = Identity::of("a");
    let around = Surroundings { identity: &identity, native, may_delegate: true, binding_overrides: &[] };
    let candidates = tools_for_asking();
    scope.resolve(&candidates, &around).tools.into_iter().map(|tool| tool.name().to_owned()).collect()
}

fn decide(scope: &ToolScope, tool: &str, input: serde_json::Value) -> Decision {
    scope.decide(&Call::new(tool, &input)).decision
}

/// CF-21, F11, I19
#[test]
fn tasks_are_given_by_agents_that_name_task_or_restrict_nothing() {
    assert_eq!(has(&ToolScope::default(), false), DELEGATION);
    assert_eq!(has(&ToolScope::default(), true), [""; 0], "not by built-in ones");
    let with_task = ["task", "parallel_task", "agent_ask", "task_cancel", "task_result"];
    for name in ["Task", "Agent", "Subagent", "agent", "Agent(explore)"] {
        assert_eq!(has(&listing(&["read", name]), false), with_task, "{name}");
        assert_eq!(has(&listing(&["read", name]), true), with_task, "{name}");
    }
    assert_eq!(has(&listing(&["read"]), false), [""; 0]);
    assert_eq!(has(&listing(&["read", "agents_message"]), true), ["agents_message"]);
}

/// E14, CF-21
#[test]
fn a_list_of_everything_lets_messages_in_and_tasks_not() {
    let names = Lists { allow: Some(vec![Pattern::parse("*").unwrap()]), ..Lists::default() };
    let scope = ToolScope { names, ..ToolScope::default() };
    assert_eq!(has(&scope, false), ["agents_message", "agents_list"]);
}

#[test]
fn what_comes_with_task_goes_with_it_and_can_be_denied_alone() {
    let without = |name: &str| ToolScope { disallowed: rules(&[name]), ..ToolScope::default() };
    assert_eq!(has(&without("Task"), false), ["agents_message", "agents_list"]);
    let left = has(&without("parallel_task"), false);
    assert!(left.len() == DELEGATION.len() - 1 && !left.contains(&"parallel_task".to_owned()), "{left:?}");
}

/// DEL-12
#[test]
fn an_agent_that_is_not_named_is_not_asked_whatever_the_way() {
    let scope = listing(&["Agent(explore)"]);
    let several = |names: &[&str]| {
        let tasks: Vec<_> = names.iter().map(|name| json!({ "agent": name, "prompt": "x" })).collect();
        json!({ "tasks": tasks })
    };
    assert_eq!(decide(&scope, "task", json!({ "agent": "explore" })), Decision::Allow);
    assert_eq!(decide(&scope, "parallel_task", several(&["explore", "explore"])), Decision::Allow);
    for name in ["Explore", "explorer", "explor", "general", "explore ", "*", ""] {
        assert_eq!(decide(&scope, "task", json!({ "agent": name })), Decision::Deny, "{name}");
        assert_eq!(decide(&scope, "parallel_task", several(&["explore", name])), Decision::Deny, "{name}");
    }
    assert_eq!(decide(&scope, "task", json!({})), Decision::Deny, "nobody named is `general`");
    assert_eq!(decide(&scope, "parallel_task", json!({ "tasks": [{ "prompt": "x" }] })), Decision::Deny);
    for tool in ["agent_ask", "task_cancel", "task_result"] {
        assert_eq!(decide(&scope, tool, json!({ "agent_id": "x" })), Decision::Allow, "{tool}");
    }
}

/// DEL-12
#[test]
fn an_agent_that_is_denied_is_not_asked_whatever_the_way() {
    let scope = ToolScope { disallowed: rules(&["Agent(general)"]), ..ToolScope::default() };
    for name in ["general", "General", "GENERAL"] {
        assert_eq!(decide(&scope, "task", json!({ "agent": name })), Decision::Deny, "{name}");
        assert_eq!(decide(&scope, "agents_message", json!({ "agentId": name })), Decision::Deny, "{name}");
        assert_eq!(decide(&scope, "parallel_task", json!({ "tasks": [{ "type": name }] })), Decision::Deny, "{name}");
        assert_eq!(scope.denies_agent(name).as_deref(), Some("Agent(general)"));
    }
    assert_eq!(decide(&scope, "task", json!({ "agent": "explore" })), Decision::Allow);
    assert_eq!(scope.denies_agent("explore"), None);
    let no_tasks = ToolScope { disallowed: rules(&["Task"]), ..ToolScope::default() };
    assert_eq!(no_tasks.denies_agent("explore"), None, "a tool is denied, not an agent");
}

#[test]
fn the_names_are_in_their_one_form() {
    assert_eq!(DELEGATION.map(canonical_tool), DELEGATION);
}
