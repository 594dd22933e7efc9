//! What a tool of a plugin may do: no more than its agent, its plugin, its manifest and the rules all allow.

use palisade_sandbox::Storage as _;

use super::*;

fn reach(equipped: &Equipped, steps: Value) -> Vec<Result<String, String>> {
    let result = call(equipped, "reach", json!({ "steps": steps }));
    let came: Vec<Value> = serde_json::from_str(done(&result)).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    came.iter().map(|came| came.get("ok").map(text).ok_or_else(|| text(&came["error"]))).collect()
}

fn reaching(stage: &Stage) -> &Stage {
    stage.plugin("p", json!([told("reach", "reach.wasm", &["fs.read", "fs.write"])]));
    stage.put("p/reach.wasm", wasm("reach")).put("p/data/own.txt", "of the package")
}

/// The steps: what is preopened, the package, and the workspace read and written.
fn steps() -> Value {
    json!([
        { "op": "preopens" },
        { "op": "read", "at": "/plugin", "path": "data/own.txt" },
        { "op": "host-read", "path": "/plugin/data/own.txt" },
        { "op": "write", "at": "/plugin", "path": "data/own.txt", "text": "changed" },
        { "op": "read", "at": "/plugin", "path": "../good/plugin.json" },
        { "op": "host-read", "path": "/plugin/../good/plugin.json" },
        { "op": "read", "path": "file" },
        { "op": "write", "path": "new", "text": "planted" },
    ])
}

#[test]
fn a_plugin_that_was_granted_nothing_has_its_own_package_to_read() {
    let stage = Stage::new();
    let registry = neighbour(reaching(&stage)).load();
    let came = reach(&stage.agent(&registry, "tools: [reach, write]"), steps());
    assert_eq!(came[0], Ok("/plugin".to_owned()));
    assert_eq!(came[1], Ok("of the package".to_owned()));
    assert_eq!(came[2], Ok("of the package".to_owned()));
    assert!(came[3..].iter().all(Result::is_err), "{came:?}");
    assert_eq!(fs::read_to_string(stage.path("p/data/own.txt")).unwrap(), "of the package");
    assert!(!stage.world.inside("new").exists());
}

#[test]
fn files_are_what_the_agent_and_the_plugin_were_both_granted() {
    let stage = Stage::new();
    reaching(&stage);
    let came = |words: &[&str], settings: &str| {
        let registry = stage.granting(&[("p", words)]);
        let came = reach(&stage.agent(&registry, settings), steps());
        assert_eq!(came[1], Ok("of the package".to_owned()));
        assert!(came[3].is_err() && came[4].is_err() && came[5].is_err(), "{came:?}");
        (came[6].is_ok(), came[7].is_ok())
    };
    assert_eq!(came(&["fs.read"], "tools: [reach, write]"), (true, false));
    assert_eq!(came(&["fs.write"], "tools: [reach]\ngrants: { files: { \".\": read } }"), (true, false));
    assert_eq!(came(&["fs.write"], "tools: [reach]\npermission_mode: plan"), (true, false));
    assert_eq!(came(&["fs.write"], "tools: [reach]"), (true, true));
}

/// The second wall has the package in it, and nothing else of the plugins.
#[test]
fn a_package_is_there_in_a_process_of_its_own_too() {
    let stage = Stage::in_world(World::apart());
    let registry = neighbour(reaching(&stage)).granting(&[("p", &["fs.read"])]);
    let came = reach(&stage.agent(&registry, "tools: [reach]"), steps());
    assert_eq!(came[1], Ok("of the package".to_owned()));
    assert_eq!(came[2], Ok("of the package".to_owned()));
    assert!(came[3].is_err() && came[4].is_err() && came[5].is_err() && came[7].is_err(), "{came:?}");
    assert!(came[6].is_ok());
}

#[test]
fn what_was_not_granted_is_named_with_what_would_allow_it() {
    let stage = Stage::new();
    stage.plugin("p", json!([told("keeper", "keeper.wasm", &["storage"])])).put("p/keeper.wasm", wasm("keeper"));
    let effective = may(&stage.load(), "tools: [keeper]");
    let [excluded] = &effective.excluded.iter().filter(|tool| tool.name == "keeper").collect::<Vec<_>>()[..] else {
        panic!("{:?}", effective.excluded)
    };
    assert!(excluded.reason.contains("the plugin `p` was not granted"), "{}", excluded.reason);
    assert!(excluded.reason.contains("palisade plugins install … --grant storage"), "{}", excluded.reason);
}

