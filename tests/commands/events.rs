//! `palisade run --output-format`, and what the documents say of it.
#![expect(clippy::unwrap_used, reason = "a value that is not there fails the test")]

use serde_json::{Value, json};

use crate::world::{Ended, World};

fn lines(ended: &Ended) -> Vec<Value> {
    ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn events(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["event"].as_str().unwrap()).collect()
}

#[track_caller]
fn check_against_the_docs(lines: &[Value]) {
    let schema: Value = serde_json::from_str(include_str!("../../docs/events.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for line in lines {
        let faults: Vec<String> = validator.iter_errors(line).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{line}: {faults:?}");
    }
}

/// S1
#[test]
fn every_line_of_a_run_is_what_the_schema_says() {
    let world = World::new();
    for more in [&[][..], &["--transcript"], &["--max-steps", "1"], &["--timeout", "0"]] {
        let code = if more.len() < 2 { 0 } else { 3 };
        let arguments = [&["run", "explore", "where are parcels unloaded?", "--output-format", "stream-json"], more];
        let lines = lines(&world.palisade(&arguments.concat()).with_code(code));
        check_against_the_docs(&lines);
        let events = events(&lines);
        assert_eq!(events.first(), Some(&"started"), "{events:?}");
        assert_eq!(&events[events.len() - 2..], ["run_ended", "result"], "{events:?}");
        let count = |name: &str| events.iter().filter(|event| **event == name).count();
        assert_eq!(count("call_started"), count("call_finished"), "{events:?}");
    }
}

/// A model that talks while it works: it thinks, speaks in pieces, calls what it may not, and answers.
const TALKS: &str = r##"[
    {"thinking": ["Hm, ", "parcels."], "text": ["I will ", "look."], "calls": [
        {"tool": "ls", "input": {"path": "src"}},
        {"tool": "write", "input": {"path": "x", "content": "y"}},
        {"tool": "read", "input": {"path": "/etc/passwd"}},
        {"tool": "read", "input": {"pth": "src/main.rs"}}
    ], "usage": {"input_tokens": 100, "output_tokens": 20, "cost_micros": 300}},
    {"text": ["# Parcels\n\nIn **", "src**.\n"], "usage": {"input_tokens": 200, "output_tokens": 10}}
]"##;

#[test]
fn what_a_model_says_and_wants_is_told_as_it_comes() {
    let world = World::new();
    let model = format!("scripted:{}", world.add_outside("script.json", TALKS.as_bytes()));
    let ended = world.palisade(&["run", "explore", "go", "--model", &model, "--output-format", "stream-json"]);
    let lines = lines(&ended.with_code(0));
    check_against_the_docs(&lines);
    let told = events(&lines);
    for event in ["reply_thinking", "reply_text", "reply_call", "model_replied", "call_finished"] {
        assert!(told.contains(&event), "{event} is not among {told:?}");
    }
    let text = |step: &[Value]| -> String {
        let parts = step.iter().filter(|line| line["event"] == "reply_text");
        parts.map(|line| line["text"].as_str().unwrap()).collect()
    };
    let second = lines.iter().rposition(|line| line["event"] == "step_started").unwrap();
    assert_eq!(
        (text(&lines[..second]).as_str(), text(&lines[second..]).as_str()),
        ("I will look.", "# Parcels\n\nIn **src**.\n")
    );
    let failures: Vec<&Value> =
        lines.iter().filter(|line| line["event"] == "call_finished").map(|line| &line["failure"]).collect();
    assert!(failures.contains(&&json!("unknown_tool")) && failures.contains(&&json!("invalid_input")), "{failures:?}");
    let usage = json!({ "input_tokens": 300, "output_tokens": 30, "cost_micros": 300 });
    assert_eq!(lines.last().unwrap()["usage"], usage);
}

