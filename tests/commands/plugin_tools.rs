//! Tools of plugins, as a user calls them.
#![expect(clippy::unwrap_used, reason = "a guest that is not there fails the test")]

use palisade_tests::guests::guest;
use serde_json::{Value, json};

use crate::world::World;

/// A world with a plugin that echoes and one that wants files.
fn world() -> World {
    let world = World::new();
    let tools = json!([
        { "name": "echo_back", "description": "Says it again.", "component": "echo.wasm",
          "schema": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] } },
        { "name": "reach", "description": "Does with files what it is told.", "component": "reach.wasm",
          "schema": { "type": "object" }, "capabilities": ["fs.read", "fs.write"] },
        { "name": "keep", "description": "Keeps.", "component": "keeper.wasm", "capabilities": ["storage"],
          "schema": { "type": "object" } },
    ]);
    world.add("plugins/parrot/plugin.json", json!({ "name": "parrot", "tools": tools }).to_string());
    for name in ["echo", "reach", "keeper"] {
        world.add(&format!("plugins/parrot/{name}.wasm"), guest(name).unwrap().wasm);
    }
    world
}

fn call(world: &World, tool: &str, more: &[&str], input: &Value) -> crate::world::Ended {
    let input = input.to_string();
    let own = ["tools", "call", tool, "--plugins-dir", "plugins", "--input", &input, "--json"];
    world.palisade(&own.into_iter().chain(more.iter().copied()).collect::<Vec<_>>())
}

/// CF-15
#[test]
fn a_tool_of_a_plugin_is_called_by_its_name_and_that_of_its_plugin() {
    let world = world();
    for name in ["echo_back", "parrot/echo_back"] {
        let report = call(&world, name, &[], &json!({ "text": "hello" })).with_code(0).json();
        assert_eq!((&report["output"], &report["tool"]), (&json!("hello"), &json!("echo_back")));
        assert_eq!(report["agent"], "(the plugin parrot alone)");
    }
    world.add_agent("talker", "---\nname: talker\ndescription: d\ntools: [echo_back]\n---\nTalk.\n");
    let report = call(&world, "echo_back", &["--agent", "talker"], &json!({ "text": "hello" })).with_code(0).json();
    assert_eq!((&report["output"], &report["agent"]), (&json!("hello"), &json!("talker")));
    let ended = call(&world, "reach", &["--agent", "talker"], &json!({ "steps": [] })).with_code(1);
    assert!(ended.stderr.contains("is not in the scope of `talker`"), "{}", ended.stderr);
    let ended = call(&world, "read", &[], &json!({ "path": "README.md" })).with_code(1);
    assert!(ended.stderr.contains("--agent"), "{}", ended.stderr);
}

#[test]
fn without_a_grant_a_tool_has_its_own_package_and_what_it_lacks_is_explained() {
    let world = world();
    let steps = json!({ "steps": [{ "op": "preopens" }, { "op": "write", "path": "planted", "text": "x" }] });
    let report = call(&world, "reach", &[], &steps).with_code(0).json();
    let came: Value = serde_json::from_str(report["output"].as_str().unwrap()).unwrap();
    assert_eq!(came[0]["ok"], "/plugin");
    assert!(came[1].get("error").is_some() && world.read("planted").is_none(), "{came}");

    let ended = call(&world, "keep", &[], &json!({ "op": "keys", "key": "" })).with_code(1);
    assert!(ended.stderr.contains("palisade plugins install … --grant storage"), "{}", ended.stderr);

    world.add_agent("worker", "---\nname: worker\ndescription: d\ntools: [reach, keep]\n---\nWork.\n");
    let explained = world.palisade(&["explain", "worker", "--plugins-dir", "plugins", "--json"]).with_code(0).json();
    let reach = &explained["tools"][0];
    assert_eq!((&reach["name"], &reach["grants"]["files"]), (&json!("reach"), &json!([])));
    assert_eq!(reach["not_granted"]["words"], json!(["fs.read", "fs.write"]));
    let excluded = explained["excluded"].as_array().unwrap().iter().find(|tool| tool["name"] == "keep").unwrap();
    assert!(excluded["reason"].as_str().unwrap().contains("--grant storage"), "{excluded}");
    let text = world.palisade(&["explain", "worker", "--plugins-dir", "plugins"]).with_code(0).stdout;
    assert!(text.contains("palisade plugins install … --grant fs.read --grant fs.write"), "{text}");
}

#[test]
fn tools_of_plugins_are_listed_after_those_of_the_program() {
    let world = world();
    let list = world.palisade(&["tools", "list", "--plugins-dir", "plugins", "--json"]).with_code(0).json();
    let names = list.as_array().unwrap().iter().filter(|tool| tool["plugin"] == "parrot");
    assert_eq!(names.filter_map(|tool| tool["name"].as_str()).collect::<Vec<_>>(), ["echo_back", "reach", "keep"]);
    let text = world.palisade(&["tools", "list", "--plugins-dir", "plugins"]).with_code(0).stdout;
    assert!(text.contains("Says it again."), "{text}");
}

/// A model calls it like any other tool.
#[test]
fn a_run_calls_a_tool_of_a_plugin() {
    let world = world();
    world.add_agent("talker", "---\nname: talker\ndescription: d\ntools: [echo_back]\n---\nTalk.\n");
    let replies = r#"[{"calls": [{"tool": "echo_back", "input": {"text": "from the plugin"}}]}, {"text": ["done"]}]"#;
    let model = world.script("talk.json", replies);
    let run = ["run", "talker", "say it", "--plugins-dir", "plugins", "--model", &model];
    let ended = world.palisade(&[&run[..], &["--output-format", "stream-json"]].concat()).with_code(0);
    let finished = ended.stdout.lines().find(|line| line.contains("call_finished")).unwrap();
    assert!(finished.contains("from the plugin"), "{finished}");
}
