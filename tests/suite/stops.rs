//! Guests that do not end by themselves, and the clock that ends them.

use std::{
    thread,
    time::{Duration, Instant},
};

use palisade_sandbox::{Call, Failure};
use palisade_tests::{
    handmade::{FOR_EVER, Handmade},
    world::{SMALL, World},
};
use serde_json::json;

const LIMIT: Duration = Duration::from_millis(200);

fn out_of_time(outcome: &Result<String, Failure>) -> bool {
    *outcome == Err(Failure::OutOfTime { limit: LIMIT })
}

fn handmade(world: &World, handmade: &Handmade) -> Result<String, Failure> {
    world.call_component(&handmade.load(world.engine()).unwrap()).outcome
}

/// RES-01, X8
#[test]
fn an_endless_loop_is_ended_at_the_deadline() {
    let world = World::new().in_a_hurry();
    world.works_afterwards();
    let before = world.baseline(&["spin"]);
    let started = Instant::now();
    let report = world.call("spin", json!({ "way": "count" }));
    assert!(out_of_time(&report.outcome), "{:?}", report.outcome);
    assert!(report.cost.duration >= LIMIT && started.elapsed() < LIMIT + Duration::from_secs(1));
    world.works_afterwards();
    before.returns(64 << 20);
    let report = World::neighbour(&world).call("spin", json!({ "way": "stop" }));
    assert_eq!(report.outcome, Ok("stopped".to_owned()));
}