/// Each plugin keeps values in a space of its own; one that fills it is told so, and the next one has room.
#[test]
fn a_plugin_that_fills_its_space_fills_no_other() {
    let stage = Stage::new();
    for name in ["greedy", "modest"] {
        stage.plugin(name, json!([told(&format!("{name}_keep"), "keeper.wasm", &["storage"])]));
        stage.put(&format!("{name}/keeper.wasm"), wasm("keeper"));
    }
    let registry = stage.granting(&[("greedy", &["storage"]), ("modest", &["storage"])]);
    let equipped = stage.agent(&registry, "tools: [greedy_keep, modest_keep]\ngrants: { storage: { bytes: 1000 } }");
    let keep = |tool: &str, key: &str, length: usize| {
        call(&equipped, tool, json!({ "op": "set", "key": key, "value": "x".repeat(length) }))
    };
    assert_eq!(done(&keep("greedy_keep", "a", 900)), "kept");
    assert_eq!(failed(&keep("greedy_keep", "b", 900)), (FailureKind::Failed, "full"));
    assert_eq!(done(&keep("modest_keep", "a", 900)), "kept");
    let spaces: Vec<String> = stage.storage.all().into_keys().map(|(space, _)| space).collect();
    assert_eq!(spaces, ["greedy", "modest"]);
    assert_eq!(stage.storage.keys("greedy", "").unwrap(), ["a"]);
}

#[test]
fn hosts_and_secrets_are_those_that_were_granted_and_only_for_the_plugin() {
    let stage = Stage::new();
    let mut fetch = told("fetch", "fetch.wasm", &["net.http"]);
    fetch["hosts"] = json!(["api.example.com", "other.example.com"]);
    fetch["secrets"] = json!(["API_KEY", "OTHER"]);
    stage.plugin("p", json!([fetch]));
    let words = ["net.http:api.example.com", "net.http:unasked.example.com", "secret:API_KEY"];
    let registry = stage.granting(&[("p", &words)]);
    let effective = may(&registry, "tools: [fetch, web_fetch]");
    let names: Vec<&str> = effective.tools.iter().map(|tool| tool.candidate.name()).collect();
    assert_eq!(names, ["fetch"], "the grant of a plugin gives no other tool a host");
    let grants = serde_json::to_value(&effective.tools[0].grants).unwrap();
    assert_eq!(grants["http"], json!(["api.example.com"]));
    assert_eq!(grants["secrets"], json!(["API_KEY"]));
    let none = may(&stage.load(), "tools: [fetch]");
    let reason = &none.excluded.iter().find(|tool| tool.name == "fetch").unwrap().reason;
    assert!(reason.contains("--grant net.http:api.example.com --grant net.http:other.example.com"), "{reason}");
    let denied = may(&registry, "tools: [fetch]\npermissions: { deny: [\"WebFetch(domain:api.example.com)\"] }");
    assert!(denied.tools.is_empty(), "a rule about a host holds for tools of plugins: {:?}", denied.tools);
}

#[test]
fn nothing_of_a_plugin_that_is_held_back_runs() {
    let stage = Stage::new();
    neighbour(&stage).plugin("p", json!([told("mine", "a.wasm", &[])])).put("p/a.wasm", small());
    let registry = stage.load();
    let mut all = available(&registry);
    for tool in all.iter_mut().filter(|tool| tool.candidate.name() == "mine") {
        tool.unavailable = Some("its digest is another".to_owned());
    }
    let effective = effective(&defined("tools: [mine, good, read]"), &all, &registry);
    let equipped = stage.equip(&effective);
    assert_eq!(left_out(&equipped), [("mine", "its digest is another".to_owned())]);
    assert_eq!(failed(&call(&equipped, "mine", json!({}))).0, FailureKind::UnknownTool);
    neighbours_work(&equipped);
}

/// A proof of an agent with tools of plugins is one of what it really has.
#[test]
fn a_proof_holds_for_an_agent_with_tools_of_plugins() {
    let stage = Stage::new();
    let registry = reaching(&stage).granting(&[("p", &["fs.read", "storage"])]);
    let effective = may(&registry, "tools: [reach, read]");
    let verdicts = palisade_catalog::prove::prove(stage.engine(), &effective, |_| {}).unwrap();
    let breaches = verdicts.iter().filter(|one| one.ending == palisade_catalog::prove::Ending::Breach);
    assert_eq!(breaches.collect::<Vec<_>>(), Vec::<&palisade_catalog::prove::Verdict>::new());
}
