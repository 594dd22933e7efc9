//! Configuration files.

use palisade_agent::{Exposure, ModelName};
use palisade_grants::{Access, FilesGrant, Identity};

use super::*;

const ASSISTANT: &str = r#"{
  "agents": [
    {
      "agentId": "reading-list",
      "displayName": "Reading List Manager",
      "systemPrompt": "You are a reading list manager.",
      "toolAllowlist": ["reading_list_*"],
      "toolDenylist": ["reading_list_delete"],
      "toolExposure": "mixed",
      "skillAllowlist": ["notes"],
      "capabilityAllowlist": ["lists.*"],
      "capabilityDenylist": ["lists.write"],
      "agentAllowlist": ["todo", "journal"],
      "uiVisible": true,
      "apiExposed": false
    },
    {
      "agentId": "todo",
      "displayName": "Todo Manager",
      "systemPrompt": "You are a todo list manager.",
      "toolAllowlist": ["todo_*"],
      "uiVisible": true
    },
    {
      "agentId": "journal",
      "displayName": "Personal Journal",
      "systemPrompt": "You are a personal journal assistant.",
      "toolAllowlist": ["journal_*"],
      "uiVisible": true
    },
    {
      "agentId": "general",
      "displayName": "General Assistant",
      "systemPrompt": "You are a helpful general assistant.",
      "toolAllowlist": null,
      "uiVisible": true
    }
  ]
}"#;

fn config(text: &str) -> Result<Config, Rejected> {
    let source = Source {
        file: "config.json",
        origin: Origin::file(Layer::Configured, "config.json"),
        description: Presence::Optional,
        ..source()
    };
    parse_config(text.as_bytes(), &source)
}

fn failure(text: &str) -> String {
    config(text).expect_err("it was read").to_string()
}

/// A3, A32, B2, B3, B5, B16, B17, B18, B19, B20, B23, B24, B34, CF-4
#[test]
fn the_configuration_of_four_agents_loads() {
    let Config { agents, settings, warnings } = config(ASSISTANT).unwrap();
    assert_eq!((settings, warnings), (ConfigSettings::default(), Vec::new()));
    let names: Vec<_> = agents.iter().map(|parsed| (parsed.agent.name.as_str(), parsed.agent.display_name())).collect();
    assert_eq!(
        names,
        [
            ("reading-list", "Reading List Manager"),
            ("todo", "Todo Manager"),
            ("journal", "Personal Journal"),
            ("general", "General Assistant")
        ]
    );
    for Parsed { agent, warnings } in &agents {
        assert_eq!((agent.description.as_str(), warnings.len()), ("", 0));
        assert_eq!(agent.origin, Origin::file(Layer::Configured, "config.json"));
        starts_with(agent.prompt.as_deref().unwrap(), "You are a ");
    }
    let [reading, .., general] = &agents[..] else { panic!("four agents") };
    assert!(reading.agent.scope.names.permit("reading_list_add"));
    assert!(!reading.agent.scope.names.permit("reading_list_delete"));
    assert!(!reading.agent.scope.capabilities.permit("lists.write"));
    assert!(reading.agent.skill_lists.permit("notes") && reading.agent.peers.permit("todo"));
    assert_eq!(reading.agent.exposure, Exposure::Mixed);
    assert_eq!(general.agent.scope.names.allow, None);
}

/// B33, W10
#[test]
fn model_temperature_and_tokens_may_be_configured() {
    let text = r#"{ "agents": [{ "agentId": "a", "model": "openai:gpt-4o", "temperature": 0, "maxTokens": 100 }] }"#;
    let agent = &config(text).unwrap().agents[0].agent;
    assert_eq!(agent.model.as_ref().unwrap().to_string(), "openai:gpt-4o");
    assert_eq!((agent.temperature, agent.max_tokens), (Some(0.0), Some(100)));
}

/// CF-1
#[test]
fn two_agents_of_one_name_are_an_error() {
    let text = "{ \"agents\": [\n  { \"agentId\": \"a\" },\n  { \"name\": \"a\" }\n] }";
    starts_with(&failure(text), "config.json:3:3: error: there are two agents called `a`");
}

