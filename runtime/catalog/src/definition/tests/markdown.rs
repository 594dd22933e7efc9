//! Markdown with settings in front.

use palisade_agent::{ModelName, ReasoningEffort};
use palisade_grants::Rule;

use super::*;

const DATABASE_AGENT: &str = r#"---
name: database-agent
description: SQL query optimization specialist
model: claude-3-5-sonnet-20241022
temperature: 0.2
reasoning_effort: high
tools: ["read", "query_db", "explain_query"]
created_at: "2024-01-01T00:00:00Z"
updated_at: "2024-01-15T12:00:00Z"
---

You are a database specialist with expertise in SQL.

Never execute destructive queries without explicit confirmation.
"#;

const CODE_REVIEWER: &str = "---
name: code-reviewer
description: Reviews code for quality, security, and best practices
model: anthropic:sonnet        # optional, overrides parent model
tools: Read, Grep, Glob, Bash  # optional, comma-separated tool names
timeout: 600                   # optional, seconds (default: 300)
---

You are a code review specialist.

{{task}}

Provide a structured review with severity levels.
";

pub(super) fn tool_names(rules: Option<&Vec<Rule>>) -> Vec<String> {
    rules.into_iter().flatten().map(Rule::to_string).collect()
}

/// A1, A16, A30, B1, B4, B5, B6, B11, B12, B13, B29
#[test]
fn the_database_agent_loads_with_all_its_fields() {
    let Parsed { agent, warnings } = markdown(DATABASE_AGENT).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(
        (agent.name.as_str(), agent.description.as_str()),
        ("database-agent", "SQL query optimization specialist")
    );
    assert_eq!(agent.model, Some(ModelName { provider: None, model: "claude-3-5-sonnet-20241022".to_owned() }));
    assert_eq!((agent.temperature, agent.reasoning_effort), (Some(0.2), Some(ReasoningEffort::High)));
    assert_eq!(tool_names(agent.scope.tools.as_ref()), ["read", "query_db", "explain_query"]);
    assert_eq!(agent.created_at.as_deref(), Some("2024-01-01T00:00:00Z"));
    assert_eq!(agent.updated_at.as_deref(), Some("2024-01-15T12:00:00Z"));
    let prompt = agent.prompt.unwrap();
    starts_with(&prompt, "You are a database specialist");
    assert!(prompt.ends_with("explicit confirmation."));
    assert_eq!(agent.origin, Origin::file(Layer::User, "a.md"));
}

/// A17, A31, B6, B14, B28, R1
#[test]
fn the_code_reviewer_loads_with_comments_behind_its_fields() {
    let Parsed { agent, warnings } = markdown(CODE_REVIEWER).unwrap();
    assert_eq!(warnings, []);
    let sonnet = ModelName { provider: Some("anthropic".to_owned()), model: "sonnet".to_owned() };
    assert_eq!(agent.model, Some(sonnet));
    assert_eq!(tool_names(agent.scope.tools.as_ref()), ["Read", "Grep", "Glob", "Bash"]);
    assert_eq!(agent.budget.time, Some(std::time::Duration::from_secs(600)));
    assert!(agent.prompt.unwrap().contains("{{task}}"));
    assert_eq!(Agent::new("a", "b").budget().time, std::time::Duration::from_secs(300));
}

/// A27, A14, B27
#[test]
fn the_body_is_the_prompt() {
    let text = "---\nname: md-agent\ndescription: Agent from markdown\nmax_steps: 15\n---\n# System Prompt\n\nYou are a helpful agent.\nDo your best work.\n";
    let agent = markdown(text).unwrap().agent;
    assert_eq!((agent.name.as_str(), agent.description.as_str()), ("md-agent", "Agent from markdown"));
    assert_eq!(agent.budget.steps, Some(15));
    assert_eq!(agent.prompt.as_deref(), Some("# System Prompt\n\nYou are a helpful agent.\nDo your best work."));
}

/// A14, A15
#[test]
fn an_empty_body_is_no_prompt() {
    assert_eq!(markdown("---\nname: a\ndescription: b\n---\n \n\t\n").unwrap().agent.prompt, None);
    assert_eq!(
        markdown("---\nname: a\ndescription: b\nprompt: '  '\n---\nbody").unwrap().agent.prompt.as_deref(),
        Some("body")
    );
}

