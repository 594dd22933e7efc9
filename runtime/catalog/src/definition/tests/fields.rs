//! What else a file says.

use std::time::Duration;

use palisade_agent::{CallLimits, Exposure, ModelName, ReasoningEffort, RunLimits, Runtime};
use palisade_grants::{Access, FilesGrant, WorkspacePath};
use serde_json::json;

use super::*;

fn model(provider: Option<&str>, model: &str) -> Option<ModelName> {
    Some(ModelName { provider: provider.map(str::to_owned), model: model.to_owned() })
}

/// B6, B7, B8, B9, CF-8
#[test]
fn a_model_is_a_text_or_a_map_or_the_parents() {
    let read = |text: &str| agent(&format!("model: {text}")).model;
    assert_eq!(read("openai:gpt-4o"), model(Some("openai"), "gpt-4o"));
    assert_eq!(read("openai/gpt-4o"), model(Some("openai"), "gpt-4o"));
    assert_eq!(read("qwen2.5-coder:32b"), model(None, "qwen2.5-coder:32b"));
    assert_eq!(
        read("{ model: claude-3-5-sonnet, provider: anthropic }"),
        model(Some("anthropic"), "claude-3-5-sonnet")
    );
    assert_eq!(read("{ model: anthropic:sonnet }"), model(Some("anthropic"), "sonnet"));
    assert_eq!(read("inherit"), None);
    assert_eq!(read("''"), None);
    assert_eq!(agent("").model, None);
}

/// B10, CF-8
#[test]
fn a_model_that_cannot_be_read_falls_back_with_a_warning() {
    for wrong in ["[a]", "{ provider: openai }", "{ model: [a] }"] {
        let Parsed { agent, warnings } = noted(&format!("model: {wrong}"));
        assert_eq!(agent.model, None);
        starts_with(&warnings[0].to_string(), "a.md:3:8: warning: `model` cannot be read as a model and falls back");
    }
}

/// B11, R5
#[test]
fn a_temperature_is_from_0_to_1() {
    for (text, expected) in [("0", 0.0), ("0.2", 0.2), ("1", 1.0), ("1.0", 1.0)] {
        assert_eq!(agent(&format!("temperature: {text}")).temperature, Some(expected));
    }
    for wrong in ["1.1", "-0.1", "2", ".nan", ".inf", "warm", "'0.2'", "[]", "true"] {
        let notices = notices(&format!("temperature: {wrong}"));
        starts_with(&notices[0], "a.md:3:14: error: `temperature` must be a number from 0.0 to 1.0, but is ");
        assert!(notices[0].ends_with("; for example `temperature: 0.2`"), "{notices:?}");
    }
}

/// B12, R5
#[test]
fn reasoning_effort_has_four_steps_and_those_of_others_are_read() {
    let read = |fields: &str| noted(fields).agent.reasoning_effort;
    assert_eq!(read("reasoning_effort: low"), Some(ReasoningEffort::Low));
    assert_eq!(read("reasoningEffort: medium"), Some(ReasoningEffort::Medium));
    assert_eq!(read("effort: high"), Some(ReasoningEffort::High));
    assert_eq!(read("reasoning-effort: inherit"), Some(ReasoningEffort::Inherit));
    for more in ["max", "xhigh", "32000"] {
        assert_eq!(read(&format!("effort: {more}")), Some(ReasoningEffort::High));
        assert_eq!(notices(&format!("effort: {more}")).len(), 1);
    }
    starts_with(&notices("effort: huge")[0], "a.md:3:9: error: `effort` must be `low`, `medium`, `high` or `inherit`");
}