#[test]
fn a_reply_that_breaks_off_is_kept_as_far_as_it_came() {
    let world = World::new();
    let script =
        r#"[{"text": ["Half a ", "sentence"], "error": {"kind": "unreachable", "message": "the line is dead"}}]"#;
    let model = format!("scripted:{}", world.add_outside("script.json", script.as_bytes()));
    let report = world.palisade(&["run", "explore", "go", "--model", &model, "--json"]).with_code(4).json();
    check_against_the_docs(std::slice::from_ref(&report));
    assert_eq!((&report["outcome"], &report["said_last"]), (&json!("failed"), &json!("Half a sentence")));
    let model = format!("scripted:{}", world.add_outside("script.json", script.as_bytes()));
    let ended = world.palisade(&["run", "explore", "go", "--model", &model]).with_code(4);
    assert!(ended.stderr.contains("what was said last:\n  Half a sentence\n"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
}

#[test]
fn a_model_that_goes_in_circles_has_an_exit_code_of_its_own() {
    let world = World::new();
    let reply = r#"{"calls": [{"tool": "ls", "input": {"path": "src"}}]}"#;
    let script = format!("[{}]", [reply; 12].join(","));
    let model = format!("scripted:{}", world.add_outside("script.json", script.as_bytes()));
    let report = world.palisade(&["run", "explore", "go", "--model", &model, "--json"]).with_code(6).json();
    assert_eq!(report["outcome"], "circling");
    check_against_the_docs(&[report]);
}

#[test]
fn an_answer_that_fits_the_schema_is_printed_as_it_is() {
    let world = World::new();
    let script = r#"[{"text": ["{\"places\": ", "[\"*a*\"]}"]}]"#;
    let model = format!("scripted:{}", world.add_outside("script.json", script.as_bytes()));
    let schema = r#"{"type": "object", "required": ["places"]}"#;
    let ended = world.palisade(&["run", "explore", "go", "--model", &model, "--json-schema", schema]).with_code(0);
    assert_eq!(ended.stdout, "{\"places\": [\"*a*\"]}\n");
}

#[test]
fn the_first_line_says_who_works_where() {
    let world = World::new();
    let mut lines = lines(&world.palisade(&["run", "explore", "--output-format", "stream-json"]).with_code(0));
    let ids = ["session", "run"].map(|id| lines[0].as_object_mut().unwrap().remove(id));
    let last = lines.last().unwrap();
    assert_eq!(ids, ["session", "run"].map(|id| last.get(id).cloned()));
    assert!(ids.iter().all(Option::is_some), "{last}");
    let expected = json!({
        "v": 1,
        "event": "started",
        "agent": "explore",
        "provider": "offline",
        "model": "",
        "workspace": world.workspace().canonicalize().unwrap().display().to_string(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    assert_eq!(lines[0], expected);
}

#[test]
fn the_last_line_is_what_json_prints() {
    let world = World::new();
    // No two runs of a session that is kept are known by the same id.
    let asked = ["run", "explore", "parcels", "--ephemeral"];
    let stream = world.palisade(&[&asked[..], &["--output-format", "stream-json"]].concat()).with_code(0);
    let last = lines(&stream).pop().unwrap();
    for arguments in [&["--json"][..], &["--output-format", "json"]] {
        let whole = world.palisade(&[&asked[..], arguments].concat()).with_code(0).json();
        assert_eq!(whole, last);
    }
    check_against_the_docs(&[last]);
}

#[test]
fn text_is_the_default_format() {
    let world = World::new();
    let plain = world.palisade(&["run", "explore", "parcels"]).with_code(0);
    assert_eq!(
        world.palisade(&["run", "explore", "parcels", "--output-format", "text"]).with_code(0).stdout,
        plain.stdout
    );
    world.palisade(&["run", "explore", "--output-format", "xml"]).with_code(2);
    world.palisade(&["run", "explore", "--output-format", "json", "--json"]).with_code(2);
    world.palisade(&["run", "explore", "--transcript"]).with_code(2);
}

/// The offline model writes no JSON, so it is the one that cannot do it.
#[test]
fn an_answer_that_does_not_fit_the_schema_has_an_exit_code_of_its_own() {
    let world = World::new();
    let schema = r#"{"type": "object", "required": ["places"]}"#;
    let ended = world.palisade(&["run", "explore", "parcels", "--json-schema", schema]).with_code(5);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("the answer does not fit the schema"), "{}", ended.stderr);
    world.add("schema.json", schema);
    let file = world.palisade(&["run", "explore", "parcels", "--json-schema", "schema.json", "--json"]).with_code(5);
    assert_eq!((&file.json()["outcome"], &file.json()["answer"]), (&json!("unfit"), &json!(null)));
    check_against_the_docs(&[file.json()]);
}

#[test]
fn a_schema_that_is_none_is_an_error_before_the_run() {
    let world = World::new();
    world.add("broken.json", "{");
    let check = |schema: &str, expected: &str| {
        let ended = world.palisade(&["run", "explore", "parcels", "--json-schema", schema]).with_code(1);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
        assert!(!ended.stderr.contains("grep"), "{}", ended.stderr);
    };
    check("missing.json", "the schema missing.json cannot be read");
    check("broken.json", "the schema broken.json is not JSON");
    check(r#"{"type": 7}"#, "not a usable JSON Schema");
}

#[test]
fn standard_input_is_added_below_the_task() {
    let world = World::new();
    let check = |words: &[&str], input: &str, expected: &str| {
        let arguments = [&["run", "explore", "--json", "--transcript"], words].concat();
        let report = world.palisade_reading(&arguments, input).with_code(0).json();
        assert_eq!(report["transcript"][0]["text"], expected);
    };
    check(&["what", "is", "this?", "-"], "fn parcels() {}\n", "what is this?\n\nfn parcels() {}\n");
    check(&["-", "parcels"], "more\n", "parcels\n\nmore\n");
    check(&["-"], "parcels\n", "parcels\n");
    check(&["parcels"], "not read", "parcels");
}

/// CF-38
#[test]
fn a_budget_for_costs_is_an_amount_in_dollars() {
    let world = World::new();
    let ended = world.palisade(&["run", "explore", "parcels", "--max-cost", "0"]).with_code(3);
    assert!(ended.stderr.contains("the run has cost all that it may; "), "{}", ended.stderr);
    world.palisade(&["run", "explore", "parcels", "--max-cost", "0.50"]).with_code(0);
    let ended = world.palisade(&["run", "explore", "parcels", "--max-cost", "lots"]).with_code(2);
    assert!(ended.stderr.contains("`lots` is not an amount in dollars, such as 0.50"), "{}", ended.stderr);
}
