//! `palisade agents`.
#![expect(clippy::unwrap_used, reason = "a value that is not there fails the test")]

use serde_json::{Value, json};

use crate::world::World;

fn entry<'a>(list: &'a Value, name: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|agent| agent["name"] == name).unwrap_or_else(|| panic!("no {name} in {list}"))
}

/// P15, P11, P12, C2, C27, B32
#[test]
fn the_five_built_in_agents_are_listed_with_what_they_may_do() {
    let world = World::empty();
    let list = world.palisade(&["agents", "list", "--json"]).with_code(0).json();
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["explore", "general", "plan", "review", "verification"]);
    assert_eq!(entry(&list, "explore")["grants"], json!({ "files": { ".": "read" } }));
    assert_eq!(entry(&list, "general")["grants"], json!({ "files": { ".": "read-write" } }));
    let text = world.palisade(&["agents", "list"]).with_code(0).stdout;
    assert!(text.contains("files: . read-only"), "{text}");
}

/// C3, C6, CF-1
#[test]
fn what_overrides_what_is_told() {
    let world = World::new();
    world.add("../home/.palisade/agents/explore.md", "---\nname: explore\ndescription: mine\n---\nLook.\n");
    let list = world.palisade(&["agents", "list", "--json"]).with_code(0).json();
    let explore = entry(&list, "explore");
    assert_eq!((&explore["source"], &explore["description"]), (&json!("user"), &json!("mine")));
    assert_eq!(explore["shadows"], json!([{ "source": "builtin", "path": null }]));
    let text = world.palisade(&["agents", "list"]).with_code(0).stdout;
    assert!(text.contains("overrides: builtin"), "{text}");
}

/// DF-19, C19
#[test]
fn a_broken_file_is_an_error_and_never_another_agent() {
    let world = World::new();
    world.add("../home/.palisade/agents/explore.md", "---\nname: explore\ndescription: [\n---\n");
    let error = world.palisade(&["run", "explore", "what is this?"]).with_code(1).stderr;
    assert!(error.contains("Failed to parse agent frontmatter"), "{error}");
    let list = world.palisade(&["agents", "list", "--json"]).with_code(0).json();
    assert_eq!(entry(&list, "explore")["status"], "broken");
    assert_eq!(entry(&list, "general")["status"], "ok");
}

/// A18, B10, E23
#[test]
fn validate_says_what_is_wrong_where_and_how_to_mend_it() {
    let world = World::new();
    world.add(
        "agents/a.md",
        "---\nname: a\ndescription: d\nmax_stepps: 3\ntools: [read, raed]\npermissionMode: bypassPermissions\n---\nx\n",
    );
    world.add("agents/b.yaml", "name: b\ndescription: d\ntemperature: 7\n");
    let ended = world.palisade(&["agents", "validate", "agents"]).with_code(1);
    for part in ["agents/a.md:4:1: warning", "max_steps", "agents/a.md:6:", "agents/b.yaml:3:", "error"] {
        assert!(ended.stdout.contains(part), "no {part} in\n{}", ended.stdout);
    }
    let report = world.palisade(&["agents", "validate", "agents", "--json"]).with_code(1).json();
    assert_eq!(report["files"], 2);
    assert_eq!(report["errors"][0]["field"], "temperature");
    assert_eq!(report["errors"][0]["line"], 3);
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("there is no tool `raed`"), "{warnings}");
    world.add("good/c.md", "---\nname: c\ndescription: d\ntools: Read\n---\nx\n");
    let ended = world.palisade(&["agents", "validate", "good"]).with_code(0);
    assert!(ended.stderr.contains("1 file, 0 errors, 0 warnings"), "{}", ended.stderr);
}

