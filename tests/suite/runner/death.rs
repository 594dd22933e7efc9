//! The process ends in the middle of something, and the host goes on.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use palisade_sandbox::{Call, Failure};
use palisade_tests::world::World;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

fn kill(process: u32) {
    kill_process(Pid::from_raw(process.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
}

fn until(what: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !what() {
        assert!(Instant::now() < end, "it does not happen");
        thread::sleep(Duration::from_millis(5));
    }
}

/// X9. The agent goes on, and so do its other tools.
#[test]
fn every_call_in_a_process_that_is_killed_fails_as_that_and_the_next_one_works() {
    let world = World::apart();
    let scope = world.scope(&["wait", "echo", "write"]);
    let ended = thread::scope(|threads| {
        let call = || scope.call_here("wait", r#"{"way":"block"}"#, &Call::new()).outcome;
        let calls: Vec<_> = (0..4).map(|_| threads.spawn(call)).collect();
        until(|| world.engine().alive() == 4 && !world.engine().runners().is_empty());
        thread::sleep(Duration::from_millis(300));
        let processes = world.engine().runners();
        assert_eq!(processes.len(), 1);
        kill(processes[0]);
        calls.into_iter().map(|call| call.join().unwrap()).collect::<Vec<_>>()
    });
    for outcome in ended {
        let failure = outcome.unwrap_err();
        assert_eq!(failure, Failure::RunnerEnded { how: "signal 9".to_owned() });
        assert_eq!(failure.to_string(), "the tool runner ended: signal 9; it is started again at the next call");
        assert_eq!((failure.kind(), failure.blame()), ("runner-ended", palisade_sandbox::Blame::Host));
    }
    // Everything is told to the new one: the scope, its tools.
    assert_eq!(scope.call_here("echo", r#"{"text":"again"}"#, &Call::new()).outcome, Ok("again".to_owned()));
    assert!(scope.call_here("write", r#"{"path":"new","content":"x"}"#, &Call::new()).outcome.is_ok());
    assert_eq!(world.contents("new"), "x");
    assert_eq!(world.engine().alive(), 0);
}

#[test]
fn a_process_that_is_killed_between_calls_is_not_noticed() {
    let world = World::apart();
    let scope = world.scope(&["echo"]);
    let echo = || scope.call_here("echo", r#"{"text":"x"}"#, &Call::new()).outcome;
    assert_eq!(echo(), Ok("x".to_owned()));
    let [process] = world.engine().runners()[..] else { panic!("one process") };
    kill(process);
    until(|| !Path::new(&format!("/proc/{process}/fd/0")).exists());
    thread::sleep(Duration::from_millis(100));
    assert_eq!(echo(), Ok("x".to_owned()));
    assert_ne!(world.engine().runners(), [process]);
}

/// The kernel's answer to a write beyond its limit is a signal.
#[test]
fn a_file_that_is_too_large_ends_nothing() {
    let world = World::apart();
    let scope = world.scope(&["reach"]);
    let steps = json!({ "steps": [
        { "op": "open", "path": "file", "flags": ["write"], "keep": "f" },
        { "op": "set-size-handle", "at": "f", "text": "4000000000" },
        { "op": "read", "path": "file" },
    ] });
    let came = scope.call_here("reach", &steps.to_string(), &Call::new()).outcome.unwrap();
    assert!(came.ends_with(r#"{"ok":"mine"}]"#), "{came}");
}

#[test]
fn nothing_is_left_when_the_last_scope_is_gone() {
    let world = World::apart();
    let before = world.baseline(&["reach"]);
    let scope = world.scope(&["reach"]);
    let steps = json!({ "steps": [{ "op": "write", "at": "/tmp", "path": "note", "text": "mine" }] }).to_string();
    let came = scope.call_here("reach", &steps, &Call::new()).outcome.unwrap();
    assert!(came.contains("ok"), "{came}");
    let [process] = world.engine().runners()[..] else { panic!("one process") };
    let scratch = || {
        let entries = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        let own = |name: &str| name.starts_with("palisade-runner-");
        entries.filter(|entry| entry.file_name().to_str().is_some_and(own)).count()
    };
    assert!(scratch() > 0);
    drop(scope);
    assert!(!Path::new(&format!("/proc/{process}")).exists(), "the process is still there");
    assert!(world.engine().runners().is_empty());
    before.returns(64 << 20);
}

/// One process for agents that read a workspace, another for those that write, and none for another workspace's.
#[test]
fn rooms_are_shared_by_scopes_that_may_do_the_same() {
    let world = World::apart();
    let echo =
        |scope: &palisade_sandbox::Scope| scope.call_here("echo", r#"{"text":"x"}"#, &Call::new()).outcome.unwrap();
    let (first, second) = (world.scope(&["echo"]), world.scope(&["echo"]));
    echo(&first);
    echo(&second);
    assert_eq!(world.engine().runners().len(), 1);
    let reading = world.neighbour();
    let other = reading.scope(&["echo"]);
    echo(&other);
    assert_eq!(world.engine().runners().len(), 2);
    let world = world.reading();
    let third = world.scope(&["echo"]);
    echo(&third);
    assert_eq!(world.engine().runners().len(), 3);
    drop((first, second));
    assert_eq!(world.engine().runners().len(), 2);
}