/// A15, A28, CF-5
#[test]
fn a_prompt_among_the_fields_goes_before_the_body() {
    let text = "---\nname: prompt-agent\ndescription: Agent with prompt in frontmatter\nprompt: \"Frontmatter prompt\"\n---\nBody content that should be ignored\n";
    let Parsed { agent, warnings } = markdown(text).unwrap();
    assert_eq!(agent.prompt.as_deref(), Some("Frontmatter prompt"));
    assert_eq!(
        warnings[0].to_string(),
        "a.md:6:1: warning: body ignored: `prompt` is given above it; keep either the body or `prompt`"
    );
    for key in ["prompt", "system_prompt", "systemPrompt"] {
        let Parsed { agent, warnings } =
            markdown(&format!("---\nname: a\ndescription: b\n{key}: same\n---\n\nsame\n")).unwrap();
        assert_eq!((agent.prompt.as_deref(), warnings.len()), (Some("same"), 0), "{key}");
    }
}

/// A7, A21, DF-1: dashes inside a line and in the body mean nothing.
#[test]
fn only_whole_lines_of_dashes_are_fences() {
    let agent = markdown("---\nname: a\ndescription: x --- y\n---\nDo it.\n---\nReally.\n").unwrap().agent;
    assert_eq!(agent.description, "x --- y");
    assert_eq!(agent.prompt.as_deref(), Some("Do it.\n---\nReally."));
}

/// A8, A29, Q4
#[test]
fn a_text_without_settings_in_front_is_refused() {
    for text in ["Just markdown without frontmatter", "text --- name: a --- body", "text\n---\nname: a\n---\n", ""] {
        starts_with(
            &error(markdown(text)),
            "a.md:1:1: error: Invalid markdown format: missing YAML frontmatter; begin",
        );
    }
    starts_with(
        &error(markdown("---\nname: a\n")),
        "a.md:1:1: error: Invalid markdown format: missing YAML frontmatter; end the settings",
    );
}

/// A9, A18, Q4
#[test]
fn settings_that_are_no_yaml_are_refused_with_the_line_of_the_file() {
    let text = "---\nname: a\ndescription: one: two\n---\nbody";
    assert_eq!(
        error(markdown(text)),
        "a.md:3:17: error: Failed to parse agent frontmatter: mapping values are not allowed in this context; put a text that holds `: ` in quotes"
    );
    starts_with(
        &error(markdown("---\njust text\n---\n")),
        "a.md:2:1: error: Failed to parse agent frontmatter: expected fields, but found text",
    );
    starts_with(
        &error(markdown("---\n- a\n---\n")),
        "a.md:2:1: error: Failed to parse agent frontmatter: expected fields, but found a list",
    );
}

/// A12, A13
#[test]
fn missing_keys_are_all_reported() {
    let rejected = markdown("---\ntools: [read]\n---\n").unwrap_err();
    let messages: Vec<_> = rejected.errors().map(|notice| notice.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "Failed to parse agent frontmatter: missing field `name`",
            "Failed to parse agent frontmatter: missing field `description`"
        ]
    );
    let rejected = markdown("---\n---\n").unwrap_err();
    assert_eq!(rejected.errors().count(), 2);
}

/// A19, A20, CF-6: there is no agent without its reasons, and no agent that was not validated.
#[test]
fn what_cannot_be_read_is_a_value_that_says_why() {
    let rejected = markdown("---\nname: [a]\ndescription: b\ntemperature: 3\n---\n").unwrap_err();
    let fields: Vec<_> = rejected.errors().map(|notice| notice.field.as_deref()).collect();
    assert_eq!(fields, [Some("name"), Some("temperature")]);
    let shown: &dyn std::error::Error = &rejected;
    starts_with(&shown.to_string(), "a.md:2:7: error: `name` must be text, but is a list");
}

/// DF-1
#[test]
fn marks_in_front_and_all_line_ends_are_read() {
    let text = "---\nname: a\ndescription: b\n---\nOne.\nTwo.\n";
    let expected = markdown(text).unwrap().agent;
    for variant in [format!("\u{feff}{text}"), text.replace('\n', "\r\n"), text.replace('\n', "\r")] {
        assert_eq!(markdown(&variant).unwrap().agent, expected, "{variant:?}");
    }
    let place = error(markdown(&text.replace("name: a", "name: a b").replace('\n', "\r")));
    starts_with(&place, "a.md:2:7: error: `a b` cannot be the name of an agent");
}