/// A11, A12
#[test]
fn an_agent_without_a_name_is_an_error_at_its_place() {
    starts_with(
        &failure("{ \"agents\": [\n  {}\n] }"),
        "config.json:2:3: error: Failed to parse configuration: missing field `name`",
    );
    starts_with(
        &failure("{ \"agents\": [{ \"agentId\": \" \" }] }"),
        "config.json:1:27: error: Agent name is required",
    );
    starts_with(
        &failure("{ \"agents\": [{ \"agentId\": 7 }] }"),
        "config.json:1:27: error: `agents[0].agentId` must be text, but is the number 7; put it in quotes",
    );
    starts_with(&failure("{ \"agents\": [7] }"), "config.json:1:14: error: `agents[0]` must be a map");
    starts_with(&failure("{ \"agents\": {} }"), "config.json:1:13: error: `agents` must be a list");
}

/// CF-1, CF-11, CF-13
#[test]
fn the_other_settings_are_read_in_both_spellings() {
    let text = r#"{
      "$schema": "https://example.com/schema.json",
      "agent_dirs": ["a", "b"], "compatDirs": [".claude/agents"], "plugins_dir": "plugins",
      "allow_user_agents": false, "allowProjectAgents": true,
      "ceiling": { "files": { ".": "read-write" } }, "projectCeiling": { "files": { ".": "read" } },
      "binding_overrides": ["database-tools/database-agent"], "disabled_plugins": ["x"],
      "plugins": { "agents": { "enabled": false }, "notes": { "enabled": true, "own": 1 }, "lists": {} },
      "model": "anthropic:sonnet", "agents": null
    }"#;
    let Config { agents, settings, warnings } = config(text).unwrap();
    assert_eq!((agents.len(), warnings), (0, Vec::new()));
    let grants = |access| palisade_grants::Grants { files: FilesGrant::workspace(access), ..Default::default() };
    let expected = ConfigSettings {
        agent_dirs: vec!["a".to_owned(), "b".to_owned()],
        compat_dirs: vec![".claude/agents".to_owned()],
        plugins_dir: Some("plugins".to_owned()),
        allow_user_agents: Some(false),
        allow_project_agents: Some(true),
        ceiling: Some(grants(Access::ReadWrite)),
        project_ceiling: Some(grants(Access::Read)),
        binding_overrides: vec![Identity {
            plugin: Some("database-tools".to_owned()),
            name: "database-agent".to_owned(),
        }],
        disabled_plugins: vec!["agents".to_owned(), "x".to_owned()],
        model: ModelName::parse("anthropic:sonnet"),
    };
    assert_eq!(settings, expected);
}

#[test]
fn a_setting_that_holds_something_back_is_never_overlooked() {
    starts_with(
        &failure(r#"{ "celing": {} }"#),
        "config.json:1:3: error: `celing` is unknown, and without it agents might do more than is meant; did you mean `ceiling`?",
    );
    starts_with(&failure(r#"{ "deny_hosts": [] }"#), "config.json:1:3: error: `deny_hosts` is unknown");
    starts_with(
        &failure(r#"{ "allow_user_agents": "no" }"#),
        "config.json:1:24: error: `allow_user_agents` must be true or false",
    );
    starts_with(
        &failure(r#"{ "ceiling": { "files": { "..": "read" } } }"#),
        "config.json:1:33: error: `ceiling.files...` cannot be read",
    );
    starts_with(
        &failure(r#"{ "binding_overrides": ["db"] }"#),
        "config.json:1:24: error: `db` in `binding_overrides` names no agent of a plugin",
    );
    starts_with(
        &failure(r#"{ "agent_dirs": [], "agentDirs": [] }"#),
        "config.json:1:21: error: `agent_dirs` and `agentDirs` are the same field",
    );
    let other = config(r#"{ "theme": "dark" }"#).unwrap();
    assert_eq!(other.warnings[0].to_string(), "config.json:1:3: warning: `theme` has no effect here");
}

#[test]
fn everything_wrong_in_a_configuration_comes_out_at_once() {
    let text = "{\n  \"theme\": 1,\n  \"agents\": [\n    { \"agentId\": \"a b\", \"color\": \"red\" },\n    { \"agentId\": \"c\", \"temperature\": 2 }\n  ]\n}";
    let places: Vec<_> =
        config(text).unwrap_err().notices.iter().map(|notice| (notice.severity, notice.line)).collect();
    assert_eq!(
        places,
        [
            (Severity::Warning, Some(2)),
            (Severity::Error, Some(4)),
            (Severity::Warning, Some(4)),
            (Severity::Error, Some(5))
        ]
    );
    // The warnings about an agent stay with it.
    let parsed = config(r#"{ "agents": [{ "agentId": "a", "color": "red" }] }"#).unwrap();
    assert_eq!((parsed.warnings.len(), parsed.agents[0].warnings.len()), (0, 1));
}
