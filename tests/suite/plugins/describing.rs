//! Components that misbehave when they are asked what they are, or when they are called.

use palisade_tests::handmade::FOR_EVER;

use super::*;

const SCHEMA: &str = r#"{"type":"object"}"#;

/// An agent with one tool that has to be asked what it is, and good neighbours.
fn beside(stage: &Stage, bad: &Handmade) -> Equipped {
    neighbour(stage).plugin("bad", json!([{ "name": "bad", "component": "bad.wasm" }]));
    stage.put("bad/bad.wasm", bad.wasm().unwrap());
    stage.agent(&stage.load(), "tools: [bad, good, read]")
}

fn refused(bad: &Handmade) -> String {
    let stage = Stage::new();
    let equipped = beside(&stage, bad);
    let [(tool, reason)] = &left_out(&equipped)[..] else { panic!("{:?}", left_out(&equipped)) };
    assert_eq!(*tool, "bad");
    assert_eq!(failed(&call(&equipped, "bad", json!({}))).0, FailureKind::UnknownTool);
    neighbours_work(&equipped);
    reason.clone()
}

fn saying(description: &str, schema: &str, before: &str) -> Handmade {
    Handmade::default().saying("bad", description, schema, before)
}

#[test]
fn a_component_that_says_what_it_is_works() {
    let stage = Stage::new();
    let equipped = beside(&stage, &saying("Good.", SCHEMA, ""));
    assert_eq!(left_out(&equipped), []);
    assert_eq!(done(&call(&equipped, "bad", json!({}))), "ok");
}

#[test]
fn one_that_traps_is_left_out() {
    let reason = refused(&Handmade::default());
    assert!(reason.contains("unreachable"), "{reason}");
}

#[test]
fn one_that_never_ends_is_left_out() {
    let reason = refused(&saying("", SCHEMA, FOR_EVER));
    assert!(reason.contains("time"), "{reason}");
}

#[test]
fn one_that_says_too_much_is_cut_or_left_out() {
    let stage = Stage::new();
    let equipped = beside(&stage, &saying(&"x".repeat(100_000), SCHEMA, ""));
    let spec = equipped.toolbox.specs().iter().find(|spec| spec.name == "bad").unwrap();
    assert_eq!(spec.description.chars().count(), 4097);
    drop((equipped, stage));
    let reason = refused(&saying(&"x".repeat(3_000_000), SCHEMA, ""));
    assert!(reason.contains("too") || reason.contains("more than"), "{reason}");
}

#[test]
fn one_whose_schema_is_none_is_left_out() {
    for (schema, why) in [
        ("nonsense", "is no JSON"),
        (r#"{"type":"string"}"#, "not that of an object"),
        (r#"{"type":"object","properties":{"a":{"type":7}}}"#, "not a usable JSON Schema"),
        (r#"{"$ref":"http://127.0.0.1:1/x"}"#, "not a usable JSON Schema"),
    ] {
        let reason = refused(&saying("Bad.", schema, ""));
        assert!(reason.contains(why), "{reason}");
    }
}

/// It says something else each time it is asked; what it said first is what it is, in this process and the next.
#[test]
fn one_that_changes_its_mind_is_held_to_what_it_said_first() {
    let fickle = Handmade::fickle("bad");
    let stage = Stage::new();
    let loaded = fickle.load(stage.engine()).unwrap();
    let twice = [(); 2].map(|()| loaded.describe(stage.engine()).unwrap().description);
    assert_ne!(twice[0], twice[1], "the control: it does change");

    let said = |equipped: &Equipped| {
        equipped.toolbox.specs().iter().find(|spec| spec.name == "bad").unwrap().description.clone()
    };
    let first = said(&beside(&stage, &fickle));
    assert_eq!(said(&stage.agent(&stage.load(), "tools: [bad]")), first);
    let Stage { world, folder, storage, .. } = stage;
    let later = Stage { world, compiler: Arc::new(compiler(&folder)), folder, storage };
    assert_eq!(said(&later.agent(&later.load(), "tools: [bad]")), first);
}

/// The manifest says that it needs storage; it wants files.
#[test]
fn one_that_imports_more_than_it_declares_is_refused_by_name() {
    let stage = Stage::new();
    neighbour(&stage).plugin("liar", json!([told("liar", "liar.wasm", &["storage"])]));
    stage.put("liar/liar.wasm", wasm("reach"));
    let words: &[&str] = &["storage", "fs.write"];
    let equipped = stage.agent(&stage.granting(&[("liar", words)]), "tools: [liar, good, read]");
    let result = call(&equipped, "liar", json!({ "steps": [] }));
    let (kind, text) = failed(&result);
    assert_eq!(kind, FailureKind::Crashed);
    assert!(text.contains("`liar` of the plugin `liar`") && text.contains("palisade:host/files"), "{text}");
    assert!(text.contains("does not declare `fs.read` or `fs.write`"), "{text}");
    neighbours_work(&equipped);
    // The control: one that declares it works.
    stage.plugin("liar", json!([told("liar", "liar.wasm", &["fs.read", "fs.write"])]));
    let equipped = stage.agent(&stage.granting(&[("liar", words)]), "tools: [liar, good, read]");
    assert_eq!(done(&call(&equipped, "liar", json!({ "steps": [] }))), "[]");
}

#[test]
fn floods_and_hunger_end_the_call_and_nothing_else() {
    let stage = Stage::new();
    neighbour(&stage).plugin("bad", json!([told("flood", "flood.wasm", &[]), told("grow", "grow.wasm", &[])]));
    stage.put("bad/flood.wasm", wasm("flood"));
    let equipped = stage.agent(&stage.load(), "tools: [flood, grow, good, read]");
    let flood = |way: &str, bytes: u64| call(&equipped, "flood", json!({ "way": way, "bytes": bytes }));
    assert_eq!(done(&flood("result", 10)), "xxxxxxxxxx");
    assert_eq!(failed(&flood("result", 8 << 20)).0, FailureKind::Limit);
    assert!(flood("stdout", 64 << 20).text().len() < 1 << 20);
    neighbours_work(&equipped);
    let hungry = "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable";
    let hungry = Handmade { call: hungry.to_owned(), ..Handmade::default() };
    stage.put("bad/grow.wasm", hungry.wasm().unwrap());
    assert_eq!(failed(&call(&equipped, "grow", json!({}))).0, FailureKind::Limit);
    neighbours_work(&equipped);
}
