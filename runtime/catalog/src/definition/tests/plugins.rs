//! Plugin manifests.

use palisade_agent::{ModelName, ReasoningEffort};
use palisade_grants::Rule;
use serde_json::json;

use super::*;

fn manifest(text: &str) -> Manifest {
    parse_manifest(text.as_bytes(), "plugin.json").unwrap_or_else(|rejected| panic!("{rejected}"))
}

fn warnings(manifest: &Manifest) -> Vec<String> {
    manifest.warnings.iter().map(Notice::to_string).collect()
}

pub(super) fn with_agents(agents: &str) -> Manifest {
    manifest(&format!("{{ \"name\": \"p\", \"agents\": [{agents}] }}"))
}

fn with_tools(tools: &str) -> Manifest {
    manifest(&format!("{{ \"name\": \"p\", \"tools\": [{tools}] }}"))
}

/// A4, D1, D2, D3, D12, CF-15
#[test]
fn a_manifest_has_tools_and_agents() {
    let text = r#"{
      "name": "database-tools", "version": "1.0.0", "description": "Databases",
      "tools": [
        { "name": "execute_sql", "description": "Execute SQL queries", "required_agent": "database-agent",
          "command": "python3", "args": ["sql.py", ""], "schema": { "type": "object" } },
        { "name": "explain", "component": "tools/explain.wasm", "capabilities": ["db.read"], "visible_to": ["database-agent"] }
      ],
      "agents": [{ "name": "database-agent", "description": "SQL expert and query optimizer",
        "system_prompt_file": "./agents/database-agent.md", "model": "claude-3-5-sonnet-20241022", "temperature": 0.2,
        "reasoning_effort": "high", "tools": ["read", "execute_sql"] }]
    }"#;
    let expected = Manifest {
        name: "database-tools".to_owned(),
        version: Some("1.0.0".to_owned()),
        description: Some("Databases".to_owned()),
        tools: vec![
            ManifestTool {
                name: "execute_sql".to_owned(),
                description: "Execute SQL queries".to_owned(),
                schema: Some(json!({ "type": "object" })),
                command: Some("python3".to_owned()),
                args: vec!["sql.py".to_owned(), String::new()],
                required_agent: Some("database-agent".to_owned()),
                ..ManifestTool::default()
            },
            ManifestTool {
                name: "explain".to_owned(),
                component: Some("tools/explain.wasm".to_owned()),
                capabilities: vec!["db.read".to_owned()],
                visible_to: Some(vec!["database-agent".to_owned()]),
                ..ManifestTool::default()
            },
        ],
        agents: vec![ManifestAgent {
            name: "database-agent".to_owned(),
            description: Some("SQL expert and query optimizer".to_owned()),
            system_prompt_file: "agents/database-agent.md".to_owned(),
            model: ModelName::parse("claude-3-5-sonnet-20241022"),
            temperature: Some(0.2),
            reasoning_effort: Some(ReasoningEffort::High),
            tools: Some(vec![Rule::parse("read").unwrap(), Rule::parse("execute_sql").unwrap()]),
        }],
        warnings: Vec::new(),
    };
    assert_eq!(manifest(text), expected);
}

#[test]
fn a_tool_names_a_function_hosts_and_secrets() {
    let asks = with_tools(
        r#"{ "name": "time", "component": "clock.wasm", "function": "example:clock/times@0.1.0#get-time",
             "hosts": ["API.example.com", "GET,POST *.example.org:8443"], "secrets": ["API_KEY"] },
           { "name": "plain", "component": "clock.wasm", "function": "get-time" }"#,
    );
    let [time, plain] = &asks.tools[..] else { panic!("two tools: {:?}", asks.tools) };
    assert_eq!(time.function.as_deref(), Some("example:clock/times@0.1.0#get-time"));
    assert_eq!(time.hosts, ["api.example.com", "GET,POST *.example.org:8443"]);
    assert_eq!(time.secrets, ["API_KEY"]);
    assert_eq!((plain.function.as_deref(), plain.hosts.len(), asks.warnings.len()), (Some("get-time"), 0, 0));
}

