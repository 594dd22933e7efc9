//! `palisade tools`.

use palisade_tests::guests::guest;
use serde_json::{Value, json};

use crate::world::{Ended, World};

fn call(world: &World, tool: &str, agent: &str, input: &Value) -> Ended {
    world.palisade(&["tools", "call", tool, "--agent", agent, "--input", &input.to_string(), "--json"])
}

#[test]
fn every_core_tool_is_listed_with_what_it_needs() {
    let list = World::empty().palisade(&["tools", "list", "--json"]).with_code(0).json();
    let names: Vec<&str> = list.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["bash", "edit", "exec", "glob", "grep", "ls", "read", "think", "tree", "web_fetch", "write"]);
    for tool in list.as_array().unwrap() {
        let writes = tool["capabilities"].as_array().unwrap().contains(&json!("fs.write"));
        assert_eq!(tool["read_only"], json!(!writes), "{tool}");
        assert_eq!(tool["input_schema"]["type"], "object", "{tool}");
    }
    let text = World::empty().palisade(&["tools", "list"]).with_code(0).stdout;
    assert_eq!(text.lines().count(), names.len());
}

#[test]
fn a_tool_is_shown_with_its_input_and_imports() {
    let world = World::empty();
    let ended = world.palisade(&["tools", "show", "read"]).with_code(0);
    assert!(ended.stdout.contains("palisade:host/files"), "{}", ended.stdout);
    assert!(ended.stdout.contains("\"offset\""), "{}", ended.stdout);
    let shown = world.palisade(&["tools", "show", "read", "--json"]).with_code(0).json();
    assert_eq!(shown["capabilities"], json!(["fs.read"]));
    assert!(shown["code_bytes"].as_u64().unwrap() > 0);
    let ended = world.palisade(&["tools", "show", "raed"]).with_code(1);
    assert!(
        ended.stderr.contains("there are bash, edit, exec, glob, grep, ls, read, think, tree, web_fetch, write"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_call_gives_its_result_and_what_it_used_up() {
    let world = World::new();
    let report = call(&world, "read", "explore", &json!({ "path": "src/harbour.rs" })).with_code(0).json();
    assert_eq!(
        (&report["tool"], &report["agent"], &report["outcome"]),
        (&json!("read"), &json!("explore"), &json!("ok"))
    );
    assert!(report["output"].as_str().unwrap().contains("unload_parcels"));
    assert!(report["peak_memory"].as_u64().unwrap() > 0);
    assert_eq!(report["written"], 0);
    assert_eq!(report["denials"], json!([]));
}

#[test]
fn for_people_the_result_is_on_standard_output_and_the_report_beside_it() {
    let world = World::new();
    let input = world.add_outside("input.json", br#"{"path": "README.md"}"#);
    let arguments = ["tools", "call", "read", "--agent", "explore", "--input"];
    for given in [r#"{"path": "README.md"}"#, &format!("@{input}"), "-"] {
        let ended =
            world.palisade_reading(&[&arguments[..], &[given]].concat(), r#"{"path": "README.md"}"#).with_code(0);
        assert!(ended.stdout.contains("Carries parcels"), "{}", ended.stdout);
        assert!(!ended.stdout.contains("peak memory"), "{}", ended.stdout);
        assert!(ended.stderr.contains("read in explore: "), "{}", ended.stderr);
        assert!(ended.stderr.contains("peak memory"), "{}", ended.stderr);
    }
}

#[test]
fn paths_out_of_the_workspace_are_refused() {
    let world = World::new();
    world.add_outside("secret.txt", b"canary");
    for path in ["../secret.txt", "/etc/passwd", "src/../../secret.txt"] {
        let ended = call(&world, "read", "explore", &json!({ "path": path })).with_code(1);
        assert_ne!(ended.json()["outcome"], "ok");
        assert!(!ended.stdout.contains("canary") && !ended.stdout.contains("root:"), "{}", ended.stdout);
    }
}

#[test]
fn a_tool_out_of_scope_is_not_called() {
    let world = World::new();
    let ended = call(&world, "write", "explore", &json!({ "path": "new.txt", "content": "x" })).with_code(1);
    assert_eq!(
        ended.stderr,
        "error: the tool `write` is not in the scope of `explore`; in it are bash, glob, grep, ls, read, think, tree\n"
    );
    assert_eq!(world.read("new.txt"), None);
}

#[test]
fn a_writing_agent_writes_where_it_may() {
    let world = World::new();
    let report =
        call(&world, "write", "general", &json!({ "path": "new/a.txt", "content": "hello\n" })).with_code(0).json();
    assert_eq!(report["written"], 6);
    assert_eq!(world.read("new/a.txt").as_deref(), Some("hello\n"));
}

#[test]
fn no_agent_writes_what_decides_over_what_runs() {
    let world = World::new();
    world.add(".git/hooks/keep", "");
    let input = json!({ "path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n" });
    let report = call(&world, "write", "general", &input).with_code(1).json();
    assert_eq!(world.read(".git/hooks/pre-commit"), None);
    let denial = &report["denials"][0];
    assert_eq!(denial["capability"], "fs.write", "{report}");
    assert_eq!(denial["rule"], "`.git` decides what runs with the user's rights and is always read-only");
    assert_eq!(report["blame"], "grant", "{report}");
}

#[test]
fn input_that_is_no_object_is_refused() {
    let world = World::new();
    for input in ["nonsense", "[1]", "\"text\""] {
        let ended = world.palisade(&["tools", "call", "think", "--agent", "explore", "--input", input]).with_code(1);
        assert!(ended.stderr.starts_with("error: the input "), "{}", ended.stderr);
    }
    let report = call(&world, "read", "explore", &json!({ "nonsense": 1 })).with_code(1).json();
    assert_eq!((&report["outcome"], &report["blame"]), (&json!("invalid-input"), &json!("caller")));
}

#[test]
fn what_a_tool_says_cannot_drive_the_terminal() {
    let world = World::new();
    let input = json!({ "path": "no\u{1b}[2J\nerror: forged\u{202e}" }).to_string();
    let ended = world.palisade(&["tools", "call", "read", "--agent", "explore", "--input", &input]).with_code(1);
    assert!(!ended.stderr.contains(['\u{1b}', '\u{202e}']), "{:?}", ended.stderr);
    assert!(!ended.stderr.contains("\nerror: forged"), "{:?}", ended.stderr);
}

#[test]
fn a_component_from_outside_is_inspected_and_called() {
    let world = World::new();
    let file = world.add_outside("echo.wasm", guest("echo").unwrap().wasm);
    let report = world.palisade(&["tools", "inspect", &file, "--json"]).with_code(0).json();
    assert_eq!(report["description"]["name"], "echo");
    assert_eq!(report["description"]["capabilities"], json!([]));
    assert!(report["imports"].as_array().unwrap().iter().all(|import| import["capabilities"] == json!([])), "{report}");
    let report = call(&world, &file, "explore", &json!({ "text": "hello" })).with_code(0).json();
    assert_eq!((&report["tool"], &report["output"]), (&json!("echo"), &json!("hello")));
}

#[test]
fn without_describe_a_component_is_only_read() {
    let world = World::new();
    let file = world.add_outside("echo.wasm", guest("echo").unwrap().wasm);
    let report = world.palisade(&["tools", "inspect", &file, "--json", "--no-describe"]).with_code(0).json();
    assert_eq!((&report["description"], &report["error"]), (&json!(null), &json!(null)));
}

#[test]
fn built_in_tools_can_be_inspected_by_name() {
    let ended = World::empty().palisade(&["tools", "inspect", "grep"]).with_code(0);
    assert!(ended.stdout.contains("→ fs.read or fs.write"), "{}", ended.stdout);
}

#[test]
fn only_components_are_accepted() {
    let world = World::new();
    for (bytes, what) in [
        (&b"\x7fELF\x02\x01\x01\0machine code"[..], "machine code"),
        (b"\0asm\x01\0\0\0", "a core module"),
        (b"#!/bin/sh\n", "something else"),
        (b"", "something else"),
    ] {
        let file = world.add_outside("odd.wasm", bytes);
        let ended = world.palisade(&["tools", "inspect", &file]).with_code(1);
        let expected = format!(
            "error: this is not a usable tool component: it is {what}, not a WebAssembly component; \
             only `.wasm` components are accepted\n"
        );
        assert_eq!(ended.stderr, expected);
    }
    let file = world.add_outside("odd.wasm", b"\0asm\x0d\0\x01\0 and then garbage");
    let ended = world.palisade(&["tools", "inspect", &file]).with_code(1);
    assert!(ended.stderr.contains("it does not compile"), "{}", ended.stderr);
    let ended = world.palisade(&["tools", "inspect", "missing.wasm"]).with_code(1);
    assert!(ended.stderr.starts_with("error: missing.wasm cannot be read: "), "{}", ended.stderr);
}

#[test]
fn a_component_that_is_no_tool_is_called_one_neither() {
    let world = World::new();
    let file = world.add_outside("empty.wasm", b"\0asm\x0d\0\x01\0");
    let ended = world.palisade(&["tools", "inspect", &file]).with_code(1);
    assert!(ended.stderr.contains("not a usable tool component"), "{}", ended.stderr);
    let report = call(&world, &file, "explore", &json!({})).with_code(1).json();
    assert_eq!((&report["outcome"], &report["blame"]), (&json!("bad-component"), &json!("guest")));
}

#[test]
fn a_damaged_cache_entry_is_compiled_again() {
    let world = World::new();
    let file = world.add_outside("echo.wasm", guest("echo").unwrap().wasm);
    let cache = world.home().join(".cache/palisade");
    let first = world.palisade(&["tools", "inspect", &file, "--json"]).with_code(0).stdout;
    let entries = World::files_below(&cache);
    assert_eq!(entries.len(), 1, "{entries:?}");
    World::damage(&entries[0]);
    let second = world.palisade(&["tools", "inspect", &file, "--json"]).with_code(0);
    assert_eq!(second.stdout, first);
    assert!(second.stderr.contains("in the cache was not used"), "{}", second.stderr);
    assert_eq!(World::files_below(&cache), entries);
}

#[test]
fn a_cache_that_others_can_write_is_not_used() {
    let world = World::new();
    let file = world.add_outside("echo.wasm", guest("echo").unwrap().wasm);
    World::open_to_all(&world.home().join(".cache/palisade"));
    let ended = world.palisade(&["tools", "inspect", &file]).with_code(0);
    assert!(ended.stderr.contains("warning: compiled tools are not kept: the cache directory"), "{}", ended.stderr);
    assert_eq!(World::files_below(&world.home().join(".cache")), Vec::<std::path::PathBuf>::new());
}