/// B20, B21, B22
#[test]
fn exposure_and_what_carries_an_agent_out_are_read() {
    assert_eq!(agent("").exposure, Exposure::Tools);
    assert_eq!(agent("toolExposure: mixed").exposure, Exposure::Mixed);
    assert_eq!(agent("tool_exposure: skills").exposure, Exposure::Skills);
    starts_with(
        &notices("toolExposure: all")[0],
        "a.md:3:15: error: `toolExposure` must be `tools`, `skills` or `mixed`",
    );
    let chat = |provider: Option<&str>, settings: &[(&str, serde_json::Value)]| Runtime::Chat {
        provider: provider.map(str::to_owned),
        settings: settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
    };
    assert_eq!(agent("").runtime, Runtime::Unsaid);
    assert_eq!(agent("type: chat").runtime, chat(None, &[]));
    for provider in ["openai", "openai-compatible", "claude-cli", "codex-cli", "pi-cli"] {
        assert_eq!(agent(&format!("chat: {{ provider: {provider} }}")).runtime, chat(Some(provider), &[]));
    }
    assert_eq!(
        agent("chat: { provider: pi-cli, config: { extraArgs: [-x] } }").runtime,
        chat(Some("pi-cli"), &[("config", json!({ "extraArgs": ["-x"] }))])
    );
    let external = "external: { inputUrl: 'https://a.example/in', callbackBaseUrl: 'http://b.example' }";
    let expected = Runtime::External {
        input_url: "https://a.example/in".to_owned(),
        callback_base_url: "http://b.example".to_owned(),
    };
    assert_eq!(agent(&format!("type: external\n{external}")).runtime, expected);
    assert_eq!(agent(external).runtime, expected);
    starts_with(&notices("type: external")[0], "a.md:1:1: error: an agent of `type: external` needs `external`");
    starts_with(
        &notices(&format!("chat: {{}}\n{external}"))[0],
        "a.md:4:1: error: there are both `chat` and `external`",
    );
    starts_with(
        &notices(&format!("type: chat\n{external}"))[0],
        "a.md:4:1: warning: `external` has no effect with `type: chat`",
    );
    starts_with(
        &notices("external: { inputUrl: 'file:///x', callbackBaseUrl: 'http://b' }")[0],
        "a.md:3:11: error: `external` needs",
    );
}

/// B23, B24, B25, CF-9
#[test]
fn visibility_is_two_flags_and_an_old_one_without_effect() {
    let flags = |fields: &str| {
        let agent = agent(fields);
        (agent.hidden, agent.ui_visible, agent.api_exposed)
    };
    assert_eq!(flags(""), (false, true, false));
    assert_eq!(flags("hidden: true\nuiVisible: false\napiExposed: true"), (true, false, true));
    assert_eq!(flags("hidden: ~"), (false, true, false));
    starts_with(
        &notices("hidden: yes")[0],
        "a.md:3:9: error: `hidden` must be true or false, but is the text `yes`; write true or false",
    );
}

/// B26, B30, B31, B32
#[test]
fn a_file_cannot_say_what_loading_says() {
    for field in ["native: true", "_pluginName: db", "plugin: db", "source: builtin", "filePath: /x", "path: /x"] {
        let Parsed { agent, warnings } = noted(field);
        assert_eq!((agent.native, agent.origin.clone()), (false, Origin::file(Layer::User, "a.md")));
        assert!(agent.extra.is_empty());
        starts_with(&warnings[0].to_string(), "a.md:3:1: warning: ");
        assert!(warnings[0].message.ends_with("is set when a definition is loaded; a file cannot say it"));
    }
    assert!(!agent("native: false").native);
}

