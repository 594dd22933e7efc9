//! Names of plugins and of tools that could be taken for each other.

use palisade_sandbox::Storage as _;

use super::*;

/// A component that answers with two letters.
fn answering(letters: &str) -> Vec<u8> {
    let text = Handmade { inside: format!("(data (i32.const 32) \"{letters}\")"), ..Handmade::default() };
    text.wasm().unwrap()
}

fn names(equipped: &Equipped) -> Vec<&str> {
    let mut names: Vec<&str> = equipped.toolbox.specs().iter().map(|spec| spec.name.as_str()).collect();
    names.sort_unstable();
    names
}

/// Plugin and tool, so that what is put between them could stand in either.
const PAIRS: [[(&str, &str); 2]; 3] =
    [[("a-b", "c"), ("a", "b-c")], [("a_b", "c"), ("a", "b_c")], [("a__b", "c"), ("a", "b__c")]];

/// CFG-08
#[test]
fn a_name_that_runs_into_another_reaches_its_own_component() {
    for [one, two] in PAIRS {
        let stage = Stage::new();
        for ((plugin, tool), letters) in [(one, "v1"), (two, "v2")] {
            stage
                .plugin(plugin, json!([told(tool, "own.wasm", &[])]))
                .put(&format!("{plugin}/own.wasm"), answering(letters));
        }
        let registry = stage.load();
        let both = format!("[{}, {}]", one.1, two.1);
        let equipped = stage.agent(&registry, &format!("tools: {both}"));
        assert_eq!(done(&call(&equipped, one.1, json!({}))), "v1", "{one:?}");
        assert_eq!(done(&call(&equipped, two.1, json!({}))), "v2", "{two:?}");
        // What is said of one is not said of the other, whichever way it is said.
        for (allowed, denied) in [(one.1, two.1), (two.1, one.1)] {
            for settings in [
                format!("tools: [{allowed}]"),
                format!("tools: {both}\ndisallowedTools: [{denied}]"),
                format!("tools: {both}\ntoolAllowlist: [{allowed}]"),
                format!("tools: {both}\ntoolDenylist: [{denied}]"),
                format!("tools: {both}\npermissions: {{ deny: [{denied}] }}"),
            ] {
                let equipped = stage.agent(&registry, &settings);
                assert_eq!(names(&equipped), [allowed], "{settings}");
                assert!(call(&equipped, allowed, json!({})).is_done(), "{settings}");
                assert!(!call(&equipped, denied, json!({})).is_done(), "{settings}");
            }
        }
    }
}

/// CFG-08: what one keeps the other does not see, and each has its own grant.
#[test]
fn a_name_that_runs_into_another_has_its_own_space_and_its_own_grant() {
    for [one, two] in PAIRS {
        let stage = Stage::new();
        for (plugin, tool) in [one, two] {
            stage.plugin(plugin, json!([told(tool, "keeper.wasm", &["storage"])]));
            stage.put(&format!("{plugin}/keeper.wasm"), wasm("keeper"));
        }
        let tools = format!("tools: [{}, {}]", one.1, two.1);
        let words: &[&str] = &["storage"];
        let equipped = stage.agent(&stage.granting(&[(one.0, words), (two.0, words)]), &tools);
        let set = |tool: &str, value: &str| call(&equipped, tool, json!({ "op": "set", "key": "k", "value": value }));
        assert_eq!((done(&set(one.1, "of one")), done(&set(two.1, "of two"))), ("kept", "kept"));
        for ((_, tool), value) in [(one, "of one"), (two, "of two")] {
            assert_eq!(done(&call(&equipped, tool, json!({ "op": "get", "key": "k" }))), value);
        }
        for (plugin, _) in [one, two] {
            assert_eq!(stage.storage.keys(plugin, "").unwrap(), ["k"], "{plugin}");
        }
        let alone = stage.agent(&stage.granting(&[(one.0, words)]), &tools);
        assert_eq!(names(&alone), [one.1], "what {} was granted is not what {} was granted", one.0, two.0);
    }
}