#[test]
fn what_cannot_be_asked_for_is_not_asked_for() {
    let asks = with_tools(r#"{ "name": "a", "hosts": ["https://a/b", "example.com"], "secrets": ["a b"] }"#);
    assert_eq!((&asks.tools[0].hosts[..], asks.tools[0].secrets.len()), (&["example.com".to_owned()][..], 0));
    assert!(warnings(&asks).iter().any(|text| text.contains("`https://a/b` is no host")), "{:?}", warnings(&asks));
    assert!(warnings(&asks).iter().any(|text| text.contains("`a b` is no name")), "{:?}", warnings(&asks));
    for bad in ["", "#", "a#", "a b", "a_b#c d", "../x"] {
        let asks = with_tools(&format!(r#"{{ "name": "a", "component": "a.wasm", "function": "{bad}" }}"#));
        assert_eq!(asks.tools.len(), 0, "{bad}");
    }
}

/// D19, D2
#[test]
fn a_manifest_may_have_a_name_and_agents_alone() {
    let text = r#"{
      "name": "database-tools",
      "agents": [{
        "name": "database-agent",
        "description": "SQL expert and query optimizer",
        "system_prompt_file": "database-agent.md",
        "model": "claude-3-5-sonnet-20241022",
        "temperature": 0.2
      }]
    }"#;
    let manifest = manifest(text);
    assert_eq!((manifest.version, manifest.description, manifest.tools.len()), (None, None, 0));
    assert_eq!((manifest.agents.len(), manifest.warnings), (1, Vec::new()));
}

/// D4, D12
#[test]
fn a_manifest_may_be_without_agents_and_without_tools() {
    for text in
        [r#"{ "name": "p" }"#, r#"{ "name": "p", "agents": [] }"#, r#"{ "name": "p", "agents": null, "tools": [] }"#]
    {
        let manifest = manifest(text);
        assert_eq!((manifest.agents.len(), manifest.tools.len(), manifest.warnings.len()), (0, 0, 0));
    }
    let before =
        r#"{ "name": "my-plugin", "tools": [{ "name": "my_tool", "command": "python3", "args": ["tool.py"] }] }"#;
    assert_eq!((manifest(before).tools.len(), manifest(before).warnings.len()), (1, 0));
}

/// D5, Q3
#[test]
fn of_two_agents_of_one_name_the_first_is_kept() {
    let manifest = with_agents(
        r#"{ "name": "a", "system_prompt_file": "1.md" }, { "name": "a", "system_prompt_file": "2.md" }, { "name": "b", "system_prompt_file": "3.md" }"#,
    );
    let files: Vec<_> = manifest.agents.iter().map(|agent| agent.system_prompt_file.as_str()).collect();
    assert_eq!(files, ["1.md", "3.md"]);
    assert_eq!(warnings(&manifest).len(), 1);
    assert!(
        warnings(&manifest)[0].contains("warning: Duplicate agent name 'a' in plugin 'p'"),
        "{:?}",
        manifest.warnings
    );
}

/// D6, Q3, DF-10
#[test]
fn an_entry_without_what_it_needs_is_left_out_before_names_are_compared() {
    let manifest = with_agents(
        r#"{}, {}, { "name": "a" }, { "system_prompt_file": "1.md" }, { "name": "", "system_prompt_file": "" }, { "name": 1, "system_prompt_file": "1.md" }, 7, { "name": "b", "system_prompt_file": "b.md" }"#,
    );
    assert_eq!(manifest.agents.len(), 1);
    assert_eq!(manifest.warnings.len(), 7);
    for warning in &manifest.warnings {
        assert_eq!(
            (warning.severity, warning.message.as_str()),
            (Severity::Warning, "Invalid agent in plugin 'p': missing required fields")
        );
    }
    assert_eq!(manifest.warnings[2].fix.as_deref(), Some("add `system_prompt_file`"));
}

/// DF-2, DF-8
#[test]
fn a_path_that_leaves_the_plugin_takes_its_entry_with_it_and_no_more() {
    for path in [
        "../x.md",
        "/etc/passwd",
        "a/../../x.md",
        "~/x.md",
        "$HOME/x.md",
        "C:\\\\x.md",
        "a\\\\b.md",
        "https://x",
        ".",
        "a\\u0001b",
    ] {
        let manifest = with_agents(&format!(
            r#"{{ "name": "a", "system_prompt_file": "{path}" }}, {{ "name": "b", "system_prompt_file": "b.md" }}"#
        ));
        assert_eq!(manifest.agents.len(), 1, "{path}");
        assert!(
            manifest.warnings[0]
                .message
                .starts_with("Invalid agent in plugin 'p': `system_prompt_file` must be a path inside the plugin: "),
            "{:?}",
            manifest.warnings
        );
    }
    let tools = with_tools(r#"{ "name": "a", "component": "../x.wasm" }, { "name": "b" }"#);
    assert_eq!((tools.tools.len(), tools.warnings.len()), (1, 1));
}

/// DF-22
#[test]
fn tools_that_are_repeated_or_take_the_hosts_names_are_left_out() {
    let manifest = with_tools(
        r#"{ "name": "a" }, { "name": "A" }, { "name": "system_x" }, { "name": "x y" }, {}, { "description": "x" }"#,
    );
    assert_eq!(manifest.tools.len(), 1);
    let messages: Vec<_> = manifest.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "Duplicate tool name 'a' in plugin 'p'",
            "Invalid tool in plugin 'p': names that begin with `system_` belong to the host",
            "Invalid tool in plugin 'p': `x y` cannot be the name of a tool",
            "Invalid tool in plugin 'p': missing required fields",
            "Invalid tool in plugin 'p': missing required fields",
        ]
    );
}

/// D3, CFG-05, CFG-06
#[test]
fn an_entry_whose_restriction_cannot_be_read_is_left_out() {
    for tool in [
        r#""required_agent": 7"#,
        r#""required_agent": "a b""#,
        r#""visible_to": 7"#,
        r#""visible_to": [7]"#,
        r#""allowed_agents": []"#,
    ] {
        let manifest = with_tools(&format!(r#"{{ "name": "a", {tool} }}, {{ "name": "b" }}"#));
        assert_eq!((manifest.tools.len(), manifest.warnings.is_empty()), (1, false), "{tool}");
    }
    for agent in
        [r#""tools": 7"#, r#""toolDenylist": ["x"]"#, r#""permissions": {}"#, r#""toolz": []"#, r#""temperature": 7"#]
    {
        let manifest = with_agents(&format!(r#"{{ "name": "a", "system_prompt_file": "a.md", {agent} }}"#));
        assert_eq!((manifest.agents.len(), manifest.warnings.is_empty()), (0, false), "{agent}");
    }
    let more =
        with_agents(r#"{ "name": "a", "system_prompt_file": "a.md", "max_steps": 3, "color": "red", "usage": 1 }"#);
    assert_eq!((more.agents.len(), more.warnings.len()), (1, 3));
}

/// CFG-04
#[test]
fn what_a_manifest_says_twice_is_refused_wherever_it_says_it() {
    for (text, key) in [
        (r#"{ "name": "p", "tools": [], "tools": [{ "name": "a" }] }"#, "tools"),
        (r#"{ "name": "p", "tools": [{ "name": "a", "name": "b" }] }"#, "name"),
        (r#"{ "name": "p", "tools": [{ "name": "a", "hosts": ["a.test"], "hosts": ["evil.test"] }] }"#, "hosts"),
        (
            r#"{ "name": "p", "tools": [{ "name": "a", "required_agent": "x", "required_agent": "y" }] }"#,
            "required_agent",
        ),
        (r#"{ "name": "p", "tools": [{ "name": "a", "schema": { "type": "object", "type": "string" } }] }"#, "type"),
        (r#"{ "name": "p", "n\u0061me": "q" }"#, "name"),
    ] {
        let error = parse_manifest(text.as_bytes(), "plugin.json").unwrap_err().to_string();
        assert!(error.contains(&format!("the key `{key}` is there twice")), "{text}: {error}");
    }
}

/// CFG-07
#[test]
fn only_names_that_everybody_reads_alike_are_names_of_plugins_and_tools() {
    let long = "a".repeat(101);
    for name in [
        ".",
        "..",
        "a b",
        "a/b",
        "a.b",
        "a:b",
        "-a",
        "_a",
        "\u{435}xplore",
        "a\u{200b}b",
        "a\u{202e}b",
        "\u{ff41}",
        "a\u{301}",
        "a\nb",
        "a\0b",
        &long,
    ] {
        let quoted = serde_json::to_string(name).unwrap();
        assert!(parse_manifest(format!("{{ \"name\": {quoted} }}").as_bytes(), "plugin.json").is_err(), "{name:?}");
        let parsed = with_tools_or_none(&format!("{{ \"name\": {quoted} }}, {{ \"name\": \"fine\" }}"));
        assert!(parsed.is_none_or(|names| names == ["fine"]), "{name:?}");
    }
    assert_eq!(with_tools_or_none(r#"{ "name": "Fine-2_x" }"#).unwrap(), ["Fine-2_x"], "the control");
}

fn with_tools_or_none(tools: &str) -> Option<Vec<String>> {
    let text = format!("{{ \"name\": \"p\", \"tools\": [{tools}] }}");
    let manifest = parse_manifest(text.as_bytes(), "plugin.json").ok()?;
    Some(manifest.tools.into_iter().map(|tool| tool.name).collect())
}

/// CFG-13: what looks like a variable is a text like any other, or no path at all.
#[test]
fn nothing_in_a_manifest_is_filled_in_from_the_environment() {
    // A variable that is set whenever this runs.
    let named = |text: &str| text.replace("VARIABLE", "CARGO_MANIFEST_DIR");
    let forms = named("${VARIABLE} $VARIABLE %VARIABLE% {{env:VARIABLE}} {{VARIABLE}} $(id) `id` ${VARIABLE:-x} ~");
    let text = json!({
        "name": "p", "version": forms, "description": forms,
        "tools": [
            { "name": "a", "description": forms, "component": "a.wasm", "schema": { "type": "object", "title": forms } },
            { "name": "b", "command": "${SHELL}", "args": [forms, "~"] },
        ],
        "agents": [{ "name": "x", "description": forms, "system_prompt_file": "x.md" }],
    });
    let manifest = manifest(&text.to_string());
    let printed = format!("{manifest:?}");
    assert!(!printed.contains(env!("CARGO_MANIFEST_DIR")), "{printed}");
    assert_eq!(manifest.description.as_ref(), Some(&forms));
    assert_eq!((&manifest.tools[0].description, &manifest.agents[0].description), (&forms, &Some(forms.clone())));
    assert_eq!(manifest.tools[0].schema, Some(json!({ "type": "object", "title": forms })));
    assert_eq!(
        (manifest.tools[1].command.as_deref(), &manifest.tools[1].args[..]),
        (Some("${SHELL}"), &[forms, "~".to_owned()][..])
    );
    // Where a path is meant, it is none, and takes its entry with it.
    for path in ["${VARIABLE}/a.wasm", "$VARIABLE", "~/a.wasm"].map(named) {
        let tools = with_tools(&json!({ "name": "a", "component": path }).to_string());
        assert_eq!((tools.tools.len(), tools.warnings.is_empty()), (0, false), "{path}");
        let agents = with_agents(&json!({ "name": "a", "system_prompt_file": path }).to_string());
        assert_eq!((agents.agents.len(), agents.warnings.is_empty()), (0, false), "{path}");
    }
    // Where only hosts and names of secrets can stand, it cannot stand.
    for wrong in [r#""hosts": ["${HOST}"]"#, r#""hosts": ["$HOST.example.com"]"#, r#""secrets": ["${API_KEY}"]"#] {
        let manifest = with_tools(&format!(r#"{{ "name": "a", "component": "a.wasm", {wrong} }}"#));
        let asked = manifest.tools.iter().map(|tool| tool.hosts.len() + tool.secrets.len()).sum::<usize>();
        assert_eq!((asked, manifest.warnings.is_empty()), (0, false), "{wrong}");
    }
}

/// CFG-07
#[test]
fn a_plugin_without_a_name_is_refused() {
    for text in
        ["{}", r#"{ "name": "" }"#, r#"{ "name": "a b" }"#, r#"{ "name": 7 }"#, r#"{ "name": "../x" }"#, "[]", "", "{"]
    {
        assert!(parse_manifest(text.as_bytes(), "plugin.json").is_err(), "{text}");
    }
    let broken = parse_manifest(b"{\n  \"name\": \"p\",\n}", "plugin.json").unwrap_err().to_string();
    starts_with(&broken, "plugin.json:3:1: error: Failed to parse plugin manifest: trailing comma");
    let twice = parse_manifest(b"{ \"name\": \"p\", \"name\": \"q\" }", "plugin.json").unwrap_err().to_string();
    starts_with(&twice, "plugin.json:1:16: error: Failed to parse plugin manifest: the key `name` is there twice");
}
