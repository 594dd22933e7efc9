use serde_json::{Value, json};

use super::*;
use crate::Call;

fn rule(text: &str) -> Rule {
    Rule::parse(text).unwrap()
}

fn allows(text: &str, tool: &str, input: Value) -> bool {
    rule(text).allows(&Call::new(tool, &input))
}

fn denies(text: &str, tool: &str, input: Value) -> bool {
    rule(text).denies(&Call::new(tool, &input))
}

/// F2
/// CF-19
#[test]
fn a_rule_is_a_text_or_an_object_and_is_written_back_as_text() {
    let rules: Vec<Rule> = serde_json::from_value(json!(["read", { "rule": "Bash(cargo:*)" }])).unwrap();
    assert_eq!(rules, [rule("read"), rule("Bash(cargo:*)")]);
    assert_eq!(serde_json::to_value(&rules).unwrap(), json!(["read", "Bash(cargo:*)"]));
    assert!(serde_json::from_value::<Rule>(json!({ "rule": "Bash(" })).is_err());
}

/// F3
#[test]
fn a_rule_from_a_file_works_like_one_from_code() {
    let rule: Rule = serde_json::from_value(json!({ "rule": "Bash(cargo:*)" })).unwrap();
    assert_eq!(rule.tool(), "bash");
    assert!(rule.allows(&Call::new("bash", &json!({ "command": "cargo build" }))));
    assert!(!rule.allows(&Call::new("bash", &json!({ "command": "rm" }))));
}

/// F4
#[test]
fn a_bare_name_covers_any_arguments() {
    assert!(allows("read", "read", json!({ "path": "a" })));
    assert!(allows("read", "read", json!(null)));
    assert!(!allows("read", "write", json!({ "path": "a" })));
}

/// F5
#[test]
fn a_rule_about_cargo_allows_a_cargo_build() {
    assert!(allows("Bash(cargo:*)", "Bash", json!({ "command": "cargo build" })));
}

/// F8
/// CF-18
#[test]
fn names_are_compared_without_case_and_with_aliases() {
    assert!(allows("Bash(ls:*)", "bash", json!({ "command": "ls" })));
    assert!(allows("bash", "functions.Bash", json!({ "command": "ls" })));
    assert!(allows("DirectoryTree", "tree", json!({})));
    assert!(allows("Subagent", "Agent", json!({})));
    assert!(allows("MultiEdit", "edit", json!({})));
}

/// DF-17
#[test]
fn a_server_is_named_whole() {
    let check = |text: &str, tool: &str, expected: bool| {
        assert_eq!(rule(text).matches_tool(tool), expected, "{text} and {tool}");
    };
    check("mcp__pencil", "mcp__pencil", true);
    check("mcp__pencil", "mcp__pencil__draw", true);
    check("mcp__pencil", "mcp__pencilx__draw", false);
    check("mcp__pencil", "mcp__pencil__", false);
    check("mcp__pencil__draw", "mcp__pencil__draw__more", false);
    check("mcp__Pencil__Draw", "mcp__pencil__draw", true);
    check("mcp__longvt__*", "mcp__longvt__x", true);
    check("mcp__*", "mcp__longvt__x", true);
    check("mcp__*", "read", false);
    check("*", "read", true);
    check("todo_*", "todo_write", true);
    check("Read", "read_all", false);
}

#[test]
fn rules_that_mean_nothing_are_refused_with_what_would_be_right() {
    let check = |text: &str, expected: &str| {
        let message = Rule::parse(text).expect_err(text).to_string();
        assert!(message.contains(expected), "{text:?} says {message:?}");
    };
    check("", "a rule is empty");
    check("  ", "a rule is empty");
    check("Bash(", "do not match; write `Tool` or `Tool(what)`");
    check("Bash(a))", "do not match");
    check("Bash(a)b", "do not match");
    check("Bash)a(", "do not match");
    check("Bash(a)(b)", "do not match");
    check("Bash()", "leave them out");
    check("Bash( )", "leave them out");
    check("(ls)", "is no tool's name");
    check("Read, Write", "write one tool a rule");
    check("mcp__*(x)", "name one tool");
    check("Read(../x)", "name the folder itself");
    check("Read(!x)", "opposite list");
    check("Read([a)", "cannot be read");
    check("WebFetch(domain:a b)", "domain:*.example.com");
    check("Bash(a\nb)", "control character");
    check(&format!("Bash({})", "x".repeat(2000)), "at most 1024");
}

#[test]
fn a_rule_for_everything_is_known_as_one() {
    let all =
        ["Bash", "Bash(*)", "Bash(:*)", "Read(**)", "Read(*)", "Read(./**)", "WebFetch(domain:*)", "Agent(*)", "x(*)"];
    for text in all {
        assert!(rule(text).covers_all_arguments(), "{text}");
    }
    for text in
        ["Bash(ls:*)", "Bash(ls*)", "Read(src/**)", "Read(*.rs)", "Read(//**)", "WebFetch(domain:*.a.b)", "Agent(a)"]
    {
        assert!(!rule(text).covers_all_arguments(), "{text}");
    }
}