/// CFG-08, CFG-09: imports cannot tell `_` from `-`, so that one of two such names would be called for the other.
#[test]
fn names_that_imports_cannot_tell_apart_are_one_name() {
    let stage = Stage::new();
    let tools = json!([told("query_db", "q.wasm", &[]), told("only_a", "q.wasm", &[])]);
    stage.plugin("a", tools).put("a/q.wasm", answering("v1"));
    let tools =
        json!([told("query-db", "q.wasm", &[]), told("web-fetch", "q.wasm", &[]), told("only_b", "q.wasm", &[])]);
    stage.plugin("b", tools).put("b/q.wasm", answering("v2"));
    stage
        .plugin("caller", json!([told("errand", "errand.wasm", &["tools"])]))
        .put("caller/errand.wasm", wasm("errand"));
    let registry = neighbour(&stage).granting(&[("caller", &["tools"])]);
    let settings = "tools: [query_db, query-db, web-fetch, only_a, only_b, errand, good, read]";
    let equipped = stage.agent(&registry, settings);
    assert_eq!(names(&equipped), ["errand", "good", "only_a", "only_b", "read"]);
    let result = call(&equipped, "errand", json!({ "text": "x" }));
    assert_eq!(failed(&result).0, FailureKind::Denied, "{}", result.text());
    let refused = |plugin: &str| {
        let plugin = registry.plugins().iter().find(|other| other.name == plugin).unwrap();
        plugin.tools.iter().filter_map(|tool| tool.refused.clone()).collect::<Vec<_>>()
    };
    assert!(refused("a")[0].contains("the plugin `b` has a tool of that name"), "{:?}", refused("a"));
    assert!(refused("b")[0].contains("the plugin `a` has a tool of that name"), "{:?}", refused("b"));
    assert!(refused("b")[1].contains("`web_fetch` is a tool of this program"), "{:?}", refused("b"));
    neighbours_work(&equipped);
    // The control: where one of them is gone, the other has the name.
    fs::remove_dir_all(stage.path("b")).unwrap();
    let registry = stage.granting(&[("caller", &["tools"])]);
    let equipped = stage.agent(&registry, "tools: [query_db, errand]");
    assert_eq!(done(&call(&equipped, "errand", json!({ "text": "x" }))), "v1");
}

/// CFG-09: the order in which folders are read decides nothing.
#[test]
fn which_of_two_plugins_was_there_first_makes_no_difference() {
    let outcome = |folders: [&str; 2]| {
        let stage = Stage::new();
        for (folder, plugin) in folders.into_iter().zip(["alpha", "zeta"]) {
            let tools = json!([told("query", "q.wasm", &[]), told(&format!("{plugin}_own"), "q.wasm", &[])]);
            stage.put(&format!("{folder}/plugin.json"), json!({ "name": plugin, "tools": tools }).to_string());
            stage.put(&format!("{folder}/q.wasm"), small());
            let agent = format!("---\nname: helper\ndescription: Of {plugin}.\n---\nHelp.\n");
            stage.put(&format!("{folder}/agents/helper.md"), agent);
        }
        let registry = stage.load();
        let equipped = stage.agent(&registry, "tools: [query, alpha_own, zeta_own]");
        let tools: Vec<String> = names(&equipped).into_iter().map(str::to_owned).collect();
        let helpers = ["helper", "alpha/helper", "zeta/helper"];
        (tools, helpers.map(|name| registry.find(name).unwrap().description.clone()))
    };
    let (tools, helpers) = outcome(["one", "two"]);
    assert_eq!(tools, ["alpha_own", "zeta_own"]);
    assert_eq!(helpers, ["Of alpha.", "Of alpha.", "Of zeta."]);
    assert_eq!(outcome(["two", "one"]), (tools, helpers));
}
