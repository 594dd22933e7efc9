//! A server that is killed while its agents work.

use serde_json::{Value, json};

use super::{
    Server,
    model::{Model, Said},
    runs::events,
};
use crate::world::World;

/// P16, P17: nothing that was acknowledged is lost, and nothing is done twice.
#[test]
fn fifty_runs_go_on_when_the_server_was_killed_in_the_middle_of_them() {
    const RUNS: usize = 50;
    let world = World::new();
    let model = Model::start(|results, _| match results {
        0 => Said::Call("read", json!({ "path": "src/harbour.rs" })),
        _ => Said::Held(Box::new(Said::Text("seen".to_owned()))),
    });
    model.configure(&world);
    let server = Server::start(world, &[]);
    let ask = |server: &Server, number: usize| {
        let body = json!({ "agent": "explore", "input": format!("look, {number}") });
        server.ask("POST", "/api/runs", "", &[("Idempotency-Key", &number.to_string())], Some(&body))
    };
    let begun: Vec<Value> = (0..RUNS).map(|number| ask(&server, number).with(202).json()).collect();
    model.holds(RUNS);
    let server = Server::start(server.kill(), &[]);
    model.release();
    for (number, begun) in begun.iter().enumerate() {
        let run = begun["id"].as_str().unwrap();
        assert_eq!(ask(&server, number).with(200).json()["id"], run, "it was acknowledged, and is known");
        let whole = events(&server.get(&format!("/api/runs/{run}/events"), "").with(200).body);
        assert!(whole.iter().map(|(number, _)| *number).eq(1..=whole.len() as u64), "{whole:?}");
        assert_eq!(whole.last().unwrap().1["event"], "run_ended", "{whole:?}");
        // Whoever had read half of it before reads the rest now.
        let left = whole.len() / 2;
        let path = format!("/api/runs/{run}/events");
        let rest = server.ask("GET", &path, "", &[("Last-Event-ID", &left.to_string())], None);
        assert_eq!(events(&rest.body), whole[left..]);
        let ended = server.get(&format!("/api/runs/{run}"), "").with(200).json();
        assert_eq!((&ended["status"], &ended["ending"]), (&json!("ended"), &json!("answered")), "{ended}");
        let path = format!("/api/sessions/{}/entries", begun["session"].as_str().unwrap());
        let entries = server.get(&path, "").with(200).json();
        let of = |kind: &str| entries["data"].as_array().unwrap().iter().filter(|it| it["entry"] == kind).count();
        assert_eq!((of("user"), of("result")), (1, 1), "{entries}");
    }
}
