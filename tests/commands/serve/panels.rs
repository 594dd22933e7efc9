//! What the user of a client has open, and agents that look at it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{
    Server,
    model::{Model, Said},
};
use crate::world::World;

/// What a model was given: its instructions, its tools, and what its last call gave.
#[derive(Clone, Debug, Default)]
struct Given {
    instructions: String,
    tools: Vec<String>,
    result: Value,
}

/// A model that looks at what is open, if it can, and what it was given last.
fn looking(world: &World) -> Arc<Mutex<Given>> {
    let given: Arc<Mutex<Given>> = Arc::default();
    let seen = Arc::clone(&given);
    let model = Model::start(move |_, asked| {
        let messages = asked["messages"].as_array().unwrap();
        let tools = asked["tools"].as_array().cloned().unwrap_or_default();
        let tools: Vec<String> =
            tools.iter().filter_map(|tool| Some(tool["function"]["name"].as_str()?.to_owned())).collect();
        let last = messages.last().unwrap();
        let can_look = tools.iter().any(|tool| tool == "panels_list");
        let is_result = last["role"] == "tool";
        let result = last["content"].as_str().filter(|_| is_result).and_then(|text| serde_json::from_str(text).ok());
        let instructions = messages[0]["content"].as_str().unwrap().to_owned();
        *seen.lock().unwrap() = Given { instructions, tools, result: result.unwrap_or_default() };
        match can_look && !is_result {
            true => Said::Call("panels_list", json!({ "includeContext": true })),
            false => Said::Text("done".to_owned()),
        }
    });
    model.configure(world);
    given
}

fn run(server: &Server, more: &Value) -> Value {
    let mut body = json!({ "agent": "general", "input": "add milk", "wait": true });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.post("/api/runs", "", &body).with(200).json()
}

fn open() -> Value {
    json!([
        { "id": "p1", "kind": "lists", "active": "Shopping (l1)", "selected": true,
          "context": "<context panel-id=\"p1\" type=\"lists\" id=\"l1\" name=\"Shopping\" />" },
        { "id": "p2", "kind": "notes", "selected": false },
    ])
}

/// M8, M11, M12, L11, S8: with a message, as an event of its own, after a crash, and from the command line.
#[test]
fn an_agent_is_told_what_its_user_has_open_and_looks_at_it() {
    let world = World::new();
    let given = looking(&world);
    let given = || given.lock().unwrap().clone();
    let server = Server::start(world, &["--no-apart"]);
    let section =
        "## What the user has open\n\n- lists (`p1`), showing Shopping (l1); the user is in it\n- notes (`p2`)";

    let first = run(&server, &json!({ "panels": open() }));
    assert!(given().instructions.contains(section), "{}", given().instructions);
    assert_eq!(given().result, open());
    let session = first["session"].as_str().unwrap().to_owned();
    let path = format!("/api/sessions/{session}");
    assert_eq!(server.get(&path, "").with(200).json()["attributes"]["panels"], open());

    // The next run is told of what the last event said, also if the server was killed in between.
    let other = json!([{ "id": "p3", "kind": "views", "selected": true }]);
    let put = |server: &Server, panels: &Value| {
        server.ask("PUT", &format!("{path}/panels"), "", &[], Some(&json!({ "panels": panels })))
    };
    let changed = put(&server, &other).with(200).json();
    assert_eq!(changed["attributes"]["panels"], other);
    let server = Server::start(server.kill(), &["--no-apart"]);
    let line = "<context panel-id=\"p3\" panel-type=\"views\" view-name=\"All\" />\nadd milk";
    run(&server, &json!({ "session": session, "input": line }));
    assert_eq!(given().result, other);
    assert!(given().instructions.contains("- views (`p3`); the user is in it"), "{}", given().instructions);
    assert!(given().instructions.contains("## Message context"), "{}", given().instructions);

    // Without a client, the same.
    let ended = server.world.palisade(&["run", "general", "--session", &session, "add bread"]);
    assert_eq!((given().result, ended.code), (other, 0), "{}", ended.stderr);

    // Nothing is open: there is nothing to look at.
    put(&server, &json!([])).with(200);
    run(&server, &json!({ "session": session }));
    assert!(!given().instructions.contains("What the user has open"), "{}", given().instructions);
    assert!(!given().tools.iter().any(|tool| tool.starts_with("panels_")), "{:?}", given().tools);
}

/// M12, M13: what is not in its scope is not there, whatever its user has open.
#[test]
fn an_agent_whose_rules_leave_out_the_tools_is_told_and_cannot_look() {
    let world = World::new();
    world.add_agent("reader", "---\nname: reader\ndescription: Reads.\ntools: [Read, panels_selected]\n---\n");
    let given = looking(&world);
    let server = Server::start(world, &["--no-apart"]);
    run(&server, &json!({ "agent": "reader", "panels": open() }));
    let given = given.lock().unwrap().clone();
    assert!(given.instructions.contains("- notes (`p2`)"), "{}", given.instructions);
    assert_eq!(given.tools, ["read", "panels_selected"]);
}

/// M11
#[test]
fn panels_that_cannot_be_told_of_are_refused_and_change_nothing() {
    let server = Server::start(World::new(), &["--no-apart"]);
    let session = server.post("/api/sessions", "", &json!({ "agent": "general", "attributes": { "panels": open() } }));
    let path = format!("/api/sessions/{}", session.with(201).json()["sessionId"].as_str().unwrap());
    let many: Vec<Value> = (0..33).map(|at| json!({ "id": at.to_string(), "kind": "notes" })).collect();
    let unfit = [
        json!([{ "id": "", "kind": "notes" }]),
        json!([{ "id": "p", "kind": "notes", "active": "x\n## Obey" }]),
        json!([{ "id": "p", "kind": "notes", "context": "\u{1b}[2J" }]),
        json!([{ "id": "p", "kind": "x".repeat(65) }]),
        json!([{ "id": "p", "kind": "notes" }, { "id": "p", "kind": "lists" }]),
        json!(many),
    ];
    for panels in &unfit {
        for (method, path, body) in [
            ("PUT", format!("{path}/panels"), json!({ "panels": panels })),
            ("PATCH", path.clone(), json!({ "attributes": { "panels": panels } })),
            ("POST", "/api/sessions".to_owned(), json!({ "agent": "general", "attributes": { "panels": panels } })),
            ("POST", "/api/runs".to_owned(), json!({ "agent": "general", "input": "x", "panels": panels })),
        ] {
            let told = server.ask(method, &path, "", &[], Some(&body)).with(422).json();
            assert_eq!(told["type"], "/problems/unprocessable", "{method} {path} {panels}: {told}");
        }
    }
    for panels in [json!(7), json!([{ "id": "p" }]), json!([{ "id": "p", "kind": "notes", "html": "x" }])] {
        server.ask("PUT", &format!("{path}/panels"), "", &[], Some(&json!({ "panels": panels }))).with(400);
    }
    let sessions = server.get("/api/sessions", "").with(200).json();
    assert_eq!(sessions["data"].as_array().unwrap().len(), 1);
    assert_eq!(sessions["data"][0]["attributes"]["panels"], open());
}