/// CF-2
#[test]
fn commas_inside_parentheses_do_not_split() {
    assert_eq!(split_list("Read, Bash(a,b:*) ,Agent(x, y),, LS"), ["Read", "Bash(a,b:*)", "Agent(x, y)", "LS"]);
    assert_eq!(split_list(" , "), [""; 0]);
    assert_eq!(split_list("Bash(a, Read"), ["Bash(a, Read"]);
    assert_eq!(split_list("a), b"), ["a)", "b"]);
}

/// DF-21
#[test]
fn a_path_is_resolved_before_it_is_compared() {
    let check = |text: &str, path: &str, expected: bool| {
        assert_eq!(allows(text, "read", json!({ "file_path": path })), expected, "{text} and {path}");
        assert_eq!(allows(text, "read", json!({ "path": path })), expected, "{text} and {path}");
    };
    check("Read(src/**/*.rs)", "src/a/b.rs", true);
    check("Read(src/**/*.rs)", "src/b.rs", true);
    check("Read(src/**/*.rs)", "src/../etc/x.rs", false);
    check("Read(src/**/*.rs)", "lib/../src/x.rs", true);
    check("Read(src/**/*.rs)", "src\\a\\b.rs", true);
    check("Read(src/**/*.rs)", "./src//./b.rs", true);
    check("Read(src/**/*.rs)", "SRC/b.rs", false);
    check("Read(src/**)", "src/../../src/x", false);
    check("Read(src/**)", "src//../../s", false);
    check("Read(src/**)", "src", true);
    check("Read(src/**)", "srcx/a", false);
    check("Read(**)", "/etc/passwd", false);
    check("Read(**)", "../x", false);
    check("Read(**)", "C:\\x", false);
    check("Read(**)", "~/x", false);
    check("Read(**)", "a/b", true);
    check("Read(//etc/hosts)", "/etc/hosts", true);
    check("Read(//etc/hosts)", "etc/hosts", false);
    check("Read(//etc/*)", "/etc/../root/x", false);
    check("Read(~/notes/**)", "~/notes/a", true);
    check("Read(~/notes/**)", "~/notes/../.ssh/id", false);
    check("Read(*.rs)", "a/b/c.rs", true);
    check("Read(.env)", "sub/.env", true);
    check("Read(/.env)", "sub/.env", false);
    check("Read(./.env)", ".env", true);
    check("Read(docs)", "docs/a/b.md", true);
    check("Read(docs/)", "x/docs/a", true);
    check("Read(src/*)", "src/a", true);
    check("Read(src/?.rs)", "src/a.rs", true);
    check("Read(src/?.rs)", "src/ab.rs", false);
    check("Read(src/[ab].rs)", "src/b.rs", true);
    check("Read(src/{a,b}.rs)", "src/a.rs", false);
    check("Read(src/{a,b}.rs)", "src/{a,b}.rs", true);
    check("Read(src/*.rs)", "src/a/b.rs", false);
}

#[test]
fn every_path_of_a_call_must_be_allowed() {
    let edits = |paths: [&str; 2]| json!({ "edits": [{ "path": paths[0] }, { "file_path": paths[1] }] });
    assert!(allows("Edit(src/**)", "edit", edits(["src/a", "src/b"])));
    assert!(!allows("Edit(src/**)", "edit", edits(["src/a", "b"])));
    assert!(denies("Edit(src/**)", "edit", edits(["a", "src/b"])));
    assert!(!allows("Read(src/**)", "read", json!({ "path": "src/a", "file_path": "b" })));
    assert!(!allows("Read(src/**)", "read", json!({ "paths": ["src/a", "b"] })));
    assert!(!allows("Read(src/**)", "read", json!({ "path": 7 })));
    assert!(!allows("LS(src/**)", "ls", json!({})));
    assert!(allows("LS(**)", "ls", json!({})));
}

#[test]
fn a_denied_path_is_denied_to_the_neighbours_and_in_any_case() {
    for tool in ["read", "grep", "glob", "ls", "tree"] {
        assert!(denies("Read(.env)", tool, json!({ "path": "sub/.ENV" })), "{tool}");
        assert!(!denies("Edit(.env)", tool, json!({ "path": ".env" })), "{tool}");
    }
    for tool in ["write", "edit"] {
        assert!(denies("Edit(src/**)", tool, json!({ "file_path": "SRC/a" })), "{tool}");
        assert!(denies("Write(src/**)", tool, json!({ "file_path": "x/../src/a" })), "{tool}");
        assert!(!denies("Read(src/**)", tool, json!({ "file_path": "src/a" })), "{tool}");
    }
    assert!(!denies("Grep(.env)", "read", json!({ "path": ".env" })));
    assert!(denies("Read(.env)", "read", json!({ "path": "/home/me/project/.env" })));
    assert!(denies("Read(secrets/**)", "read", json!({ "path": "/home/me/project/secrets/key" })));
    assert!(denies("Read(secrets/**)", "read", json!({ "path": "../project/secrets/key" })));
    assert!(!denies("Read(secrets/**)", "grep", json!({ "path": "." })), "a folder around it is not denied");
    assert!(!denies("Read", "grep", json!({})), "a bare name speaks of its own tool");
    assert!(!allows("Read(src/**)", "grep", json!({ "path": "src" })), "an allow rule speaks of its own tool");
}