/// B27, B28, B33, CF-36, CF-38
#[test]
fn limits_and_budgets_have_units_and_short_forms() {
    for key in ["max_steps", "maxSteps", "max-steps", "maxTurns", "max_turns", "steps"] {
        assert_eq!(agent(&format!("{key}: 7")).budget.steps, Some(7), "{key}");
    }
    assert_eq!(agent("timeout: 600").budget.time, Some(Duration::from_secs(600)));
    assert_eq!(agent("timeout: 5m").budget.time, Some(Duration::from_secs(300)));
    assert_eq!(agent("timeout: 1.5").budget.time, Some(Duration::from_millis(1500)));
    assert_eq!(agent("maxTokens: 4096").max_tokens, Some(4096));
    assert_eq!(
        agent("budget: { steps: 20, tokens: 200000, calls: 9, cost: 1.25, time: 300s, depth: 0 }").budget,
        RunLimits {
            steps: Some(20),
            tokens: Some(200_000),
            calls: Some(9),
            cost: Some(1_250_000),
            time: Some(Duration::from_secs(300)),
            depth: Some(0)
        }
    );
    assert_eq!(
        agent("limits: { memory: 64MiB, callTime: 500ms, output: 256KiB, written: 0, created: 3, open_files: 8 }")
            .limits,
        CallLimits {
            memory: Some(64 << 20),
            call_time: Some(Duration::from_millis(500)),
            output: Some(256 << 10),
            written: Some(0),
            created: Some(3),
            open_files: Some(8),
        }
    );
    let Parsed { agent, warnings } = noted("max_steps: 30\nbudget: { steps: 20 }\ntimeout: 10");
    assert_eq!((agent.budget.steps, agent.budget.time), (Some(20), Some(Duration::from_secs(10))));
    starts_with(
        &warnings[0].to_string(),
        "a.md:3:12: warning: `max_steps` and `budget.steps` differ; the smaller one holds",
    );
    for wrong in [
        "max_steps: 0",
        "max_steps: -1",
        "max_steps: many",
        "max_steps: 99999999999",
        "timeout: 0",
        "timeout: -1",
        "timeout: soon",
        "maxTokens: 0",
    ] {
        assert!(notices(wrong)[0].starts_with("a.md:3:"), "{wrong}");
        assert!(notices(wrong)[0].contains("error:"), "{wrong}");
    }
    starts_with(
        &notices("limits: { memry: 1 }")[0],
        "a.md:3:11: error: `limits.memry` is unknown; did you mean `memory`?",
    );
    starts_with(&notices("limits: { memory: 64M }")[0], "a.md:3:19: error: `limits.memory` must be a number of bytes");
    starts_with(&notices("limits: { memory: 0 }")[0], "a.md:3:19: error: `limits.memory` must be above zero");
    starts_with(
        &notices("limits: { call_time: 1, callTime: 2 }")[0],
        "a.md:3:25: error: `limits.call_time` and `limits.callTime` are the same field",
    );
    starts_with(&notices("budget: 20")[0], "a.md:3:9: error: `budget` must be a map");
}

#[test]
fn grants_are_what_the_type_says_and_mistakes_are_pointed_at() {
    let files = |fields: &str| agent(&format!("grants: {{ files: {fields} }}")).grants.unwrap().files;
    let path = |path: &str| WorkspacePath::parse(path).unwrap();
    assert_eq!(files("{ '.': read }"), FilesGrant::workspace(Access::Read));
    assert_eq!(
        files("{ src: read-write, docs: read }"),
        FilesGrant::new([(path("src"), Access::ReadWrite), (path("docs"), Access::Read)])
    );
    assert_eq!(agent("grants: {}").grants, Some(palisade_grants::Grants::default()));
    assert_eq!(agent("grants: { storage: { bytes: 1024 } }").grants.unwrap().storage.unwrap().bytes, 1024);
    assert_eq!(agent("").grants, None);
    let wide = agent(
        "grants: { http: [api.github.com], commands: ['cargo test:*'], files: { '.': read-write, .env: none, '*.lock': read } }",
    );
    let json = serde_json::to_value(wide.grants.unwrap()).unwrap();
    assert_eq!((&json["http"], &json["commands"]), (&json!(["api.github.com"]), &json!(["cargo test:*"])));
    assert_eq!(json["files"], json!({ ".": "read-write", "*.lock": "read", ".env": "none" }));
    let check = |fields: &str, place: &str, part: &str| {
        let notices = notices(fields);
        starts_with(&notices[0], &format!("{place}: error: "));
        assert!(notices[0].contains(part), "{notices:?}");
    };
    check("grants: { files: { src: read, ../x: read } }", "a.md:3:37", "contains `..`");
    check("grants: { files: { /etc: read } }", "a.md:3:26", "is absolute");
    check("grants: { files: { src: write } }", "a.md:3:25", "`read-write`");
    check("grants: { files: { src: read, ./src: read-write } }", "a.md:3:31", "are the same folder");
    check("grants: { fils: {} }", "a.md:3:17", "unknown field `fils`");
    check("grants: { http: [api.example.com, 'a b'] }", "a.md:3:35", "`grants.http[1]` cannot be read");
    check("grants: { commands: cargo }", "a.md:3:21", "expected a sequence");
    check("grants: { files: { '*.lock': read-write } }", "a.md:3:30", "patterns only take away");
    check("grants: read", "a.md:3:9", "must be a map");
    check("grants: { storage: { bytes: -1 } }", "a.md:3:29", "cannot be read");
    starts_with(&notices("grants:")[0], "a.md:3:8: warning: `grants` is empty and counts as absent");
}

