//! What a definition hides, as its agent's tools find it.

use serde_json::{Value, json};

use crate::world::{Ended, World};

const CANARY: &str = "canary-7d1f";

fn world() -> World {
    let world = World::new();
    let text = format!("parcels {CANARY}\n");
    for path in [".env", "secrets/token.txt", "secrets/inner/deep.txt"] {
        world.add(path, &text);
    }
    world.add(
        "../agents/careful.md",
        "---\nname: careful\ndescription: d\npermissions: {deny: [\"Read(secrets/**)\", \"Read(.env)\"], default: allow}\n---\nx\n",
    );
    world.add("../agents/careless.md", "---\nname: careless\ndescription: d\n---\nx\n");
    world
}

fn call(world: &World, agent: &str, tool: &str, input: &Value) -> Ended {
    let input = input.to_string();
    world.palisade(&["tools", "call", tool, "--agent", agent, "--agents-dir", "../agents", "--input", &input, "--json"])
}

/// Every search there is, over everything.
fn searches() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("grep", json!({ "pattern": "parcels", "path": "." }), "harbour.rs"),
        ("grep", json!({ "pattern": ".", "path": "." }), "harbour.rs"),
        ("glob", json!({ "pattern": "**/*" }), "harbour.rs"),
        ("tree", json!({ "path": "." }), "harbour.rs"),
        ("ls", json!({ "path": "." }), "README.md"),
    ]
}

#[test]
fn searching_everything_shows_nothing_hidden() {
    let world = world();
    for (tool, input, visible) in searches() {
        let ended = call(&world, "careful", tool, &input).with_code(0);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(said.contains(visible), "{tool}: {said}");
        for hidden in [CANARY, "secrets", "token.txt", "deep.txt", ".env"] {
            assert!(!said.contains(hidden), "{tool} {input}: {said}");
        }
    }
    // The control: without the rules, there is something to see.
    let ended = call(&world, "careless", "grep", &json!({ "pattern": "parcels", "path": "secrets" })).with_code(0);
    assert!(ended.stdout.contains(CANARY), "{}", ended.stdout);
}

#[test]
fn naming_what_is_hidden_does_not_show_it() {
    let world = world();
    world.link("way", "secrets");
    for path in ["secrets/token.txt", ".env", "src/../.env", "way/token.txt", "way", "secrets", "SECRETS/token.txt"] {
        for (tool, input) in [
            ("read", json!({ "path": path })),
            ("ls", json!({ "path": path })),
            ("tree", json!({ "path": path })),
            ("glob", json!({ "pattern": "**/*", "path": path })),
            ("grep", json!({ "pattern": "parcels", "path": path })),
            ("edit", json!({ "path": path, "old": "parcels", "new": "x" })),
            ("write", json!({ "path": path, "content": "x" })),
        ] {
            let ended = call(&world, "careful", tool, &input);
            let said = format!("{}{}", ended.stdout, ended.stderr);
            assert!(!said.contains(CANARY) && !said.contains("deep.txt"), "{tool} {path}: {said}");
        }
    }
    for path in [".env", "secrets/token.txt"] {
        assert_eq!(world.read(path), Some(format!("parcels {CANARY}\n")));
    }
}

#[test]
fn a_tool_allowed_one_folder_works_in_it() {
    let world = world();
    world.add(
        "../agents/narrow.md",
        "---\nname: narrow\ndescription: d\ntools: [\"Read(src/**)\", \"Write(src/**)\"]\n---\nx\n",
    );
    let ended = call(&world, "narrow", "read", &json!({ "path": "src/main.rs" })).with_code(0);
    assert!(ended.stdout.contains("The ferry"), "{}", ended.stdout);
    call(&world, "narrow", "write", &json!({ "path": "src/new.rs", "content": "x" })).with_code(0);
    assert_eq!(world.read("src/new.rs").as_deref(), Some("x"));
    for path in ["README.md", ".env"] {
        let ended = call(&world, "narrow", "read", &json!({ "path": path })).with_code(1);
        assert!(!ended.stdout.contains("parcels"), "{}", ended.stdout);
    }
}
