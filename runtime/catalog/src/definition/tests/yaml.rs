//! YAML files.

use palisade_grants::{Call, Rule};
use serde_json::json;

use super::*;

/// A2, A23, B25, B27
#[test]
fn name_description_hidden_and_steps_are_read() {
    let agent = yaml("\nname: test-agent\ndescription: A test agent\nhidden: false\nmax_steps: 20\n").unwrap().agent;
    assert_eq!((agent.name.as_str(), agent.description.as_str()), ("test-agent", "A test agent"));
    assert_eq!((agent.hidden, agent.budget.steps), (false, Some(20)));
    assert!(super::agent("hidden: true").hidden);
}

/// A2, B5
#[test]
fn the_prompt_may_be_a_block() {
    let agent = agent("prompt: |\n  You are a test.\n\n  Be brief.\n");
    assert_eq!(agent.prompt.as_deref(), Some("You are a test.\n\nBe brief."));
}

/// A24, B15, CF-19
#[test]
fn permissions_may_be_maps_with_a_rule() {
    let agent = agent("permissions:\n  allow:\n    - rule: read\n    - rule: grep\n  deny:\n    - rule: write\n");
    let (allow, deny) = (agent.scope.permissions.allow.unwrap(), agent.scope.permissions.deny);
    assert_eq!((allow.len(), deny.len()), (2, 1));
    let nothing = json!({});
    assert!(allow[0].allows(&Call::new("read", &nothing)));
    assert!(allow[1].allows(&Call::new("grep", &nothing)));
    assert!(deny[0].denies(&Call::new("write", &nothing)));
    assert!(!allow[0].matches_tool("grep"));
}

/// A25, B15, CF-19
#[test]
fn permissions_may_be_plain_texts_and_both_may_be_mixed() {
    let fields = "permissions:\n  allow:\n    - read\n    - grep\n    - \"Bash(cargo:*)\"\n  deny:\n    - write\n";
    let permissions = agent(fields).scope.permissions;
    let allow = permissions.allow.unwrap();
    assert_eq!((allow.len(), permissions.deny.len()), (3, 1));
    assert!(allow[0].matches_tool("read") && allow[1].matches_tool("grep") && allow[2].matches_tool("Bash"));
    assert!(allow[2].allows(&Call::new("Bash", &json!({ "command": "cargo build" }))));
    assert!(!allow[2].allows(&Call::new("Bash", &json!({ "command": "cargo build; rm -rf /" }))));
    assert!(permissions.deny[0].matches_tool("write"));
    let mixed = agent("permissions: { allow: [read, { rule: grep }] }").scope.permissions.allow.unwrap();
    assert_eq!(mixed, [Rule::parse("read").unwrap(), Rule::parse("grep").unwrap()]);
}

/// A10, Q4
#[test]
fn what_is_no_yaml_is_refused() {
    starts_with(
        &error(yaml("name: [a\ndescription: b")),
        "a.md:2:12: error: Failed to parse agent YAML: did not find expected ',' or ']', while parsing a flow sequence; close",
    );
    starts_with(
        &error(yaml("name: a\n\tdescription: b")),
        "a.md:2:1: error: Failed to parse agent YAML: found a tab character that violates indentation",
    );
    starts_with(
        &error(yaml("name: @a")),
        "a.md:1:7: error: Failed to parse agent YAML: found character that cannot start any token",
    );
}

/// A11, Q4
#[test]
fn an_empty_name_is_refused() {
    for name in ["\"\"", "'  '", "\"\\t\""] {
        assert_eq!(
            error(yaml(&format!("description: b\nname: {name}\n"))),
            "a.md:2:7: error: Agent name is required; write `name: my-agent`"
        );
        starts_with(
            &error(markdown(&format!("---\nname: {name}\ndescription: b\n---\n"))),
            "a.md:2:7: error: Agent name is required",
        );
    }
}

/// A12, A26
#[test]
fn a_missing_name_is_refused() {
    starts_with(
        &error(yaml("\ndescription: Agent without name\n")),
        "a.md:2:1: error: Failed to parse agent YAML: missing field `name`",
    );
    starts_with(
        &error(yaml("name: ~\ndescription: b\n")),
        "a.md:1:1: error: Failed to parse agent YAML: missing field `name`",
    );
}

/// A13, CF-4
#[test]
fn a_missing_description_is_refused_where_one_is_required() {
    starts_with(&error(yaml("name: a\n")), "a.md:1:1: error: Failed to parse agent YAML: missing field `description`");
    starts_with(&error(yaml("name: a\ndescription: ''\n")), "a.md:2:14: error: `description` is empty");
    let optional = Source { description: Presence::Optional, ..source() };
    assert_eq!(parse_yaml(b"name: a\n", &optional).unwrap().agent.description, "");
}

#[test]
fn numbers_and_flags_where_text_is_meant_are_taken_as_written() {
    let agent =
        yaml("name: 0x10\ndescription: 1.50\nmodel: 4\ncreated_at: 2024-01-01\nupdated_at: 2024\n").unwrap().agent;
    assert_eq!((agent.name.as_str(), agent.description.as_str()), ("0x10", "1.50"));
    assert_eq!(agent.model.unwrap().model, "4");
    assert_eq!((agent.created_at.as_deref(), agent.updated_at.as_deref()), (Some("2024-01-01"), Some("2024")));
    let flags = yaml("name: true\ndescription: yes\n").unwrap().agent;
    assert_eq!((flags.name.as_str(), flags.description.as_str()), ("true", "yes"));
}

/// CFG-04
#[test]
fn what_programs_read_differently_is_refused() {
    let check = |text: &str, expected: &str| starts_with(&error(yaml(text)), expected);
    let start = "error: Failed to parse agent YAML:";
    check("name: a\nname: b\n", &format!("a.md:2:1: {start} the key `name` is there twice; keep one"));
    check(
        "name: a\ngrants: { files: { a: read, a: read-write } }\n",
        &format!("a.md:2:29: {start} the key `a` is there twice"),
    );
    check("base: &b { name: a }\n<<: *b\n", &format!("a.md:2:1: {start} the merge key `<<`"));
    check("name: !Secret a\n", &format!("a.md:1:7: {start} the tag `!Secret`"));
    check("tools: !Set [a]\n", &format!("a.md:1:8: {start} the tag `!Set`"));
    check("1: a\n", &format!("a.md:1:1: {start} a key that is a number; put it in quotes"));
    check("? [a]\n: b\n", &format!("a.md:1:3: {start} a key that is a list or a map"));
    check("true: a\n", &format!("a.md:1:1: {start} a key that is true or false"));
    check("name: a\n---\nname: b\n", &format!("a.md: {start} there is more than one document"));
    check("name: *x\n", &format!("a.md:1:7: {start} unknown anchor; put a text that begins with `*` in quotes"));
    check("name: \"a\\0b\"\n", &format!("a.md:1:7: {start} a text with a NUL character"));
}
