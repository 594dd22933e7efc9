//! Agents that ask agents, on the command line.

use serde_json::Value;

use crate::world::World;

/// A coordinator that only reads, and a worker that writes.
fn world(grants: &str) -> World {
    let world = World::new();
    let coordinator = format!(
        "---\nname: coordinator\ndescription: Asks others.\ntools: [Read, Task, agents_message]\n{grants}\n---\n"
    );
    world.add_agent("coordinator", &coordinator);
    world.add_agent("worker", "---\nname: worker\ndescription: Writes.\ntools: [Read, Write]\n---\n");
    world
}

/// The coordinator asks, the worker writes and says so, the coordinator answers.
const ASKS: &str = r#"[
    {"calls": [{"tool": "task", "input": {"agent": "worker", "prompt": "write it", "description": "a file"}}]},
    {"calls": [{"tool": "write", "input": {"path": "new.txt", "content": "x"}}]},
    {"text": "I tried.", "usage": {"input_tokens": 10, "output_tokens": 5}},
    {"text": "It was tried."}
]"#;

const IN_BACKGROUND: &str = r#"[
    {"calls": [{"tool": "task", "input": {"agent": "worker", "prompt": "take your time", "background": true}}]},
    {"text": "one of two"},
    {"text": "one of two"},
    {"text": "all is done"}
]"#;

/// CF-31, DEL-02
#[test]
fn who_is_asked_by_a_reader_does_not_write_and_everybody_is_told_why() {
    let world = world("");
    let model = world.script("asks.json", ASKS);
    let ended = world.palisade(&["run", "coordinator", "go", "--model", &model]).with_code(0);
    assert_eq!(world.read("new.txt"), None);
    assert_eq!(ended.stdout.trim(), "It was tried.");
    for part in [
        "  worker  a file\n",
        "cut `.` is read-only here: `coordinator`, which asks, has it read-only; `grants: { files: { \".\": read-write } }`",
        "\n    write   path=new.txt",
        "\n  worker answered  15 tokens, ",
        ", 1 agent asked, ",
    ] {
        assert!(ended.stderr.contains(part), "{part} is not in {}", ended.stderr);
    }
}

