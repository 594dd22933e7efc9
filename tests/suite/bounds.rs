//! A tool that reaches less far than its agent, and tools that call tools.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use palisade_grants::{Access, Capability, Denial, FilesGrant, Grants, WorkspacePath};
use palisade_sandbox::{Bounds, Call, Gate, Scope};
use palisade_tests::world::World;
use serde_json::{Value, json};

fn bounded(world: &World, folders: &[(&str, Access)]) -> Scope {
    let folders = folders.iter().map(|(path, access)| (WorkspacePath::parse(path).unwrap(), *access));
    let grants = Grants { files: FilesGrant::new(folders), ..Grants::default() };
    let scope = world.empty_scope();
    let (compiled, description) = world.load("reach");
    scope.add_within(&compiled, &description, "reach", Bounds { grants: Some(grants), ..Bounds::default() }).unwrap();
    scope
}

/// What each step came to; those that failed as nothing.
fn came(scope: &Scope, steps: &[Value]) -> Vec<Option<String>> {
    let report = scope.call_here("reach", &json!({ "steps": steps }).to_string(), &Call::new());
    let came: Vec<Value> = serde_json::from_str(&report.outcome.unwrap()).unwrap();
    came.iter().map(|came| came["ok"].as_str().map(str::to_owned)).collect()
}

fn ok(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn a_tool_bound_to_a_folder_finds_that_folder_and_no_other() {
    let world = World::new();
    world.link("folder/up", "../file");
    let before = world.tree();
    let scope = bounded(&world, &[("folder", Access::Read)]);
    let seen = came(
        &scope,
        &[
            json!({ "op": "preopens" }),
            json!({ "op": "read", "at": "folder", "path": "file" }),
            json!({ "op": "host-read", "path": "folder/file" }),
            json!({ "op": "host-read", "path": "file" }),
            json!({ "op": "host-list", "path": "." }),
            json!({ "op": "host-read", "path": "folder/../file" }),
            json!({ "op": "host-read", "path": "folder/up" }),
            json!({ "op": "read", "at": "folder", "path": "../file" }),
            json!({ "op": "read", "at": "folder", "path": "up", "follow": true }),
            json!({ "op": "write", "at": "folder", "path": "new", "text": "guest" }),
            json!({ "op": "write", "at": "folder", "path": "../new", "text": "guest" }),
        ],
    );
    assert_eq!(seen[1..3], [ok("mine"), ok("mine")]);
    assert!(seen[0].as_deref().unwrap().split(',').all(|name| name == "folder" || name == "/tmp"), "{seen:?}");
    assert!(seen[3..].iter().all(Option::is_none), "{seen:?}");
    assert_eq!(world.tree(), before);
}

#[test]
fn a_tool_bound_to_one_writable_folder_writes_there_alone() {
    let world = World::new();
    let scope = bounded(&world, &[(".", Access::Read), ("folder", Access::ReadWrite)]);
    let seen = came(
        &scope,
        &[
            json!({ "op": "write", "at": "folder", "path": "new", "text": "guest" }),
            json!({ "op": "read", "path": "file" }),
            json!({ "op": "write", "path": "file", "text": "guest" }),
            json!({ "op": "write", "at": "folder", "path": "../file", "text": "guest" }),
        ],
    );
    assert_eq!(seen, [ok("done"), ok("mine"), None, None]);
    assert_eq!((world.contents("folder/new"), world.contents("file")), ("guest".to_owned(), "mine".to_owned()));
}

#[test]
fn bounds_never_give_more_than_the_agent_has() {
    let world = World::new().granting(&[("folder", Access::Read)]);
    let before = world.tree();
    let scope = bounded(&world, &[(".", Access::ReadWrite)]);
    let seen = came(
        &scope,
        &[
            json!({ "op": "host-read", "path": "folder/file" }),
            json!({ "op": "host-read", "path": "file" }),
            json!({ "op": "write", "at": "folder", "path": "file", "text": "guest" }),
        ],
    );
    assert_eq!(seen, [ok("mine"), None, None]);
    assert_eq!(world.tree(), before);
}

fn writing_behind(world: &World, gate: Gate) -> Scope {
    let scope = world.empty_scope();
    let (compiled, description) = world.load("write");
    scope.add_within(&compiled, &description, "core", Bounds { gate: Some(gate), ..Bounds::default() }).unwrap();
    world.add(&scope, "scribe", "scribe");
    scope
}

#[test]
fn a_gate_is_asked_when_a_tool_calls_another_and_its_refusal_is_read() {
    let world = World::new();
    let before = world.tree();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let denial = Denial {
        capability: Capability::Tools,
        asked: "calling write".to_owned(),
        rule: "the gate is closed".to_owned(),
        remedy: "open it".to_owned(),
    };
    let answer = denial.clone();
    let gate: Gate = Arc::new(move |input| {
        counter.fetch_add(1, Ordering::Relaxed);
        if input.contains("0.txt") { Err(answer.clone()) } else { Ok(()) }
    });
    let scope = writing_behind(&world, gate);
    let report = scope.call_here("scribe", r#"{"files":2,"bytes":3}"#, &Call::new());
    let said = report.outcome.unwrap_err().to_string();
    assert!(said.contains("after 0 files") && said.contains("the gate is closed"), "{said}");
    assert_eq!((report.denials, asked.load(Ordering::Relaxed)), (vec![denial], 1));
    assert_eq!(world.tree(), before);
    // Whoever calls from outside has decided already.
    let report = scope.call_here("write", r#"{"path":"0.txt","content":"direct"}"#, &Call::new());
    report.outcome.unwrap();
    assert_eq!((world.contents("0.txt").as_str(), asked.load(Ordering::Relaxed)), ("direct", 1));
}

#[test]
fn a_gate_that_is_open_lets_a_tool_call_another() {
    let world = World::new();
    let scope = writing_behind(&world, Arc::new(|_| Ok(())));
    let report = scope.call_here("scribe", r#"{"files":1,"bytes":3}"#, &Call::new());
    assert_eq!(report.outcome, Ok("1 files".to_owned()));
    assert_eq!(world.contents("0.txt"), "xxx");
}