/// CF-18, CF-30
#[test]
fn skills_are_a_list_or_a_text_with_commas() {
    assert_eq!(agent("skills: [pdf, notes]").skills, ["pdf", "notes"]);
    assert_eq!(agent("skills: pdf, notes").skills, ["pdf", "notes"]);
    starts_with(&notices("skills: [1]")[0], "a.md:3:10: error: `skills[0]` must be a name");
}

/// CF-36
#[test]
fn two_spellings_of_one_field_must_agree() {
    let same = noted("max_steps: 3\nmaxTurns: 3");
    assert_eq!(same.agent.budget.steps, Some(3));
    assert_eq!(
        same.warnings[0].to_string(),
        "a.md:4:1: warning: `max_steps` and `maxTurns` are the same field; keep one of the two"
    );
    assert_eq!(
        notices("maxSteps: 3\nmaxTurns: 4"),
        ["a.md:4:1: error: `maxSteps` and `maxTurns` are the same field and differ; keep one of the two"]
    );
    assert_eq!(notices("tools: [read]\nallowedTools: [write]").len(), 1);
}

#[test]
fn fields_of_other_programs_are_kept_and_said_to_have_no_effect() {
    let fields = [
        "hooks",
        "mcpServers",
        "memory",
        "background",
        "isolation",
        "initialPrompt",
        "color",
        "autoCompactWindow",
        "omitClaudeMd",
        "observer",
        "mode",
    ];
    for field in fields {
        let Parsed { agent, warnings } = noted(&format!("{field}: {{ a: [1, 2.5, true, ~, x] }}"));
        assert_eq!(agent.extra[field], json!({ "a": [1, 2.5, true, null, "x"] }));
        let expected = format!("a.md:3:1: warning: `{field}` has no effect here");
        assert_eq!(warnings.iter().map(Notice::to_string).collect::<Vec<_>>(), [expected]);
        assert_eq!(warnings[0].field.as_deref(), Some(field));
    }
    let Parsed { agent, warnings } = noted("max_stepps: 3");
    assert_eq!((agent.budget.steps, &agent.extra["max_stepps"]), (None, &json!(3)));
    assert_eq!(
        warnings[0].to_string(),
        "a.md:3:1: warning: `max_stepps` has no effect here; did you mean `max_steps`?"
    );
}

#[test]
fn what_hides_from_the_eye_is_pointed_at() {
    starts_with(
        &notices("display_name: \"a\\u202Eb\"")[0],
        "a.md:3:15: warning: `display_name` holds the invisible character U+202E",
    );
    let parsed = markdown("---\nname: a\ndescription: b\n---\nDo it.\nx\u{e0041}y").unwrap();
    starts_with(&parsed.warnings[0].to_string(), "a.md:6:2: warning: the body holds the invisible character U+E0041");
}
