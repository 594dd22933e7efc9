//! `palisade mcp` as programs meet it: over its standard input and output.
#![expect(clippy::unwrap_used, reason = "a value that is not there fails the test")]
#![expect(clippy::disallowed_methods, reason = "a test starts the program and ends it")]

mod clients;
mod pipe;
mod servers;

use serde_json::{Value, json};

use crate::world::World;
use pipe::{Pipe, text};

/// A model that waits so long that somebody has to end it.
const WAITS: &str = r#"[{"wait": 600000, "text": "too late"}]"#;

/// SUP-08, INJ-04: a client sees the tools of the agent's toolbox, each with what is true of it.
#[test]
fn the_tools_of_an_agent_are_served_as_it_has_them() {
    let world = World::new();
    let mut pipe = Pipe::begun(&world, &["--agent", "general"]);
    let tools = pipe.tools();
    let expected = world.palisade(&["explain", "general", "--json"]).with_code(0).json();
    let expected: Vec<&str> =
        expected["tools"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    // There are no skills to read, and no session whose panels could be looked at.
    let reads_nothing = |name: &str| name == "skill" || name.starts_with("panels_");
    assert_eq!(names, expected.into_iter().filter(|name| !reads_nothing(name)).collect::<Vec<_>>());
    let shown = world.palisade(&["tools", "show", "read", "--json"]).with_code(0).json();
    let read = tools.iter().find(|tool| tool["name"] == "read").unwrap();
    assert_eq!((&read["inputSchema"], &read["description"]), (&shown["input_schema"], &shown["description"]));
    let hints = |name: &str| {
        let annotations = &tools.iter().find(|tool| tool["name"] == name).unwrap()["annotations"];
        ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]
            .map(|hint| annotations[hint].as_bool().unwrap())
    };
    assert_eq!(hints("read"), [true, false, true, false]);
    assert_eq!(hints("think"), [true, false, true, false]);
    assert_eq!(hints("write")[..2], [false, true]);
    assert_eq!(hints("bash")[..2], [false, true], "a shell in an agent that writes");
    assert_eq!(pipe.leave(), 0);
    let tools = Pipe::begun(&world, &["--agent", "explore"]).tools();
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true), "{tools:?}");
}

