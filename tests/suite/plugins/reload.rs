//! Plugins that change while agents work.

use palisade_agent::Warrant as _;
use palisade_catalog::{SharedRegistry, Standing};

use super::*;

fn version(stage: &Stage, answer: &str) {
    let text = Handmade { inside: format!("(data (i32.const 32) \"{answer}\")"), ..Handmade::default() };
    // In place of the old file, as a package manager does it.
    stage.put("p/new.wasm", text.wasm().unwrap());
    fs::rename(stage.path("p/new.wasm"), stage.path("p/mine.wasm")).unwrap();
}

/// Calls that run while everything is read again end with what they began with; whoever begins then has the new one.
#[test]
fn a_reload_under_load_disturbs_no_call() {
    let stage = Stage::new();
    stage.plugin("p", json!([told("mine", "mine.wasm", &[])]));
    version(&stage, "v1");
    let shared = SharedRegistry::new(stage.load());
    let before = stage.agent(&shared.now(), "tools: [mine]");
    assert_eq!(done(&call(&before, "mine", json!({}))), "v1");
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..20).map(|_| call(&before, "mine", json!({}))).collect::<Vec<_>>()))
            .collect();
        for round in 0..10 {
            version(&stage, if round % 2 == 0 { "v2" } else { "v3" });
            shared.refresh().unwrap();
        }
        for result in calls.into_iter().flat_map(|calls| calls.join().unwrap()) {
            // All sandboxes may be taken for a moment; what answers is what it was.
            assert!(result.text() == "v1" || failed(&result).0 == FailureKind::Limit, "{}", result.text());
        }
    });
    version(&stage, "v4");
    shared.refresh().unwrap();
    let after = stage.agent(&shared.now(), "tools: [mine]");
    assert_eq!(done(&call(&after, "mine", json!({}))), "v4");
    assert_eq!(done(&call(&before, "mine", json!({}))), "v1");
}

/// What the operator takes from a plugin is gone from the next call of a run that has begun.
#[test]
fn what_is_taken_from_a_plugin_is_taken_from_agents_at_work() {
    let stage = Stage::new();
    stage.plugin("p", json!([told("reach", "reach.wasm", &["fs.read"])])).put("p/reach.wasm", wasm("reach"));
    let shared = SharedRegistry::new(stage.granting(&[("p", &["fs.read"])]));
    let began = may(&shared.now(), "tools: [reach, read]");
    let standing = Standing::of(&began, &shared, "nobody", None);
    assert!(standing.tools().unwrap().is_none(), "nothing has changed");
    shared.change(|registry| registry.grant("p", Granted::default()));
    let equipped = Arc::new(std::sync::Mutex::new(Vec::new()));
    standing.equipping({
        let equipped = Arc::clone(&equipped);
        move |effective| {
            equipped.lock().unwrap().extend(effective.tools.iter().map(|tool| tool.grants.clone()));
            Err("seen".to_owned())
        }
    });
    assert!(standing.tools().is_err());
    assert!(equipped.lock().unwrap().iter().any(|grants| grants.files.is_empty()));
    // What is given back later is for those who begin then.
    shared.change(|registry| registry.grant("p", Granted::parse(["fs.write"]).unwrap()));
    equipped.lock().unwrap().clear();
    drop(standing.tools());
    assert!(equipped.lock().unwrap().iter().all(|grants| !grants.files.writes()));
}
