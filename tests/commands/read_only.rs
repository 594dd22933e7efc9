//! `explore` and `plan` change nothing, whatever they are given.
#![expect(clippy::unwrap_used, reason = "a test that gets no answer has failed")]

use palisade_tests::{guests::guest, world::tree_of};
use serde_json::{Value, json};

use crate::world::{Ended, World};

fn call(world: &World, agent: &str, tool: &str, input: &Value) -> Ended {
    world.palisade(&["tools", "call", tool, "--agent", agent, "--input", &input.to_string(), "--json"])
}

/// Inputs by which a tool could be had to write.
fn inputs() -> Vec<Value> {
    ["new.txt", "README.md", "src/main.rs", "/tmp/new.txt", "src/../README.md"]
        .into_iter()
        .map(|path| {
            json!({
                "path": path, "file_path": path, "content": "changed", "old": "parcels", "new": "changed",
                "old_string": "parcels", "new_string": "changed", "pattern": "parcels", "command": format!("touch {path}"),
                "thought": "touch it", "output": path,
            })
        })
        .collect()
}

/// Every way in which a component can ask for a change.
fn changes() -> Vec<Value> {
    vec![
        json!({ "op": "create", "path": "new.txt" }),
        json!({ "op": "write", "path": "made.txt", "text": "changed" }),
        json!({ "op": "overwrite", "path": "README.md", "text": "changed" }),
        json!({ "op": "append", "path": "README.md", "text": "changed" }),
        json!({ "op": "truncate", "path": "Cargo.toml" }),
        json!({ "op": "set-size", "path": "Cargo.toml" }),
        json!({ "op": "set-times", "path": "README.md" }),
        json!({ "op": "set-times-of-read", "path": "README.md" }),
        json!({ "op": "mkdir", "path": "made" }),
        json!({ "op": "symlink", "path": "inward", "text": "README.md" }),
        json!({ "op": "link", "path": "README.md", "to": "linked" }),
        json!({ "op": "rename", "path": "src/main.rs", "to": "src/moved.rs" }),
        json!({ "op": "rename", "path": "src", "to": "moved" }),
        json!({ "op": "unlink", "path": "Cargo.toml" }),
        json!({ "op": "rmdir", "path": "made" }),
    ]
}

/// What nobody may do.
fn never() -> Vec<Value> {
    vec![
        json!({ "op": "symlink", "path": "outward", "text": "../home" }),
        json!({ "op": "write", "path": "../home/new", "text": "changed" }),
        json!({ "op": "write-to-read", "path": "README.md", "text": "changed" }),
        json!({ "op": "set-size-of-read", "path": "README.md" }),
        json!({ "op": "write", "at": "/tmp", "path": "../new", "text": "changed" }),
    ]
}

fn came(ended: &Ended) -> Vec<Value> {
    serde_json::from_str(ended.json()["output"].as_str().unwrap()).unwrap()
}

/// P2, P6, X6
#[test]
fn no_tool_of_a_read_only_agent_changes_anything() {
    let world = World::new();
    let before = tree_of(&world.workspace());
    let tools = world.palisade(&["tools", "list", "--json"]).with_code(0).json();
    let tools: Vec<&str> = tools.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(tools.contains(&"write") && tools.contains(&"edit"));
    for agent in ["explore", "plan"] {
        for tool in &tools {
            for input in inputs() {
                let ended = call(&world, agent, tool, &input);
                assert_eq!(tree_of(&world.workspace()), before, "{agent}, {tool}: {input}");
                if matches!(*tool, "write" | "edit") {
                    ended.with_code(1);
                }
            }
        }
    }
    // The control: the same call in an agent that may write.
    call(&world, "general", "write", &json!({ "path": "new.txt", "content": "changed" })).with_code(0);
    assert_eq!(world.read("new.txt").as_deref(), Some("changed"));
}

/// P2, P6, X6
#[test]
fn a_shell_changes_nothing_in_a_read_only_agent() {
    let world = World::new();
    let before = tree_of(&world.workspace());
    let commands = ["touch new.txt", "git log > new.txt", "ls; rm README.md", "find . -delete"];
    for agent in ["explore", "plan"] {
        for command in commands {
            call(&world, agent, "bash", &json!({ "command": command })).with_code(1);
            assert_eq!(tree_of(&world.workspace()), before, "{agent}: {command}");
        }
    }
    // Their rules let the command through; their folder does not.
    for agent in ["verification", "review"] {
        for command in commands {
            call(&world, agent, "bash", &json!({ "command": command })).with_code(0);
            assert_eq!(tree_of(&world.workspace()), before, "{agent}: {command}");
        }
    }
    let ended = call(&world, "explore", "bash", &json!({ "command": "cat README.md | head -1" })).with_code(0);
    assert!(ended.stdout.contains("exit code 0"), "{}", ended.stdout);
}

/// P2, P6, X6
#[test]
fn no_foreign_component_changes_anything_in_a_read_only_agent() {
    let world = World::new();
    let reach = world.add_outside("reach.wasm", guest("reach").unwrap().wasm);
    let before = tree_of(&world.workspace());
    for agent in ["explore", "plan"] {
        for step in changes().into_iter().chain(never()) {
            let came = came(&call(&world, agent, &reach, &json!({ "steps": [step] })).with_code(0));
            assert!(came[0]["error"].is_string(), "{agent}: {step} came to {came:?}");
            assert_eq!(tree_of(&world.workspace()), before, "{agent}: {step}");
        }
        let read = json!({ "steps": [{ "op": "read", "path": "README.md" }] });
        assert!(came(&call(&world, agent, &reach, &read).with_code(0))[0]["ok"].is_string());
    }
    // The control: an agent that may write is refused only what nobody may do.
    let steps: Vec<Value> = changes();
    let came_to = came(&call(&world, "general", &reach, &json!({ "steps": steps })).with_code(0));
    for (step, came) in steps.iter().zip(&came_to) {
        assert!(came["ok"].is_string(), "{step} came to {came}");
    }
    let came_to = came(&call(&world, "general", &reach, &json!({ "steps": never() })).with_code(0));
    assert!(came_to.iter().all(|came| came["error"].is_string()), "{came_to:?}");
    assert_ne!(tree_of(&world.workspace()), before);
}
