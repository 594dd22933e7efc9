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

/// The same with a plugin that turns bad while it is used: its manifest, its component, its folder. Who began goes on, who
/// begins then hears what is wrong with it, and nobody else notices.
#[test]
fn a_plugin_that_turns_bad_under_load_disturbs_no_neighbour() {
    let stage = Stage::new();
    let sound = || stage.plugin("p", json!([told("mine", "mine.wasm", &[])]));
    sound();
    version(&stage, "v1");
    let shared = SharedRegistry::new(neighbour(&stage).load());
    let before = stage.agent(&shared.now(), "tools: [mine, good, read]");
    assert_eq!(done(&call(&before, "mine", json!({}))), "v1");
    let away = stage.folder.path().join("away");
    let trapping = Handmade { call: "unreachable".to_owned(), ..Handmade::default() }.wasm().unwrap();
    let turns: [(&dyn Fn(), FailureKind); 4] = [
        (&|| _ = stage.put("p/plugin.json", "{ \"name\": "), FailureKind::UnknownTool),
        (&|| _ = sound().put("p/mine.wasm", b"\x7fELF is no component"), FailureKind::Crashed),
        (&|| _ = stage.put("p/mine.wasm", &trapping), FailureKind::Crashed),
        (&|| fs::rename(stage.path("p"), &away).unwrap(), FailureKind::UnknownTool),
    ];
    // All sandboxes may be taken for a moment; what answers is what it was.
    let answered = |result: &ToolResult, expected: &str| {
        assert!(result.text() == expected || failed(result).0 == FailureKind::Limit, "{}", result.text());
    };
    std::thread::scope(|scope| {
        for (tool, expected) in [("mine", "v1"), ("good", "ok"), ("good", "ok")] {
            let before = &before;
            scope.spawn(move || (0..30).for_each(|_| answered(&call(before, tool, json!({})), expected)));
        }
        for (turn, expected) in turns {
            turn();
            shared.refresh().unwrap();
            let late = stage.agent(&shared.now(), "tools: [mine, good, read]");
            let result = call(&late, "mine", json!({}));
            assert!([expected, FailureKind::Limit].contains(&failed(&result).0), "{}", result.text());
            answered(&call(&late, "good", json!({})), "ok");
        }
    });
    neighbours_work(&before);
    fs::rename(&away, stage.path("p")).unwrap();
    version(&stage, "v2");
    shared.refresh().unwrap();
    let after = stage.agent(&shared.now(), "tools: [mine, good, read]");
    assert_eq!(done(&call(&after, "mine", json!({}))), "v2");
    neighbours_work(&after);
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