/// RES-01
#[test]
fn an_endless_loop_is_ended_wherever_it_is() {
    let world = World::new().in_a_hurry();
    let for_ever = || FOR_EVER.to_owned();
    let plain = Handmade::default();
    assert_eq!(handmade(&world, &plain), Ok("ok".to_owned()));
    let dtor = Handmade {
        around: format!(
            "(core module $d (func (export \"dtor\") (param i32) {FOR_EVER})) (core instance $d (instantiate $d))
             (alias core export $d \"dtor\" (core func $dtor))
             (type $r (resource (rep i32) (dtor (core func $dtor))))
             (core func $new (canon resource.new $r)) (core func $drop (canon resource.drop $r))"
        ),
        with: r#"(with "r" (instance (export "new" (func $new)) (export "drop" (func $drop))))"#.to_owned(),
        imports:
            r#"(import "r" "new" (func $new (param i32) (result i32))) (import "r" "drop" (func $drop (param i32)))"#
                .to_owned(),
        call: "(call $drop (call $new (i32.const 1)))".to_owned(),
        ..plain.clone()
    };
    for (place, guest) in [
        ("call", Handmade { call: for_ever(), ..plain.clone() }),
        ("start", Handmade { inside: format!("(func $s {FOR_EVER}) (start $s)"), ..plain.clone() }),
        ("realloc", Handmade { realloc: for_ever(), ..plain.clone() }),
        ("post-return", Handmade { post: for_ever(), ..plain.clone() }),
        ("destructor", dtor),
    ] {
        let started = Instant::now();
        let outcome = handmade(&world, &guest);
        assert!(out_of_time(&outcome), "{place}: {outcome:?}");
        assert!(started.elapsed() < Duration::from_secs(3), "{place} took {:?}", started.elapsed());
        world.works_afterwards();
    }
}

/// RES-01
#[test]
fn an_endless_description_is_ended() {
    let world = World::new();
    let guest = Handmade { inside: format!("(func $s {FOR_EVER}) (start $s)"), ..Handmade::default() };
    let compiled = guest.load(world.engine()).unwrap();
    let started = Instant::now();
    assert!(matches!(compiled.describe(world.engine()), Err(Failure::OutOfTime { .. })));
    assert!(started.elapsed() < Duration::from_secs(5));
    world.works_afterwards();
}

/// RES-01, X9: others are served while a guest spins.
#[test]
fn others_work_while_a_guest_spins() {
    let world = World::new().limits(|limits| limits.call_time = Duration::from_secs(2));
    let scope = world.scope(&["spin", "echo"]);
    let call = Call::new();
    thread::scope(|threads| {
        let spinning = threads.spawn(|| scope.call_here("spin", r#"{"way":"count"}"#, &call));
        while world.engine().alive() == 0 {
            thread::yield_now();
        }
        for _ in 0..20 {
            assert_eq!(scope.call_here("echo", r#"{"text":"hi"}"#, &Call::new()).outcome, Ok("hi".to_owned()));
        }
        call.cancel();
        assert_eq!(spinning.join().unwrap().outcome, Err(Failure::Cancelled));
    });
}

/// The priorities of threads of a process whose guests compute for long.
fn slow_ones(process: u32) -> Vec<i32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    // A thread may be gone before it is looked at.
    let said = threads.filter_map(|thread| std::fs::read_to_string(thread.unwrap().path().join("stat")).ok());
    let slow = said.filter(|said| said.contains("(palisade-slow)"));
    slow.map(|said| said.rsplit_once(") ").unwrap().1.split(' ').nth(16).unwrap().parse().unwrap()).collect()
}

/// RES-01
#[test]
fn a_guest_that_computes_for_long_gives_way_wherever_it_runs() {
    for make in [World::new, World::apart] {
        let world = make();
        let scope = world.scope(&["spin", "echo"]);
        let call = Call::new();
        let at_work = || world.engine().runners().first().copied().unwrap_or_else(std::process::id);
        thread::scope(|threads| {
            let spinning = threads.spawn(|| scope.call_here("spin", r#"{"way":"count"}"#, &call));
            while !slow_ones(at_work()).iter().any(|nice| *nice >= 10) {
                thread::yield_now();
            }
            // Whoever needs a moment has it.
            assert_eq!(scope.call_here("echo", r#"{"text":"hi"}"#, &Call::new()).outcome, Ok("hi".to_owned()));
            call.cancel();
            assert_eq!(spinning.join().unwrap().outcome, Err(Failure::Cancelled));
        });
        while !slow_ones(at_work()).is_empty() {
            thread::yield_now();
        }
    }
}

/// RES-04
#[test]
fn endless_recursion_ends_only_the_guest() {
    let world = World::new();
    let before = world.baseline(&["recurse"]);
    let outcome = world.call("recurse", json!({ "depth": u64::MAX })).outcome;
    assert!(matches!(outcome, Err(Failure::Trap { .. })), "{outcome:?}");
    assert_eq!(world.call("recurse", json!({ "depth": 100 })).outcome, Ok("100".to_owned()));
    let recursing = "(func $r (param i32) (result i32) (i32.add (call $r (local.get 0)) (i32.const 1)))";
    let inside = recursing.to_owned();
    let recurse = "(drop (call $r (i32.const 0)))".to_owned();
    before.returns(64 << 20);
    for guest in [
        Handmade { inside: inside.clone(), call: recurse.clone(), ..Handmade::default() },
        Handmade { inside: inside.clone(), realloc: recurse.clone(), ..Handmade::default() },
        Handmade { inside, post: recurse, ..Handmade::default() },
    ] {
        let outcome = handmade(&world, &guest);
        assert_eq!(outcome, Err(Failure::Trap { reason: "wasm trap: call stack exhausted".to_owned() }));
        world.works_afterwards();
    }
}

/// RES-04: the host calls the guest for memory while the guest is inside the host.
#[test]
fn a_guest_cannot_call_the_host_while_it_hands_out_memory() {
    let world = World::new();
    let with_random = Handmade {
        around: r#"(import "wasi:random/random@0.2.0" (instance $random (export "get-random-u64" (func (result u64)))))
                   (core func $random (canon lower (func $random "get-random-u64")))"#
            .to_owned(),
        with: r#"(with "host" (instance (export "random" (func $random))))"#.to_owned(),
        imports: r#"(import "host" "random" (func $random (result i64)))"#.to_owned(),
        ..Handmade::default()
    };
    let allowed = Handmade { call: "(drop (call $random))".to_owned(), ..with_random.clone() };
    assert_eq!(handmade(&world, &allowed), Ok("ok".to_owned()));
    for guest in [
        Handmade { realloc: "(drop (call $random))".to_owned(), ..with_random.clone() },
        Handmade { post: "(drop (call $random))".to_owned(), ..with_random },
    ] {
        let outcome = handmade(&world, &guest);
        assert!(matches!(outcome, Err(Failure::Trap { .. })), "{outcome:?}");
    }
    world.works_afterwards();
}

/// RES-05
#[test]
fn a_guest_that_waits_for_ever_is_ended_at_the_deadline() {
    let world = World::new().in_a_hurry();
    world.works_afterwards();
    let before = world.baseline(&["wait"]);
    for (way, milliseconds) in [("sleep", 3_600_000), ("sleep", u64::MAX), ("block", 0), ("poll", 0)] {
        let started = Instant::now();
        let report = world.call("wait", json!({ "way": way, "milliseconds": milliseconds }));
        assert!(out_of_time(&report.outcome), "{way}: {:?}", report.outcome);
        assert!(started.elapsed() < LIMIT + Duration::from_secs(1), "{way} took {:?}", started.elapsed());
        assert_eq!(world.engine().alive(), 0);
    }
    assert_eq!(world.call("wait", json!({ "way": "input" })).outcome, Ok("Ok(0)".to_owned()));
    assert_eq!(world.call("wait", json!({ "way": "sleep", "milliseconds": 5 })).outcome, Ok("waited".to_owned()));
    before.returns(64 << 20);
}

/// RES-11
#[test]
fn long_single_instructions_end_soon_after_the_deadline() {
    let world = World::new().in_a_hurry();
    for way in ["fill", "copy"] {
        let started = Instant::now();
        let report = world.call("spin", json!({ "way": way }));
        assert!(out_of_time(&report.outcome), "{way}: {:?}", report.outcome);
        assert!(started.elapsed() < LIMIT + Duration::from_secs(1), "{way} took {:?}", started.elapsed());
    }
    world.works_afterwards();
}

/// RES-14
#[test]
fn a_stopped_clock_is_noticed_and_nothing_new_is_started() {
    let world = World::with_engine(SMALL);
    let scope = world.scope(&["echo"]);
    let echo = || scope.call_here("echo", r#"{"text":"hi"}"#, &Call::new()).outcome;
    assert!(world.engine().is_healthy());
    assert_eq!(echo(), Ok("hi".to_owned()));
    world.engine().stop_clock();
    let end = Instant::now() + Duration::from_secs(4);
    while world.engine().is_healthy() {
        assert!(Instant::now() < end, "a stopped clock was not noticed");
        thread::sleep(Duration::from_millis(20));
    }
    assert!(matches!(echo(), Err(Failure::Host { .. })));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let report = runtime.block_on(scope.call("echo", r#"{"text":"hi"}"#.to_owned(), Call::new()));
    assert!(matches!(report.outcome, Err(Failure::Host { .. })), "{:?}", report.outcome);
}

/// RES-15
#[test]
fn each_way_to_end_has_a_kind_of_its_own() {
    let world = World::new().limits(|limits| (limits.memory, limits.call_time) = (96 << 20, Duration::from_secs(1)));
    let kind = |guest: &str, input: serde_json::Value| world.call(guest, input).outcome.unwrap_err().kind();
    assert_eq!(kind("spin", json!({ "way": "count" })), "out-of-time");
    assert_eq!(kind("grow", json!({ "mebibytes": 4000, "polite": false })), "out-of-memory");
    for way in ["panic", "abort", "exit", "beyond"] {
        assert_eq!(kind("crash", json!({ "way": way })), "trap", "{way}");
    }
    assert_eq!(kind("flood", json!({ "way": "argument", "bytes": 64 << 20 })), "too-many");
    assert_eq!(kind("flood", json!({ "way": "result", "bytes": 2 << 20 })), "output-too-large");
    assert_eq!(kind("flood", json!({ "way": "error", "bytes": 5 })), "failed");
    assert_eq!(kind("crash", json!({ "way": "none" })), "invalid-input");
    let world = World::neighbour(&world);
    let call = Call::new();
    call.cancel();
    let report = world.scope(&["spin"]).call_here("spin", r#"{"way":"count"}"#, &call);
    assert_eq!(report.outcome, Err(Failure::Cancelled));
    assert_eq!(world.call("crash", json!({ "way": "return" })).outcome, Ok("returned".to_owned()));
}

/// The author of a tool finds the line; a guest that says nothing is still told apart by its trap.
#[test]
fn a_crash_says_where_in_the_source_it_happened() {
    let world = World::new();
    let crash = |way: &str| world.call("crash", json!({ "way": way })).outcome.unwrap_err().to_string();
    let panic = crash("panic");
    assert!(panic.starts_with("the tool crashed: panicked at "), "{panic}");
    assert!(panic.contains("tests/guests/crash.rs:"), "{panic}");
    assert!(panic.contains("a guest's own words") && !panic.contains("RUST_BACKTRACE"), "{panic}");
    assert!(crash("exit").contains("exit(1)"), "{}", crash("exit"));
    // It cannot say more than fits.
    assert!(panic.len() < 3000);
}