/// DEL-13
#[test]
fn a_coordinator_that_cannot_write_has_a_worker_write_if_it_was_granted_that() {
    let world = world("grants: { files: { \".\": read-write }, agents: [worker] }");
    let model = world.script("asks.json", ASKS);
    let ended = world.palisade(&["run", "coordinator", "go", "--model", &model]).with_code(0);
    assert_eq!(world.read("new.txt").as_deref(), Some("x"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("cut "), "{}", ended.stderr);
    let itself = r#"[{"calls": [{"tool": "write", "input": {"path": "own.txt", "content": "x"}}]}, {"text": "no"}]"#;
    let model = world.script("itself.json", itself);
    world.palisade(&["run", "coordinator", "go", "--model", &model]).with_code(0);
    assert_eq!(world.read("own.txt"), None);
}

/// CF-31. The option under which tools go down, too.
#[test]
fn with_intersect_nobody_has_a_tool_that_the_one_who_asks_has_not() {
    let world = world("grants: { files: { \".\": read-write }, agents: [worker] }");
    world.configure("[delegation]\nscope = \"intersect\"\n");
    let model = world.script("asks.json", ASKS);
    let ended = world.palisade(&["run", "coordinator", "go", "--model", &model]).with_code(0);
    assert_eq!(world.read("new.txt"), None);
    let cut = "cut the tool `write` is not there: `coordinator`, which asks, does not have it, and no agent may";
    assert!(ended.stderr.contains(cut), "{}", ended.stderr);
}

/// H1, CF-31
#[test]
fn an_agent_that_asks_nobody_itself_can_be_asked_again() {
    let world = world("");
    let asks = r#"{"calls": [{"tool": "task", "input": {"agent": "worker", "prompt": "go"}}]}, {"text": "an answer"}"#;
    let model = world.script("twice.json", &format!("[{asks}, {asks}, {{\"text\": \"done\"}}]"));
    let ended = world.palisade(&["run", "coordinator", "go", "--model", &model, "--json", "--transcript"]).with_code(0);
    let said = ended.json()["transcript"].to_string();
    let sessions: Vec<&str> = said.match_indices("session_id").map(|(at, _)| &said[at..at + 60]).collect();
    assert!(sessions.len() == 2 && sessions[0] == sessions[1], "{said}");
}

/// J7
#[test]
fn work_in_the_background_is_waited_for_and_its_answer_is_another_turn() {
    let world = world("");
    let model = world.script("background.json", IN_BACKGROUND);
    for more in [&[][..], &["--ephemeral"]] {
        let arguments = [&["run", "coordinator", "go", "--model", &model], more].concat();
        let ended = world.palisade(&arguments).with_code(0);
        assert_eq!(ended.stdout.trim(), "all is done", "{}", ended.stderr);
        assert!(ended.stderr.contains("3 steps, 1 call, 1 agent asked"), "{}", ended.stderr);
    }
}

/// S4, S5, CF-34
#[test]
fn what_happens_in_an_agent_that_was_asked_is_told_as_the_documents_say() {
    let world = world("");
    let schema: Value = serde_json::from_str(include_str!("../../docs/events.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for script in [ASKS, IN_BACKGROUND] {
        let model = world.script("script.json", script);
        let arguments = ["run", "coordinator", "go", "--model", &model, "--output-format", "stream-json"];
        let ended = world.palisade(&arguments).with_code(0);
        let lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for line in &lines {
            let faults: Vec<String> = validator.iter_errors(line).map(|error| error.to_string()).collect();
            assert!(faults.is_empty(), "{line}: {faults:?}");
        }
        let of = |event: &str| lines.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
        let (starts, ends) = (of("subagent_start"), of("subagent_end"));
        assert_eq!((starts.len(), ends.len()), (1, 1), "{}", ended.stdout);
        assert_eq!((of("agent_start").len(), of("agent_end").len()), (1, 1), "{}", ended.stdout);
        assert_eq!((&starts[0]["task"], &ends[0]["success"]), (&ends[0]["task"], &Value::Bool(true)));
        assert_eq!(starts[0]["cut"].as_array().unwrap().len(), 1);
        assert!(of("subagent_progress").iter().any(|line| line["of"]["event"] == "run_started"));
    }
}

/// CF-9, DEL-12
#[test]
fn an_agent_that_may_not_be_asked_is_not() {
    let world = world("permissions: { deny: [\"Agent(general)\"] }");
    for name in ["general", "General", "general-purpose", "nobody"] {
        let asks = r#"[{"calls": [{"tool": "task", "input": {"agent": "NAME", "prompt": "go"}}]}, {"text": "no"}]"#;
        let model = world.script("asks.json", &asks.replace("NAME", name));
        let ended = world.palisade(&["run", "coordinator", "go", "--model", &model, "--json"]).with_code(0);
        assert_eq!(ended.json()["answer"], "no", "{name}");
        assert!(!ended.stderr.contains("agent asked"), "{name}: {}", ended.stderr);
    }
}

/// CF-21
#[test]
fn what_an_agent_asks_others_with_is_explained() {
    let world = world("");
    let explained = world.palisade(&["explain", "coordinator", "--json"]).with_code(0).json();
    let names: Vec<&str> =
        explained["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["read", "task", "parallel_task", "agent_ask", "task_cancel", "task_result", "agents_message"]);
    assert_eq!(explained["grants"]["agents"], serde_json::json!(["*"]));
    let built_in = world.palisade(&["explain", "general", "--json"]).with_code(0).json();
    assert_eq!(built_in["grants"]["agents"], serde_json::json!([]));
}

#[test]
fn no_agent_gets_more_than_the_one_that_asks_it() {
    let world = world("");
    let proof = world.palisade(&["prove", "--delegation", "--json"]).with_code(0).json();
    assert_eq!((&proof["refused"], &proof["breaches"], &proof["untried"]), (&100.into(), &0.into(), &0.into()));
    let proof = world.palisade(&["prove", "--delegation", "coordinator", "--json"]).with_code(0).json();
    assert_eq!((&proof["breaches"], &proof["untried"]), (&0.into(), &0.into()), "{proof}");
    assert!(proof["granted"].as_u64().unwrap() > 0, "{proof}");
    let table = world.palisade(&["prove", "--delegation", "explore"]).with_code(0).stdout;
    assert!(table.lines().last().unwrap().starts_with("100 refused, 0 granted, 0 breaches; 100 could not"), "{table}");
    world.palisade(&["prove"]).with_code(2);
}
