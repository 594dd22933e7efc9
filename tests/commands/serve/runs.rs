//! Agents at work over HTTP.

use serde_json::{Value, json};

use super::{
    Server,
    model::{Model, Said},
};
use crate::world::World;

/// The events of a stream, with their numbers.
pub(super) fn events(text: &str) -> Vec<(u64, Value)> {
    let field = |part: &str, name: &str| part.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
    let parts = text.split("\n\n").filter_map(|part| {
        let (id, data) = (field(part, "id:")?, field(part, "data:")?);
        Some((id.parse().unwrap(), serde_json::from_str(&data).unwrap()))
    });
    parts.collect()
}

#[test]
fn an_agent_works_and_is_watched() {
    let server = Server::start(World::new(), &[]);
    let begun = server
        .post("/api/runs", "", &json!({ "agent": "explore", "input": "where are parcels unloaded?" }))
        .with(202)
        .json();
    let run = begun["id"].as_str().unwrap();
    let whole = events(&server.get(&format!("/api/runs/{run}/events"), "").with(200).body);
    let names: Vec<&str> = whole.iter().filter_map(|(_, event)| event["event"].as_str()).collect();
    assert_eq!((names[0], names[names.len() - 1]), ("run_started", "run_ended"), "{names:?}");
    assert!(names.contains(&"call_finished"));
    assert!(whole.iter().map(|(number, _)| *number).eq(1..=whole.len() as u64));
    let ended = server.get(&format!("/api/runs/{run}"), "").with(200).json();
    assert_eq!((&ended["status"], &ended["ending"]), (&json!("ended"), &json!("answered")));
    let entries =
        server.get(&format!("/api/sessions/{}/entries", begun["session"].as_str().unwrap()), "").with(200).json();
    assert!(entries["data"].to_string().contains("src/harbour.rs"), "{entries}");
}

/// HTTP-11
#[test]
fn whoever_comes_back_reads_on_where_it_left_off() {
    let server = Server::start(World::new(), &[]);
    let begun =
        server.post("/api/runs", "", &json!({ "agent": "explore", "input": "map", "wait": true })).with(200).json();
    let path = format!("/api/runs/{}/events", begun["id"].as_str().unwrap());
    let whole = events(&server.get(&path, "").body);
    for left in [0, 1, whole.len() / 2, whole.len() - 1, whole.len()] {
        let rest = server.ask("GET", &path, "", &[("Last-Event-ID", &left.to_string())], None);
        assert_eq!(events(&rest.body), whole[left..], "{left}");
    }
    server.ask("GET", &path, "", &[("Last-Event-ID", "x")], None).with(400);
}

/// HTTP-12
#[test]
fn the_same_request_twice_is_one() {
    let server = Server::start(World::new(), &[]);
    let ask = |key: &str, input: &str| {
        let body = json!({ "agent": "explore", "input": input });
        server.ask("POST", "/api/runs", "", &[("Idempotency-Key", key)], Some(&body))
    };
    let first = ask("a", "map").with(202).json();
    assert_eq!(ask("a", "map").with(200).json()["id"], first["id"]);
    ask("a", "another").with(422);
    assert_ne!(ask("b", "map").with(202).json()["id"], first["id"]);
    assert_eq!(server.get("/api/sessions", "").json()["data"].as_array().unwrap().len(), 2);
}

#[test]
fn sessions_are_named_pinned_cleared_and_deleted() {
    let server = Server::start(World::new(), &[]);
    let session = server.post("/api/sessions", "", &json!({ "agent": "explore" })).with(201).json();
    let path = format!("/api/sessions/{}", session["sessionId"].as_str().unwrap());
    let change = |body: Value| server.ask("PATCH", &path, "", &[], Some(&body)).with(200).json();
    assert_eq!(change(json!({ "name": "river", "pinned": true }))["name"], "river");
    assert!(change(json!({ "name": null }))["name"].is_null());
    assert!(change(json!({ "attributes": { "a": 1 } }))["pinnedAt"].is_string());
    server.ask("PATCH", &path, "", &[], Some(&json!({ "title": "x" }))).with(400);
    // Who was asked, and as what, only the server says.
    for name in ["identity", "fingerprint"] {
        let body = json!({ "attributes": { (name): "another" } });
        server.ask("PATCH", &path, "", &[], Some(&body)).with(422);
        let body = json!({ "agent": "explore", "attributes": { (name): "another" } });
        assert!(server.post("/api/sessions", "", &body).with(422).body.contains(name));
    }
    server.post(&format!("{path}/clear"), "", &json!({})).with(200);
    server.ask("DELETE", &path, "", &[], None).with(204);
    server.get(&path, "").with(404);
}

/// P16: what was begun goes on after a crash.
#[test]
fn a_run_goes_on_when_the_server_is_started_again() {
    let world = World::new();
    world.fill_for_a_long_search();
    let server = Server::start(world, &["--no-apart"]);
    let begun = server
        .post("/api/runs", "", &json!({ "agent": "explore", "input": "where is `nowhere_to_be_found`?" }))
        .with(202)
        .json();
    let run = begun["id"].as_str().unwrap().to_owned();
    let server = Server::start(server.kill(), &["--no-apart"]);
    let whole = events(&server.get(&format!("/api/runs/{run}/events"), "").with(200).body);
    assert_eq!(whole.last().unwrap().1["event"], "run_ended", "{whole:?}");
    assert_eq!(server.get(&format!("/api/runs/{run}"), "").json()["status"], "ended");
}