/// C3, C22
#[test]
fn an_agent_of_the_project_runs_after_somebody_trusted_it_as_it_is() {
    let world = World::new();
    let definition = "---\nname: guide\ndescription: d\ntools: Read, Glob, Grep\n---\nLook.\n";
    world.add(".palisade/agents/guide.md", definition);
    let error = world.palisade(&["run", "guide", "what is a parcel?"]).with_code(1).stderr;
    assert!(error.contains("palisade agents trust guide"), "{error}");
    // To look at it is how one decides.
    let explanation = world.palisade(&["explain", "guide", "--json"]).with_code(0).json();
    assert!(explanation["warnings"].to_string().contains("not trusted"), "{explanation}");
    world.palisade(&["agents", "trust", "guide"]).with_code(0);
    world.palisade(&["run", "guide", "what is a parcel?"]).with_code(0);
    world.add(".palisade/agents/guide.md", definition.replace("Glob", "Write"));
    let error = world.palisade(&["run", "guide", "what is a parcel?"]).with_code(1).stderr;
    assert!(error.contains("changed since it was trusted"), "{error}");
    world.add(".palisade/agents/guide.md", definition);
    world.palisade(&["agents", "untrust", "guide"]).with_code(0);
    world.palisade(&["run", "guide", "what is a parcel?"]).with_code(1);
}

/// A22
#[test]
fn a_new_agent_is_written_shown_and_run() {
    let world = World::new();
    let written = world
        .palisade(&[
            "agents",
            "new",
            "scout",
            "--description",
            "Scouts.",
            "--tools",
            "Read, Grep, Bash(git log:*)",
            "--json",
        ])
        .with_code(0)
        .json();
    assert!(written["path"].as_str().unwrap().ends_with(".palisade/agents/scout.md"), "{written}");
    let shown = world.palisade(&["agents", "show", "scout"]).with_code(0).stdout;
    assert_eq!(Some(shown), world.read(".palisade/agents/scout.md"));
    world.palisade(&["run", "scout", "what is a parcel?"]).with_code(0);
    let error = world.palisade(&["agents", "new", "scout"]).with_code(1).stderr;
    assert!(error.contains("scout"), "{error}");
    world.palisade(&["agents", "new", "../evil"]).with_code(1);
    let copy = world.palisade(&["agents", "new", "look", "--from", "explore", "--user"]).with_code(0);
    assert!(copy.stdout.contains(".palisade/agents/look.md"), "{}", copy.stdout);
    let look = world.palisade(&["explain", "look", "--json"]).with_code(0).json();
    assert_eq!(look["source"], "user");
    assert_eq!(look["grants"]["files"], json!([{ "path": ".", "access": "read" }]));
}

/// A3, A32, B2, B3, B34, C4, C7
#[test]
fn agents_come_from_a_configuration_file_too() {
    let world = World::new();
    world.add("more/helper.yaml", "name: helper\ndescription: helps\n");
    let config = json!({
        "agents": [
            { "agentId": "general", "displayName": "General", "systemPrompt": "Help.", "toolAllowlist": null },
            { "agentId": "reader", "displayName": "Reader", "toolAllowlist": ["read", "g*"], "toolDenylist": ["glob"] },
        ],
        "agent_dirs": ["more"],
    });
    world.add("config.json", config.to_string());
    let list = world.palisade(&["agents", "list", "--config", "config.json", "--json"]).with_code(0).json();
    assert_eq!(entry(&list, "reader")["tools"], json!(["grep", "read"]));
    assert_eq!(entry(&list, "reader")["display_name"], "Reader");
    assert!(entry(&list, "general")["tools"].as_array().unwrap().contains(&json!("write")));
    assert_eq!(entry(&list, "general")["source"], "configured");
    assert_eq!(entry(&list, "helper")["source"], "configured");
}

/// CF-31, W2
#[test]
fn the_operator_sets_a_ceiling_that_no_project_file_rises_above() {
    let world = World::new();
    world.add(
        ".palisade/agents/writer.md",
        "---\nname: writer\ndescription: d\ngrants: { files: { \".\": read-write } }\n---\n",
    );
    world.add("config.json", json!({ "project_ceiling": { "files": { ".": "read" } } }).to_string());
    let explanation = world.palisade(&["explain", "writer", "--config", "config.json", "--json"]).with_code(0).json();
    assert_eq!(explanation["grants"]["files"], json!([{ "path": ".", "access": "read" }]));
}
