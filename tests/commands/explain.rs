//! `palisade explain`: what an agent may do, in one stable form.
#![expect(clippy::unwrap_used, reason = "a value that is not there fails the test")]

use serde_json::{Value, json};

use crate::world::World;

fn names(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn explain(world: &World, arguments: &[&str]) -> Value {
    world.palisade(&[&["explain", "--json"], arguments].concat()).with_code(0).json()
}

fn decisions(explanation: &Value) -> Vec<&str> {
    explanation["calls"].as_array().unwrap().iter().map(|call| call["decision"].as_str().unwrap()).collect()
}

/// The part of JSON Schema that the contract uses.
fn check(value: &Value, schema: &Value, at: &str) {
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    assert!(types.is_empty() || types.contains(&kind), "{at} is {kind}, not one of {types:?}");
    if let Some(allowed) = schema["enum"].as_array() {
        assert!(allowed.contains(value), "{at} is {value}");
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(value.get(name.as_str().unwrap()).is_some(), "{at} has no {name}");
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        match &schema["properties"][name] {
            Value::Null if schema["additionalProperties"].is_object() => {
                check(member, &schema["additionalProperties"], &format!("{at}.{name}"));
            }
            Value::Null => assert!(schema["properties"].is_null(), "{at}.{name} is not in the schema"),
            schema => check(member, schema, &format!("{at}.{name}")),
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        check(item, &schema["items"], &format!("{at}[{index}]"));
    }
}

#[test]
fn the_json_is_what_the_schema_in_the_docs_says() {
    let schema: Value = serde_json::from_str(include_str!("../../docs/explain.schema.json")).unwrap();
    let world = World::new();
    for agent in ["explore", "general", "plan", "verification", "review"] {
        let explanation = explain(&world, &[agent, "--call", r#"read {"path": "a"}"#]);
        check(&explanation, &schema, agent);
    }
}

/// P1, P2, P5, P6, P11, X6
#[test]
fn explore_and_plan_read_and_nothing_else() {
    let world = World::new();
    for (agent, shell) in [("explore", Some("bash")), ("plan", None)] {
        let explanation = explain(&world, &[agent]);
        assert_eq!(explanation["source"], "builtin");
        assert_eq!(explanation["grants"]["files"], json!([{ "path": ".", "access": "read" }]));
        let tools: Vec<&str> = shell.into_iter().chain(["glob", "grep", "ls", "read", "think", "tree"]).collect();
        assert_eq!(names(&explanation["tools"]), tools);
        assert!(names(&explanation["excluded"]).contains(&"write"));
    }
}

/// A1, A31, B14, E16
#[test]
fn a_definition_in_a_folder_is_explained_without_a_model_or_a_network() {
    let world = World::new();
    world.add(
        "agents/code-reviewer.md",
        "---\nname: code-reviewer\ndescription: Reviews code.\nmodel: anthropic:sonnet # fast\n\
         tools: Read, Grep, Glob, Bash\ntimeout: 600\n---\nReview it.\n\n{{task}}\n",
    );
    let explanation = explain(&world, &["code-reviewer", "--agents-dir", "agents"]);
    assert_eq!(explanation["source"], "configured");
    assert_eq!(explanation["model"], "anthropic:sonnet");
    assert_eq!(names(&explanation["tools"]), ["bash", "glob", "grep", "read"]);
    assert_eq!(explanation["budget"]["time"], 600);
    // Nobody who asks for a shell without saying more asks for one that writes nothing.
    assert_eq!(explanation["grants"]["files"][0], json!({ "path": ".", "access": "read-write" }));
    assert_eq!(explanation["base_key"], "agent-code-reviewer");
}

/// F5, F6, F7, DF-13, DF-14, DF-17
#[test]
fn calls_are_decided_with_their_arguments() {
    let world = World::new();
    let explanation = explain(
        &world,
        &[
            "explore",
            "--call",
            r#"read {"path": "src/main.rs"}"#,
            "--call",
            r#"Write {"path": "a", "content": ""}"#,
            "--call",
            r#"nonsense {}"#,
            "--call",
            r#"Bash {"command": "ls -la | wc -l 2>&1"}"#,
            "--call",
            r#"bash {"command": "ls; rm -rf x"}"#,
            "--call",
            r#"bash {"command": "lsof"}"#,
        ],
    );
    assert_eq!(decisions(&explanation), ["allow", "deny", "deny", "allow", "deny", "deny"]);
    world.add(
        "agents/careful.md",
        "---\nname: careful\ndescription: d\npermissions:\n  allow: [read, \"Edit(src/**)\"]\n  \
         deny: [\"Read(secrets/**)\"]\n  ask: [\"Edit(src/main.rs)\"]\n---\n",
    );
    let explanation = explain(
        &world,
        &[
            "careful",
            "--agents-dir",
            "agents",
            "--call",
            r#"read {"path": "src/../secrets/key"}"#,
            "--call",
            r#"edit {"path": "src/a.rs"}"#,
            "--call",
            r#"edit {"path": "src/main.rs"}"#,
            "--call",
            r#"edit {"path": "src/../Cargo.toml"}"#,
        ],
    );
    assert_eq!(decisions(&explanation), ["deny", "allow", "ask", "deny"]);
    assert_eq!(
        explanation["grants"]["files"],
        json!([
            { "path": ".", "access": "read-write" },
            // Where its definition came from is not for it to change.
            { "path": "/agents/**", "access": "read" },
            { "path": "secrets/**", "access": "none" },
        ])
    );
}

/// E1, E3, E4, E22, G6, G8, D12, CF-22
#[test]
fn tools_of_plugins_go_to_whom_they_belong() {
    let world = World::new();
    world.add(
        "plugins/database/plugin.json",
        json!({
            "name": "database", "version": "1.0.0", "description": "d",
            "tools": [
                { "name": "query_db", "description": "q", "command": "node", "args": ["q.js"] },
                { "name": "execute_sql", "description": "e", "command": "node", "required_agent": "database-agent" },
            ],
            "agents": [{ "name": "database-agent", "description": "d", "system_prompt_file": "agent.md" }],
        })
        .to_string(),
    );
    world.add("plugins/database/agent.md", "You look after the database.");
    world.add(
        "plugins/lists/plugin.json",
        json!({ "name": "lists", "tools": [{ "name": "todo_add", "description": "t" }] }).to_string(),
    );
    world.add("agents/anybody.md", "---\nname: anybody\ndescription: d\n---\n");
    let places = ["--plugins-dir", "plugins", "--agents-dir", "agents"];
    let own = explain(&world, &[&["database-agent"], &places[..]].concat());
    assert_eq!(own["plugin"], "database");
    let tools = names(&own["tools"]);
    assert!(tools.contains(&"query_db") && tools.contains(&"execute_sql") && tools.contains(&"write"), "{tools:?}");
    assert!(!tools.contains(&"todo_add"), "{tools:?}");
    let anybody = explain(&world, &[&["anybody"], &places[..]].concat());
    assert!(names(&anybody["tools"]).contains(&"todo_add"));
    let sql = anybody["excluded"].as_array().unwrap().iter().find(|tool| tool["name"] == "execute_sql").unwrap();
    assert_eq!(sql["reason"], "Tool 'execute_sql' requires agent 'database-agent' but current agent is 'anybody'");
    // Another agent of that name is not that agent.
    world.add("agents/database-agent.md", "---\nname: database-agent\ndescription: d\n---\n");
    let impostor = explain(&world, &[&["database-agent"], &places[..]].concat());
    assert_eq!(impostor["source"], "configured");
    assert_eq!(impostor["shadows"][0]["source"], "plugin:database");
    assert!(names(&impostor["excluded"]).contains(&"execute_sql"));
}

#[test]
fn what_is_wrong_with_the_question_is_said() {
    let world = World::new();
    let error = world.palisade(&["explain", "nobody"]).with_code(1).stderr;
    assert!(error.contains("there is no agent `nobody`; there are explore, general"), "{error}");
    let error = world.palisade(&["explain", "explore", "--call", "read {"]).with_code(2).stderr;
    assert!(error.contains("the input of `read` is not JSON"), "{error}");
    let error = world.palisade(&["explain", "explore", "--config", "missing.json"]).with_code(1).stderr;
    assert!(error.contains("missing.json"), "{error}");
}

#[test]
fn people_get_a_table() {
    let world = World::new();
    let text = world.palisade(&["explain", "explore", "--call", r#"write {"path": "x"}"#]).with_code(0).stdout;
    for part in ["explore", "Tools", "grep", "Not there", "denied by `write`", "Grants", ". read", "Budget", "deny"] {
        assert!(text.contains(part), "no {part} in:\n{text}");
    }
}

#[test]
fn the_budget_is_the_one_of_a_run() {
    let world = World::new();
    world.add_agent("plain", "---\nname: plain\ndescription: d\n---\nx\n");
    world.configure("[budget]\nsteps = 7\ncost = 1.5\n");
    world.add(".palisade/config.toml", "[budget]\ntokens = 900\n");
    let budget = &explain(&world, &["plain"])["budget"];
    assert_eq!(
        (&budget["steps"], &budget["tokens"], &budget["cost_micros"]),
        (&7.into(), &900.into(), &1_500_000.into())
    );
    let listed = world.palisade(&["agents", "list", "--json"]).with_code(0).json();
    let plain = listed.as_array().unwrap().iter().find(|agent| agent["name"] == "plain").unwrap();
    assert_eq!(&plain["budget"], budget);
}

#[test]
fn a_call_that_cannot_be_read_is_wrong_usage() {
    for call in ["", "read {", "read []"] {
        let ended = World::new().palisade(&["explain", "explore", "--call", call]).with_code(2);
        assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
    }
}