/// HTTP-15
#[test]
fn two_at_once_in_one_session_do_not_mix() {
    let world = World::new();
    let model = Model::start(|_, _| Said::Held(Box::new(Said::Text("done".to_owned()))));
    model.configure(&world);
    let server = Server::start(world, &[]);
    let first = server.post("/api/runs", "", &json!({ "agent": "explore", "input": "one" })).with(202).json();
    model.holds(1);
    let again = json!({ "agent": "explore", "input": "two", "session": first["session"] });
    assert_eq!(server.post("/api/runs", "", &again).with(409).json()["type"], "/problems/conflict");
    model.release();
    server.get(&format!("/api/runs/{}/events", first["id"].as_str().unwrap()), "").with(200);
    let second = server.post("/api/runs", "", &again).with(202).json();
    assert_eq!(second["session"], first["session"]);
}

/// A rule wants somebody to decide: whoever may, does, and the agent goes on with what was decided.
#[test]
fn a_call_waits_until_somebody_has_decided_about_it() {
    for (decision, expected) in [("allow", true), ("deny", false)] {
        let world = World::new();
        world.add_agent(
            "writer",
            "---\nname: writer\ndescription: writes\ntools: [write]\npermissions:\n  ask: [write]\n---\nWrite.",
        );
        let model = Model::start(|results, _| match results {
            0 => Said::Call("write", json!({ "path": "new.txt", "content": "hello" })),
            _ => Said::Text("done".to_owned()),
        });
        model.configure(&world);
        let server = Server::start(world, &[]);
        let run = server.post("/api/runs", "", &json!({ "agent": "writer", "input": "go" })).with(202).json();
        let path = format!("/api/runs/{}", run["id"].as_str().unwrap());
        let waiting = loop {
            let waiting = server.get(&format!("{path}/approvals"), "").with(200).json();
            if let Some(first) = waiting["data"].as_array().unwrap().first() {
                break first.clone();
            }
        };
        assert_eq!((&waiting["tool"], &waiting["call"].is_string()), (&json!("write"), &true), "{waiting}");
        let at = |id: &str| format!("{path}/approvals/{id}");
        server.post(&at("nonsense"), "", &json!({ "decision": decision })).with(404);
        let id = waiting["approval"].as_str().unwrap();
        server.post(&at(id), "", &json!({ "decision": "perhaps" })).with(400);
        server.post(&at(id), "", &json!({ "decision": decision })).with(204);
        let told = events(&server.get(&format!("{path}/events"), "").with(200).body);
        let given = told.iter().find(|(_, event)| event["event"] == "approval_given").unwrap();
        assert_eq!(given.1["allowed"], expected);
        assert_eq!(server.world.workspace().join("new.txt").exists(), expected);
        // It was decided once.
        server.post(&at(id), "", &json!({ "decision": decision })).with(404);
    }
}

#[test]
fn a_run_is_ended_by_whoever_began_it() {
    let world = World::new();
    let model = Model::start(|_, _| Said::Held(Box::new(Said::Text("done".to_owned()))));
    model.configure(&world);
    let server = Server::start(world, &[]);
    let run = server.post("/api/runs", "", &json!({ "agent": "explore", "input": "look" })).with(202).json();
    model.holds(1);
    let working = server.get("/api/runs", "").with(200).json();
    assert_eq!(working["data"][0]["id"], run["id"], "{working}");
    let path = format!("/api/runs/{}", run["id"].as_str().unwrap());
    let ended = server.post(&format!("{path}/cancel"), "", &json!({})).with(200).json();
    assert_eq!(ended["ending"], "cancelled");
    assert_eq!(server.get("/api/runs", "").with(200).json()["data"], json!([]));
}

/// What an agent may do is never more than whoever asks it may, all the way down.
#[test]
fn an_agent_is_explained_as_it_is_asked() {
    let world = World::new();
    world.add_agent("lead", "---\nname: lead\ndescription: leads\ntools: [Read, Task]\n---\nLead.");
    let server = Server::start(world, &[]);
    let explain = |path: &str| server.get(&format!("/api/agents/{path}"), "");
    let alone = explain("general/explain").with(200).json();
    assert_eq!((&alone["chain"], &alone["cut"]), (&json!([]), &json!([])), "{alone}");
    let lead = explain("lead/explain").with(200).json();
    assert!(lead["asks"].as_array().unwrap().contains(&json!("general")), "{lead}");
    let below = explain("general/explain?under=lead").with(200).json();
    assert_eq!(below["chain"], json!(["lead"]));
    assert!(below["cut"].to_string().contains("lead"), "who leads only reads: {below}");
    assert_ne!(below["grants"], alone["grants"]);
    assert_eq!(explain("general/explain?under=explore").status, 422, "explore may ask nobody");
    assert_eq!(explain("general/explain?under=a,b,c,d,e,f,g,h,i").status, 400);
    explain("nobody/explain").with(404);
}