/// What a tool is granted is what it is told to do, not what it says of itself.
#[test]
fn hints_follow_the_grants_of_a_definition() {
    let world = World::new();
    let agent = |grants: &str| {
        format!("---\nname: porter\ndescription: Carries.\ntools: [WebFetch, Bash, Write]\ngrants: {grants}\n---\n")
    };
    let hints = |grants: &str| {
        world.add_agent("porter", &agent(grants));
        let tools = Pipe::begun(&world, &["--agent", "porter"]).tools();
        tools
            .into_iter()
            .map(|tool| {
                let hints = &tool["annotations"];
                format!("{} {} {}", tool["name"].as_str().unwrap(), hints["readOnlyHint"], hints["openWorldHint"])
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        hints("{ files: { \".\": read }, http: [\"docs.rs\"] }"),
        ["bash true false", "web_fetch true true", "write true false"]
    );
    assert_eq!(
        hints("{ files: { \".\": read-write }, http: [\"GET,POST docs.rs\"] }"),
        ["bash false false", "web_fetch false true", "write false false"]
    );
}

/// The way of a call is that of a run: schema, rules, sandbox.
#[test]
fn a_call_is_held_to_the_agents_rules_and_to_its_sandbox() {
    let world = World::new();
    world.add_outside("secret.txt", b"canary");
    world.add_agent(
        "porter",
        "---\nname: porter\ndescription: Carries.\ntools: [Read, Write]\npermissions:\n  deny: [\"Write(src/**)\"]\n  ask: \
         [\"Write(docs/**)\"]\n---\n",
    );
    let mut pipe = Pipe::begun(&world, &["--agent", "porter"]);
    let read = pipe.call("read", json!({ "path": "README.md" }));
    assert!(text(&read).0.contains("Carries parcels") && !text(&read).1, "{read}");
    for path in ["../secret.txt", "/etc/passwd"] {
        let refused = pipe.call("read", json!({ "path": path }));
        assert!(text(&refused).1 && !refused.to_string().contains("canary"), "{refused}");
    }
    let written = pipe.call("write", json!({ "path": "new.txt", "content": "x" }));
    assert!(!text(&written).1, "{written}");
    assert_eq!(world.read("new.txt").as_deref(), Some("x"));
    let refused = pipe.call("write", json!({ "path": "src/new.rs", "content": "x" }));
    let (said, is_error) = text(&refused);
    assert!(is_error && said.contains("`write` is refused: "), "{refused}");
    let refused = pipe.call("write", json!({ "path": "docs/new.md", "content": "x" }));
    assert!(text(&refused).1, "nobody is there to be asked: {refused}");
    let refused = pipe.call("write", json!({ "path": ".git/hooks/pre-commit", "content": "x" }));
    assert!(text(&refused).0.contains("decides what runs"), "{refused}");
    assert_eq!(
        (world.read("src/new.rs"), world.read("docs/new.md"), world.read(".git/hooks/pre-commit")),
        (None, None, None)
    );
    let wrong = pipe.call("read", json!({ "file": "README.md" }));
    assert!(text(&wrong).0.starts_with("the input of `read` does not fit its schema"), "{wrong}");
    let unknown = pipe.ask("tools/call", json!({ "name": "grep", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert_eq!(pipe.leave(), 0);
}

/// DEL-11: what is taken back binds the next call of a server that goes on.
#[test]
fn an_agent_that_is_no_longer_trusted_serves_nothing_more() {
    let world = World::new();
    world.add(".palisade/agents/porter.md", "---\nname: porter\ndescription: Carries.\ntools: [Read]\n---\n");
    let ended = world.palisade_reading(&["mcp", "--agent", "porter"], "").with_code(1);
    assert!(ended.stderr.contains("palisade agents trust") && ended.stdout.is_empty(), "{ended:?}");
    world.palisade(&["agents", "trust", "porter"]).with_code(0);
    let mut pipe = Pipe::begun(&world, &["--agent", "porter"]);
    assert!(!text(&pipe.call("read", json!({ "path": "README.md" }))).1);
    world.palisade(&["agents", "untrust", "porter"]).with_code(0);
    // The files are looked at once a second.
    let refused = loop {
        let answer = pipe.call("read", json!({ "path": "README.md" }));
        if text(&answer).1 {
            break answer;
        }
    };
    assert!(text(&refused).0.contains("is not trusted any more"), "{refused}");
}

/// Without `--agent`: tools that change nothing, and every agent that people see.
#[test]
fn agents_are_tools_that_run_and_keep_their_sessions() {
    let world = World::new();
    world.add_agent("porter", "---\nname: porter\ndescription: Carries parcels.\ntools: [Read, Write]\n---\n");
    world.add_agent("shy", "---\nname: shy\ndescription: Hides.\nhidden: true\n---\n");
    let mut pipe = Pipe::begun(&world, &[]);
    let tools = pipe.tools();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "bash",
            "glob",
            "grep",
            "ls",
            "read",
            "think",
            "tree",
            "agent_explore",
            "agent_general",
            "agent_plan",
            "agent_porter",
            "agent_review",
            "agent_verification"
        ]
    );
    let read_only =
        |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap()["annotations"]["readOnlyHint"].clone();
    assert_eq!((read_only("agent_explore"), read_only("agent_porter")), (json!(true), json!(false)));

    let (told, answer) = pipe.call_telling("agent_explore", json!({ "task": "where are parcels unloaded?" }));
    let (said, is_error) = text(&answer);
    assert!(!is_error && said.contains("src/harbour.rs"), "{said}");
    assert!(told.iter().any(|line| line.starts_with("grep ")) && told.iter().any(|line| line == "step 1"), "{told:?}");
    let session = said.rsplit_once("[session ").unwrap().1.split(';').next().unwrap().to_owned();
    let answer = pipe.call("agent_explore", json!({ "task": "and the ferry?", "session": session }));
    assert!(text(&answer).0.contains(&format!("[session {session};")), "{answer}");
    let refused = pipe.call("agent_plan", json!({ "task": "and the ferry?", "session": session }));
    assert!(text(&refused).1 && text(&refused).0.contains("is held with `explore`"), "{refused}");
    assert_eq!(pipe.leave(), 0);

    let shown = world.palisade(&["sessions", "show", &session, "--json"]).with_code(0).json();
    let said: Vec<&Value> = shown["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["entry"])
        .filter(|entry| entry["entry"] == "user")
        .map(|entry| &entry["text"])
        .collect();
    assert_eq!(said, ["where are parcels unloaded?", "and the ferry?"]);
}

/// X6
#[test]
fn tools_that_run_apart_say_the_same() {
    let world = World::new();
    let read = |arguments: &[&str]| {
        let mut pipe = Pipe::begun(&world, arguments);
        let answers = [
            pipe.call("read", json!({ "path": "README.md" })),
            pipe.call("read", json!({ "path": "../secret.txt" })),
            pipe.call("bash", json!({ "command": "touch x; ls" })),
        ];
        assert_eq!(pipe.leave(), 0);
        answers.map(|answer| answer["result"].clone())
    };
    assert_eq!(read(&["--agent", "explore"]), read(&["--agent", "explore", "--apart"]));
}

/// An agent outside of the sandbox is started by a person and by nobody else.
#[test]
fn agents_that_nothing_holds_are_not_offered() {
    let world = World::new();
    world.configure("[outside]\nallow = [\"claude-cli\"]\n");
    world.add_agent("stranger", "---\nname: stranger\ndescription: Elsewhere.\nmodel: claude-cli\n---\n");
    let names: Vec<Value> = Pipe::begun(&world, &[]).tools().iter().map(|tool| tool["name"].clone()).collect();
    assert!(names.contains(&json!("agent_explore")) && !names.contains(&json!("agent_stranger")), "{names:?}");
}

#[test]
fn a_run_that_is_cancelled_ends_as_cancelled() {
    let world = World::new();
    let model = world.script("waits.json", WAITS);
    let mut pipe = Pipe::begun(&world, &["--model", &model]);
    let id = pipe.begin_telling("agent_explore", json!({ "task": "take your time" }));
    pipe.wait_for_progress("step 1");
    pipe.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    assert!(!text(&pipe.call("read", json!({ "path": "README.md" }))).1, "others go on");
    assert_eq!(pipe.leave(), 0);
    assert_eq!(endings(&world), ["cancelled"]);
}

/// Whoever leaves has no use for an answer; what was said is kept.
#[test]
fn runs_end_when_the_client_leaves_or_the_program_is_told_to_end() {
    for signal in [None, Some("INT"), Some("TERM")] {
        let world = World::new();
        let model = world.script("waits.json", WAITS);
        let mut pipe = Pipe::begun(&world, &["--model", &model]);
        for _ in 0..2 {
            pipe.begin_telling("agent_explore", json!({ "task": "take your time" }));
            pipe.wait_for_progress("step 1");
        }
        match signal {
            None => assert_eq!(pipe.leave(), 0),
            Some(signal) => assert_eq!(pipe.signal(signal), 0, "{signal}"),
        }
        assert_eq!(endings(&world), ["cancelled", "cancelled"], "{signal:?}");
    }
}

/// How the runs ended that are kept.
fn endings(world: &World) -> Vec<String> {
    let list = world.palisade(&["sessions", "list", "--json"]).with_code(0).json();
    let ids = list["sessions"].as_array().unwrap().iter().map(|session| session["sessionId"].as_str().unwrap());
    let ending = |id: &str| {
        let shown = world.palisade(&["sessions", "show", id, "--json"]).with_code(0).json();
        shown["lastRun"]["ending"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned()
    };
    ids.map(ending).collect()
}

/// Whatever a client writes: answers of the protocol on standard output, and nothing else.
#[test]
fn nonsense_is_answered_and_standard_output_holds_nothing_but_the_protocol() {
    let world = World::new();
    let input = concat!(
        "nonsense\n",
        "[]\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",",
        "\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"0\"}}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"nothing\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":[]}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"read\",\"arguments\":{\"path\":\"README.md\"}}}",
    );
    let ended = world.palisade_reading(&["mcp"], input).with_code(0);
    let answers: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let find = |id: Value| answers.iter().filter(|answer| answer["id"] == id).collect::<Vec<_>>();
    assert_eq!(find(Value::Null).iter().map(|it| it["error"]["code"].clone()).collect::<Vec<_>>(), [-32700, -32600]);
    for (id, code) in [(1, -32602), (3, -32601), (4, -32602)] {
        assert_eq!(find(json!(id))[0]["error"]["code"], code, "{answers:?}");
    }
    assert!(text(find(json!(5))[0]).0.contains("Carries parcels"), "{answers:?}");
    assert_eq!(answers.len(), 7, "{answers:?}");
    assert!(ended.stderr.starts_with("explore · 7 tools and 5 agents · "), "{}", ended.stderr);
}

#[test]
fn what_cannot_be_served_is_said_on_standard_error() {
    let world = World::new();
    for (arguments, code) in [
        (&["mcp", "--agent", "nobody"][..], 1),
        (&["mcp", "--workspace", "missing"], 1),
        (&["mcp", "--model", "scripted:missing.json", "--agent", "explore"], 2),
        (&["mcp", "--model", "nothing:such"], 1),
    ] {
        let ended = world.palisade(arguments).with_code(code);
        assert!(ended.stdout.is_empty() && ended.stderr.starts_with("error: "), "{arguments:?}: {ended:?}");
    }
}