#[test]
fn folders_can_be_taken_from_a_path_rule() {
    let check = |text: &str, prefix: &str, tree: bool| {
        let pattern = PathPattern::parse(text).unwrap();
        assert_eq!((pattern.literal_prefix().as_str(), pattern.is_folder_tree()), (prefix, tree), "{text}");
    };
    check("src/**/*.rs", "src", false);
    check("src/**", "src", true);
    check("/src/", "src", true);
    check("src/a/b.rs", "src/a", false);
    check("a/b*/c", "a", false);
    check("/README.md", ".", false);
    check("*.rs", ".", false);
    check("docs/", ".", false);
    check("**", ".", true);
    check(".", ".", true);
    check("//etc/**", "", false);
    assert_eq!(PathPattern::parse(" "), Err(BadPathPattern::Empty));
}

#[test]
fn a_domain_is_the_host_that_is_really_asked() {
    let check = |text: &str, url: &str, expected: bool| {
        assert_eq!(allows(text, "WebFetch", json!({ "url": url })), expected, "{text} and {url}");
    };
    let example = "WebFetch(domain:example.com)";
    check(example, "https://example.com/a?b#c", true);
    check(example, "HTTP://EXAMPLE.COM:8080/", true);
    check(example, "https://example.com./", true);
    check(example, "https://user:password@example.com/", true);
    check(example, "https:\\\\example.com\\a", true);
    check(example, "http://example.com@evil.com/", false);
    check(example, "http://example.com\\@evil.com/", true);
    check(example, "http://evil.com\\@example.com/", false);
    check(example, "http://evil.com#@example.com", false);
    check(example, "http://evil.com/example.com", false);
    check(example, "https://sub.example.com/", false);
    check(example, "https://notexample.com/", false);
    check(example, "https://example.com.evil.com/", false);
    check(example, "example.com", false);
    check(example, "ftp://example.com/", false);
    check(example, "file:///etc/passwd", false);
    check(example, "https://ex\u{e4}mple.com/", false);
    check("WebFetch(domain:*.example.com)", "https://a.b.example.com/", true);
    check("WebFetch(domain:*.example.com)", "https://example.com/", false);
    check("WebFetch(domain:*.example.com)", "https://notexample.com/", false);
    check("WebFetch(domain:b\u{fc}cher.example)", "https://xn--bcher-kva.example/", true);
    check("WebFetch(domain:*)", "https://anything.example/", true);
    check("WebFetch(domain:127.0.0.1)", "http://2130706433/", true);
    assert!(denies(example, "web_fetch", json!({ "url": "no address" })));
    assert!(denies(example, "web_fetch", json!({})));
    assert!(denies(example, "web_fetch", json!({ "url": "https://EXAMPLE.com./" })));
    assert!(!denies(example, "web_fetch", json!({ "url": "https://other.example" })));
}

#[test]
fn agents_and_skills_are_chosen_by_name() {
    for key in ["type", "agent", "agent_name", "agentId", "subagent_type"] {
        assert!(allows("Agent(explore, plan)", "task", json!({ key: "plan" })), "{key}");
        assert!(!allows("Task(explore)", "Agent", json!({ key: "general" })), "{key}");
    }
    assert!(!allows("Agent(explore)", "task", json!({ "agent": "explore", "type": "general" })));
    assert!(denies("Agent(general)", "task", json!({})), "no name means general");
    assert!(denies("Agent(Worker-*)", "task", json!({ "agent": "worker-1" })));
    assert!(allows("Skill(deploy *)", "skill", json!({ "skill": "deploy", "args": "staging" })));
    assert!(allows("Skill(deploy *)", "skill", json!({ "name": "deploy" })));
    assert!(!allows("Skill(deploy)", "skill", json!({ "name": "deploy", "args": "production" })));
    assert!(!allows("Skill(deploy *)", "skill", json!({ "name": "deployment" })));
}

#[test]
fn any_other_tool_is_compared_by_its_arguments_as_json() {
    let input = json!({ "table": "users", "limit": 3 });
    assert!(allows("query_db(*\"table\":\"users\"*)", "query_db", input.clone()));
    assert!(!allows("query_db(*\"table\":\"orders\"*)", "query_db", input.clone()));
    assert!(denies("mcp__db__query(*users*)", "mcp__db__query", input));
}
