//! Tools of plugins that call other tools of their agent.

use super::*;

fn errands(stage: &Stage, query: &[u8], capabilities: &[&str]) {
    stage.plugin("caller", json!([told("errand", "errand.wasm", &["tools"])]));
    stage.put("caller/errand.wasm", wasm("errand"));
    stage.plugin("database", json!([told("query_db", "query.wasm", capabilities)])).put("database/query.wasm", query);
}

#[test]
fn a_tool_calls_one_of_another_plugin_if_it_was_granted_tools() {
    let stage = Stage::new();
    errands(&stage, wasm("echo"), &[]);
    let ask = |equipped: &Equipped| call(equipped, "errand", json!({ "text": "rows" }));
    let registry = stage.granting(&[("caller", &["tools"])]);
    assert_eq!(done(&ask(&stage.agent(&registry, "tools: [errand, query_db]"))), "rows");

    let out = stage.agent(&registry, "tools: [errand]");
    let (kind, text) = {
        let result = ask(&out);
        let (kind, text) = failed(&result);
        (kind, text.to_owned())
    };
    assert_eq!(kind, FailureKind::Denied);
    assert!(text.contains("add `query-db` to the agent's tools"), "{text}");

    let ungranted = may(&stage.load(), "tools: [errand, query_db]");
    let reason = &ungranted.excluded.iter().find(|tool| tool.name == "errand").unwrap().reason;
    assert!(reason.contains("--grant tools"), "{reason}");
}

#[test]
fn the_rules_hold_for_a_tool_that_is_called_by_another() {
    let stage = Stage::new();
    errands(&stage, wasm("echo"), &[]);
    let registry = stage.granting(&[("caller", &["tools"])]);
    let settings = "tools: [errand, query_db]\npermissions: { ask: [query_db] }";
    let result = call(&stage.agent(&registry, settings), "errand", json!({ "text": "rows" }));
    assert!(failed(&result).1.contains("query_db"), "{}", result.text());
}

/// A circle of tools ends by its depth, and the next call works.
#[test]
fn tools_that_call_each_other_in_a_circle_end() {
    let stage = Stage::new();
    errands(&stage, wasm("errand"), &["tools"]);
    let registry = neighbour(&stage).granting(&[("caller", &["tools"]), ("database", &["tools"])]);
    let equipped = stage.agent(&registry, "tools: [errand, query_db, good, read]");
    let result = call(&equipped, "errand", json!({ "text": "rows" }));
    assert!(failed(&result).1.contains("tools calling tools"), "{}", result.text());
    neighbours_work(&equipped);
}
