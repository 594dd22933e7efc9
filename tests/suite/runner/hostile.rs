//! A process that does not do what it should ends, with a failure that says so; the host never does.

use std::{
    os::unix::fs::symlink,
    path::PathBuf,
    time::{Duration, Instant},
};

use palisade_sandbox::{Call, Failure};
use palisade_tests::world::World;

struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// The process that plays a part.
    fn part(&self, part: &str) -> PathBuf {
        let path = self.folder.path().join(part);
        symlink(env!("CARGO_BIN_EXE_hostile-runner-for-tests"), &path).unwrap();
        path
    }

    fn call(&self, part: &str) -> Result<String, Failure> {
        let world = World::apart_in(&self.part(part)).limits(|limits| limits.output = 4096);
        world.scope(&["echo", "write"]).call_here("echo", r#"{"text":"x"}"#, &Call::new()).outcome
    }
}

/// The control: a process that plays its part is believed what it may say.
#[test]
fn the_messages_of_the_hostile_process_are_understood() {
    assert_eq!(Stage::new().call("works"), Ok("ok".to_owned()));
}

#[test]
fn a_process_that_says_what_it_may_not_is_ended() {
    let stage = Stage::new();
    for (part, says) in [
        ("sends-a-length-without-end", "it sent a message of 4294967295 bytes"),
        ("sends-noise", "it sent a message that cannot be read"),
        ("sends-more-than-a-message", "it sent a message that cannot be read"),
        ("begins-twice", "it began twice"),
        ("ends-the-call-of-another", "it ended a call that nobody made"),
        ("asks-for-another-call", "it asked for a call that nobody made"),
        ("asks-as-a-deeper-tool", "it asked for a tool that is not at work"),
        ("calls-a-tool-that-is-not-its-own", "it called a tool that is not one of the caller's"),
        ("leaves-a-tool-that-it-did-not-call", "it left a tool that it did not call"),
        ("asks-without-waiting", "it asked too much at once"),
        ("sends-a-long-result", "it sent more output than there may be"),
        ("aborts", "signal 6"),
    ] {
        assert_eq!(stage.call(part), Err(Failure::RunnerEnded { how: says.to_owned() }), "{part}");
    }
    // The first end is the call's; what comes after it ends the process.
    assert_eq!(stage.call("ends-a-call-twice"), Ok("ok".to_owned()));
}

#[test]
fn what_a_process_asks_for_and_is_not_granted_it_does_not_get() {
    assert_eq!(Stage::new().call("asks-for-what-is-not-granted"), Ok("ok".to_owned()));
}

#[test]
fn a_process_that_does_not_begin_is_no_process() {
    let stage = Stage::new();
    for (part, says) in [
        ("leaves-at-once", "it ended without a word"),
        ("begins-with-noise", "it sent a message of 1515870810 bytes"),
        ("begins-with-an-end", "it did not begin as it should"),
        ("refuses", "I won't"),
    ] {
        let reason = format!("no tool runner: {says}");
        assert_eq!(stage.call(part), Err(Failure::Host { reason }), "{part}");
    }
    let world = World::apart_in("/nowhere/at-all".as_ref());
    let outcome = world.scope(&["echo"]).call_here("echo", r#"{"text":"x"}"#, &Call::new()).outcome;
    assert!(matches!(outcome, Err(Failure::Host { .. })), "{outcome:?}");
}

#[test]
fn a_process_that_does_not_answer_is_ended_when_the_time_is_over() {
    let stage = Stage::new();
    for part in ["says-nothing", "is-cut-off"] {
        let world = World::apart_in(&stage.part(part)).in_a_hurry();
        let scope = world.scope(&["echo"]);
        let started = Instant::now();
        let outcome = scope.call_here("echo", r#"{"text":"x"}"#, &Call::new()).outcome;
        assert_eq!(outcome, Err(Failure::OutOfTime { limit: Duration::from_millis(200) }), "{part}");
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}
