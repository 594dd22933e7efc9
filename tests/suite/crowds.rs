//! Many calls: at once, one after the other, and given up half-way.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use palisade_sandbox::{Call, Failure, Scope, Settings};
use palisade_tests::world::{Baseline, SMALL, World};

const ECHO: &str = r#"{"text":"hi"}"#;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Brings up every thread and pooled slot, so that what is measured afterwards is a leak.
fn warm_up(scope: &Scope, slots: u32) {
    let naps = (0..slots).map(|_| scope.call("wait", r#"{"way":"sleep","milliseconds":50}"#.to_owned(), Call::new()));
    assert!(runtime().block_on(join_all(naps)).iter().all(|report| report.outcome.is_ok()));
}

/// RES-12
#[test]
fn of_a_thousand_calls_at_once_the_excess_is_refused_and_the_rest_succeeds() {
    let settings = Settings { slots: 4, queue: 20, ..SMALL };
    let world = World::with_engine(settings);
    let scope = world.scope(&["wait", "echo"]);
    let other = World::neighbour(&world);
    let other_scope = other.scope(&["echo"]);
    warm_up(&scope, settings.slots);
    let before = world.baseline(&[]);
    let (reports, meanwhile) = runtime().block_on(async {
        let crowd =
            (0..1000).map(|_| scope.call("wait", r#"{"way":"sleep","milliseconds":20}"#.to_owned(), Call::new()));
        let crowd = join_all(crowd);
        let meanwhile = async {
            // As soon as there is room in the queue, somebody else's call succeeds.
            loop {
                let report = other_scope.call("echo", ECHO.to_owned(), Call::new()).await;
                if !matches!(report.outcome, Err(Failure::Busy { .. })) {
                    return report.outcome;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(crowd, meanwhile)
    });
    let succeeded = reports.iter().filter(|report| report.outcome == Ok("waited".to_owned())).count();
    let refused = reports.iter().filter(|report| report.outcome == Err(Failure::Busy { slots: 4, queue: 20 })).count();
    assert_eq!(succeeded + refused, 1000);
    assert!((24..100).contains(&succeeded), "{succeeded} succeeded");
    assert_eq!(meanwhile, Ok("hi".to_owned()));
    assert_eq!(world.engine().alive(), 0);
    other.works_afterwards();
    before.returns(64 << 20);
}

/// RES-13
#[test]
fn ten_thousand_calls_given_up_half_way_leave_nothing_behind() {
    const CALLS: u64 = 10_000;
    let world = World::with_engine(SMALL);
    let scope = Arc::new(world.scope(&["wait", "echo", "spin"]));
    warm_up(&scope, SMALL.slots);
    let before = world.baseline(&[]);
    runtime().block_on(async {
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..CALLS {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let (tool, input) = match random % 4 {
                0 => ("wait", r#"{"way":"block"}"#),
                1 => ("spin", r#"{"way":"count"}"#),
                _ => ("echo", ECHO),
            };
            let call = scope.call(tool, input.to_owned(), Call::new());
            let patience = Duration::from_micros(random >> 8 & 0x1ff);
            drop(tokio::time::timeout(patience, call).await);
        }
    });
    let end = std::time::Instant::now() + Duration::from_secs(5);
    while world.engine().alive() > 0 {
        assert!(std::time::Instant::now() < end, "{} guests still live", world.engine().alive());
        std::thread::sleep(Duration::from_millis(5));
    }
    before.returns(64 << 20);
    world.works_afterwards();
}

/// RES-13, RES-15, X9: the rule that a store is dropped after every end.
#[test]
fn a_thousand_traps_in_a_row_leak_nothing() {
    let world = World::with_engine(SMALL);
    let scope = world.scope(&["crash", "grow", "echo"]);
    let round = || {
        for way in ["panic", "abort", "exit", "beyond"] {
            let report = scope.call_here("crash", &format!(r#"{{"way":"{way}"}}"#), &Call::new());
            assert_eq!(report.outcome.unwrap_err().kind(), "trap");
        }
    };
    for _ in 0..25 {
        round();
    }
    let before = Baseline::now();
    for _ in 0..250 {
        round();
    }
    assert_eq!(world.engine().alive(), 0);
    before.returns(8 << 20);
    assert_eq!(scope.call_here("echo", ECHO, &Call::new()).outcome, Ok("hi".to_owned()));
}

/// The state of one call is not in the next.
#[test]
fn memory_of_one_call_is_not_seen_by_the_next() {
    let world = World::with_engine(Settings { slots: 1, queue: 1, ..SMALL });
    let peek = palisade_tests::handmade::Handmade {
        memory: "512".to_owned(),
        // Fails if any page it never wrote is not zero, then writes to all of them.
        call: "(local $at i32) (local.set $at (i32.const 65536))
            (loop $next
              (if (i64.ne (i64.load (local.get $at)) (i64.const 0)) (then unreachable))
              (i64.store (local.get $at) (i64.const -1))
              (local.set $at (i32.add (local.get $at) (i32.const 1024)))
              (br_if $next (i32.lt_u (local.get $at) (i32.const 33550000))))"
            .to_owned(),
        ..Default::default()
    };
    let peek = peek.load(world.engine()).unwrap();
    for _ in 0..10 {
        assert_eq!(world.call_component(&peek).outcome, Ok("ok".to_owned()));
        world.works_afterwards();
    }
}
