//! `palisade tools` with components that were not written for Palisade, and what tools keep.
#![expect(clippy::unwrap_used, reason = "a guest that is not there fails the test")]

use palisade_tests::{foreign::Foreign, guests::guest};
use serde_json::json;

use crate::world::World;

fn add(world: &World, name: &str) -> String {
    world.add_outside(&format!("{name}.wasm"), guest(name).unwrap().wasm)
}

#[test]
fn a_component_lists_its_functions_and_what_cannot_be_one() {
    let world = World::new();
    let file = add(&world, "foreign_memory");
    let ended = world.palisade(&["tools", "inspect", &file]).with_code(0);
    for said in [
        "add_entities  guests:memory/graph@1.0.0#add-entities",
        "\"enum\":[\"person\",\"place\",\"thing\"]",
        "guests:memory/graph@1.0.0#browse  not offered: it takes or gives a resource",
    ] {
        assert!(ended.stdout.contains(said), "{said}: {}", ended.stdout);
    }
    let report = world.palisade(&["tools", "inspect", &file, "--json"]).with_code(0).json();
    assert_eq!(report["written_for_palisade"], false);
    assert_eq!(report["description"], json!(null));
    let names: Vec<&str> = report["functions"].as_array().unwrap().iter().filter_map(|f| f["name"].as_str()).collect();
    assert_eq!(names, ["add_entities", "find"]);
    assert_eq!(report["functions"][1]["input_schema"]["required"], json!(["query"]));
    assert_eq!(report["not_offered"].as_array().unwrap().len(), 2, "{report}");
    // None of its code runs for that, so there is nothing to leave out.
    world.palisade(&["tools", "inspect", &file, "--no-describe"]).with_code(0);
}

#[test]
fn a_function_is_called_by_its_name() {
    let world = World::new();
    let file = add(&world, "foreign_files");
    let call = |more: &[&str]| world.palisade(&[&["tools", "call", &file, "--agent", "explore"][..], more].concat());
    let input = r#"{"path": "src/harbour.rs"}"#;
    for name in ["read_file", "read-file"] {
        let ended = call(&["--function", name, "--input", input]).with_code(0);
        assert!(ended.stdout.contains("unload_parcels"), "{}", ended.stdout);
    }
    let several = call(&["--input", input]).with_code(1);
    let expected = "error: the component offers several tools; choose one with --function: \
                    list_directory, read_file, write_file, search_file, get_file_info\n";
    assert_eq!(several.stderr, expected);
    let unknown = call(&["--function", "raed"]).with_code(1);
    assert!(
        unknown.stderr.contains("the component offers no `raed`; there are list_directory, "),
        "{}",
        unknown.stderr
    );
    let wrong = call(&["--function", "read_file", "--json"]).with_code(1).json();
    assert_eq!((&wrong["outcome"], &wrong["blame"]), (&json!("invalid-input"), &json!("caller")));
    assert_eq!(wrong["error"], "input.path is missing; it must be a text");
    let writing = r#"{"path": "new.txt", "contents": ""}"#;
    call(&["--function", "write_file", "--input", writing]).with_code(1);
    assert_eq!(world.read("new.txt"), None, "the agent only reads");

    let clock = add(&world, "foreign_time");
    let not_offered = world.palisade(&[
        "tools",
        "call",
        &add(&world, "foreign_memory"),
        "--agent",
        "explore",
        "--function",
        "guests:memory/graph@1.0.0#browse",
    ]);
    assert_eq!(
        not_offered.with_code(1).stderr,
        "error: `guests:memory/graph@1.0.0#browse` cannot be called as a tool: it takes or gives a resource\n"
    );
    let ended =
        world.palisade(&["tools", "call", &clock, "--agent", "explore", "--function", "get_current_time"]).with_code(0);
    assert!(ended.stdout.contains(" seconds since 1970"), "{}", ended.stdout);
    let own = add(&world, "echo");
    let ended = world.palisade(&["tools", "call", &own, "--agent", "explore", "--function", "echo"]).with_code(1);
    assert_eq!(ended.stderr, "error: the component is one tool, `echo`; leave out --function\n");
}

#[test]
fn a_component_with_one_function_needs_no_name_and_runs_apart_too() {
    let world = World::new();
    let same = world.add_outside("same.wasm", &Foreign::same("", "u64").wasm().unwrap());
    let input = r#"{"items": ["18446744073709551615", 7]}"#;
    for apart in [false, true] {
        if apart {
            world.configure("[sandbox]\napart = true\n");
        }
        let ended = world.palisade(&["tools", "call", &same, "--agent", "explore", "--input", input]).with_code(0);
        assert_eq!(ended.stdout.trim(), "[18446744073709551615,7]");
    }
}

const KEEPING: &str = "---\ndescription: keeps\ntools: [read]\ngrants: { storage: { bytes: 64 } }\n---\nKeep.\n";

/// What a tool keeps is there in the next process, for the same component and for no other.
#[test]
fn what_a_tool_keeps_is_there_the_next_time() {
    let world = World::new();
    world.add_agent("keeping", KEEPING);
    let file = add(&world, "keeper");
    let keep = |agent: &str, input: serde_json::Value| {
        world.palisade(&["tools", "call", &file, "--agent", agent, "--input", &input.to_string(), "--json"])
    };
    let said = |input: serde_json::Value| keep("keeping", input).with_code(0).json()["output"].clone();
    assert_eq!(said(json!({ "op": "get", "key": "a" })), "");
    assert_eq!(said(json!({ "op": "set", "key": "a", "value": "kept for long" })), "kept");
    assert_eq!(said(json!({ "op": "set", "key": "b", "value": "too" })), "kept");
    assert_eq!(said(json!({ "op": "get", "key": "a" })), "kept for long");
    assert_eq!(said(json!({ "op": "keys", "key": "" })), "a,b");
    let full = keep("keeping", json!({ "op": "set", "key": "c", "value": "x".repeat(64) })).with_code(1).json();
    assert_eq!(full["error"], "full");
    // Apart it is the host that keeps.
    world.configure("[sandbox]\napart = true\n");
    assert_eq!(said(json!({ "op": "get", "key": "b" })), "too");
    assert_eq!(said(json!({ "op": "delete", "key": "b" })), "deleted");
    world.configure("");
    assert_eq!(said(json!({ "op": "keys", "key": "" })), "a");
    let refused = keep("explore", json!({ "op": "get", "key": "a" })).with_code(1).json();
    assert_eq!(refused["outcome"], "denied", "{refused}");
}

/// The database is the user's: one that cannot be used fails the call, and tells the guest nothing.
#[test]
fn a_database_that_cannot_be_used_fails_the_call() {
    let world = World::new();
    world.add_agent("keeping", KEEPING);
    let file = add(&world, "keeper");
    let nowhere = [("PALISADE_STORE", "postgres://nobody:hunter2@127.0.0.1:1/none")];
    let input = r#"{"op": "get", "key": "a"}"#;
    let call = ["tools", "call", &file, "--agent", "keeping", "--input", input];
    let ended = world.palisade_with(&nowhere, &call).with_code(1);
    assert!(ended.stderr.contains("warning: what tools keep cannot be used: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("the database that keeps it cannot be used now"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("hunter2"), "{}", ended.stderr);
}

#[test]
fn explain_shows_what_an_agent_may_keep() {
    let world = World::new();
    world.add_agent("keeping", KEEPING);
    let explained = world.palisade(&["explain", "keeping", "--json"]).with_code(0).json();
    assert_eq!(explained["grants"]["storage"], json!({ "bytes": 64 }), "{explained}");
}
