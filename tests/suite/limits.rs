//! Memory, tables, instances, output and what crosses the boundary.

use palisade_sandbox::{Call, Failure, Settings};
use palisade_tests::{
    handmade::Handmade,
    world::{SMALL, World},
};
use serde_json::json;

/// RES-02
#[test]
fn memory_is_given_only_up_to_the_limit() {
    let world = World::new().limits(|limits| limits.memory = 64 << 20);
    let before = world.baseline(&["grow"]);
    let report = world.call("grow", json!({ "mebibytes": 4000, "polite": false }));
    assert_eq!(report.outcome, Err(Failure::OutOfMemory { what: "memory", limit: 64 << 20 }));
    assert!(report.cost.peak_memory <= 64 << 20);
    world.works_afterwards();
    before.returns(96 << 20);
}

/// RES-02
#[test]
fn a_guest_that_asks_politely_is_refused_and_goes_on() {
    let world = World::new().limits(|limits| limits.memory = 64 << 20);
    for mebibytes in [4095, 1024, 64] {
        let report = world.call("grow", json!({ "mebibytes": mebibytes, "polite": true }));
        assert_eq!(report.outcome, Ok("refused".to_owned()), "{mebibytes}");
    }
    assert_eq!(world.call("grow", json!({ "mebibytes": 32, "polite": true })).outcome, Ok("granted".to_owned()));
    assert_eq!(world.call("grow", json!({ "mebibytes": 32, "polite": false })).outcome, Ok("took 32".to_owned()));
}

/// RES-02
#[test]
fn initial_memory_over_the_limit_is_refused() {
    let world = World::new().limits(|limits| limits.memory = 64 << 20);
    let large = Handmade { memory: "1025".to_owned(), ..Handmade::default() }.load(world.engine()).unwrap();
    assert_eq!(world.call_component(&large).outcome, Err(Failure::OutOfMemory { what: "memory", limit: 64 << 20 }));
    let fits = Handmade { memory: "1024".to_owned(), ..Handmade::default() }.load(world.engine()).unwrap();
    assert_eq!(world.call_component(&fits).outcome, Ok("ok".to_owned()));
    let huge = Handmade { memory: "65536".to_owned(), ..Handmade::default() }.load(world.engine());
    assert!(matches!(huge, Err(Failure::BadComponent { .. })));
}

/// Modules that are instantiated beside the guest.
fn beside(count: usize, contents: &str) -> String {
    let instances = "(core instance (instantiate $extra))".repeat(count);
    format!("(core module $extra {contents}) {instances}")
}

fn loads_or_runs(world: &World, handmade: &Handmade) -> Result<String, Failure> {
    handmade.load(world.engine()).and_then(|compiled| world.call_component(&compiled).outcome)
}

/// RES-02 and RES-03
#[test]
fn many_memories_tables_and_instances_are_refused() {
    let world = World::new();
    for (what, contents, count) in
        [("memories", "(memory 1)", 100), ("tables", "(table 1 funcref)", 1000), ("instances", "", 1000)]
    {
        let around = beside(count, contents);
        let outcome = loads_or_runs(&world, &Handmade { around, ..Handmade::default() });
        assert!(matches!(outcome, Err(Failure::BadComponent { .. })), "{count} {what}: {outcome:?}");
        let around = beside(1, contents);
        assert_eq!(loads_or_runs(&world, &Handmade { around, ..Handmade::default() }), Ok("ok".to_owned()), "1 {what}");
    }
    let inside: String = (0..100).map(|_| "(memory 1)").collect();
    assert!(loads_or_runs(&world, &Handmade { inside, ..Handmade::default() }).is_err());
    let nested = "(component $c (core module $m) (core instance (instantiate $m)))".to_owned()
        + &"(instance (instantiate $c))".repeat(1000);
    let outcome = loads_or_runs(&world, &Handmade { around: nested, ..Handmade::default() });
    assert!(matches!(outcome, Err(Failure::BadComponent { .. })), "{outcome:?}");
    world.works_afterwards();
}

/// What compilers of other languages make: Python's about forty instances, JavaScript's three memories.
#[test]
fn a_component_of_sixty_instances_and_four_memories_runs() {
    let world = World::new();
    let many = "(core module $empty)".to_owned() + &"(core instance (instantiate $empty))".repeat(55);
    let around = many + &beside(3, "(memory 1) (table 1 funcref) (table 1 funcref) (table 1 funcref)");
    assert_eq!(loads_or_runs(&world, &Handmade { around, ..Handmade::default() }), Ok("ok".to_owned()));
    world.works_afterwards();
}

/// RES-03
#[test]
fn a_table_grows_only_up_to_the_limit() {
    let world = World::new();
    let growing = |elements: u32| {
        let grow = format!(
            "(if (i32.eq (table.grow $t (ref.null func) (i32.const {elements})) (i32.const -1)) (then unreachable))"
        );
        Handmade { inside: "(table $t 1 funcref)".to_owned(), call: grow, ..Handmade::default() }
    };
    for elements in [60_001, 1_000_000, u32::MAX] {
        assert_eq!(
            loads_or_runs(&world, &growing(elements)),
            Err(Failure::OutOfMemory { what: "table elements", limit: 60_000 }),
            "{elements}"
        );
    }
    assert_eq!(loads_or_runs(&world, &growing(1000)), Ok("ok".to_owned()));
    let large = Handmade { inside: "(table 70000 funcref)".to_owned(), ..Handmade::default() };
    assert!(matches!(loads_or_runs(&world, &large), Err(Failure::OutOfMemory { .. })));
}

/// RES-02 and RES-03: what one guest takes must not be missing for the next.
#[test]
fn a_guest_with_many_memories_and_tables_does_not_starve_its_neighbours() {
    let world = World::with_engine(Settings { slots: 2, queue: 4, ..SMALL });
    let around = beside(3, "(memory 1) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref)");
    // Waits inside a host function, so that its instances stay.
    let greedy = Handmade {
        around: around
            + r#"(import "wasi:io/poll@0.2.0" (instance $poll (export "pollable" (type $p (sub resource))) (export "[method]pollable.block" (func (param "self" (borrow $p))))))
               (alias export $poll "pollable" (type $pollable))
               (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock (alias outer 1 $pollable (type $outer)) (export "pollable" (type $p (eq $outer))) (export "subscribe-duration" (func (param "when" u64) (result (own $p))))))
               (core func $subscribe (canon lower (func $clock "subscribe-duration")))
               (core func $block (canon lower (func $poll "[method]pollable.block")))"#,
        with: r#"(with "h" (instance (export "subscribe" (func $subscribe)) (export "block" (func $block))))"#.to_owned(),
        imports: r#"(import "h" "subscribe" (func $subscribe (param i64) (result i32))) (import "h" "block" (func $block (param i32)))"#.to_owned(),
        call: "(call $block (call $subscribe (i64.const 400000000)))".to_owned(),
        ..Handmade::default()
    };
    let greedy = greedy.load(world.engine()).unwrap();
    let scope = world.scope(&["echo"]);
    scope.add(&greedy, &palisade_tests::world::describe("greedy", &[]), "greedy").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (hog, echo) = runtime.block_on(async {
        let hog = scope.call("greedy", "{}".to_owned(), Call::new());
        let echo = async {
            while world.engine().alive() == 0 {
                tokio::task::yield_now().await;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            scope.call("echo", json!({ "text": "hello" }).to_string(), Call::new()).await
        };
        tokio::join!(hog, echo)
    });
    assert_eq!(echo.outcome, Ok("hello".to_owned()));
    assert_eq!(hog.outcome, Ok("ok".to_owned()));
}

/// RES-06
#[test]
fn printing_ten_gigabytes_keeps_the_first_bytes_and_counts_the_rest() {
    const MUCH: u64 = 10_000_000_000;
    let world = World::new().limits(|limits| limits.call_time = std::time::Duration::from_secs(120));
    world.call("flood", json!({ "way": "stdout", "bytes": 10 })).outcome.unwrap();
    let before = world.baseline(&["flood"]);
    let report = world.call("flood", json!({ "way": "stdout", "bytes": MUCH }));
    assert_eq!(report.outcome, Ok("printed".to_owned()));
    assert_eq!((report.stdout.kept.len(), report.stdout.dropped), (1 << 20, MUCH - (1 << 20)));
    let report = world.call("flood", json!({ "way": "stderr", "bytes": 3 << 20 }));
    assert_eq!((report.stderr.kept.len(), report.stderr.dropped), (1 << 20, 2 << 20));
    assert_eq!(report.stdout.kept.len(), 0);
    drop(report);
    before.returns(64 << 20);
}

/// RES-07
#[test]
fn a_large_result_is_refused() {
    let world = World::new();
    let result = |bytes: u64| world.call("flood", json!({ "way": "result", "bytes": bytes })).outcome;
    assert_eq!(result(1 << 20).unwrap().len(), 1 << 20);
    assert_eq!(result((1 << 20) + 1), Err(Failure::OutputTooLarge { limit: 1 << 20 }));
    assert_eq!(result(15 << 20), Err(Failure::OutputTooLarge { limit: 1 << 20 }));
    assert_eq!(result(64 << 20), Err(Failure::TooMany { what: "bytes in one host call", limit: 16 << 20 }));
    let Err(Failure::Failed(text)) = world.call("flood", json!({ "way": "error", "bytes": 4 << 20 })).outcome else {
        panic!()
    };
    assert_eq!(text.len(), 1 << 20);
}

/// RES-07
#[test]
fn a_gibibyte_as_argument_or_result_is_refused_before_it_is_copied() {
    let world = World::new().limits(|limits| limits.memory = (1 << 30) + (1 << 20));
    let whole = "16384".to_owned();
    let result = Handmade {
        memory: whole,
        call: "(i32.store (i32.const 16) (i32.const 0)) (i32.store (i32.const 20) (i32.const 0)) (i32.store (i32.const 24) (i32.const 0x40000000)) (return (i32.const 16))".to_owned(),
        ..Handmade::default()
    };
    let argument = Handmade {
        around: r#"(import "palisade:host/progress@0.1.0" (instance $progress (export "report" (func (param "message" string)))))
            (core module $libc (memory (export "memory") 16384))
            (core instance $libc (instantiate $libc))
            (alias core export $libc "memory" (core memory $shared))
            (core func $report (canon lower (func $progress "report") (memory $shared)))"#
            .to_owned(),
        with: r#"(with "host" (instance (export "report" (func $report))))"#.to_owned(),
        imports: r#"(import "host" "report" (func $report (param i32 i32)))"#.to_owned(),
        call: "(call $report (i32.const 0) (i32.const 0x40000000))".to_owned(),
        ..Handmade::default()
    };
    let too_many = Err(Failure::TooMany { what: "bytes in one host call", limit: 16 << 20 });
    let (result, argument) = (result.load(world.engine()).unwrap(), argument.load(world.engine()).unwrap());
    // Linked code is kept, with a descriptor for its memory; that is not what is measured.
    assert_eq!(world.call_component(&result).outcome, too_many);
    assert_eq!(world.call_component(&argument).outcome, too_many);
    let before = world.baseline(&[]);
    assert_eq!(world.call_component(&result).outcome, too_many);
    assert_eq!(world.call_component(&argument).outcome, too_many);
    world.works_afterwards();
    before.returns(64 << 20);
}

/// RES-07
#[test]
fn a_large_argument_is_refused_and_a_small_one_is_not() {
    let world = World::new();
    let argument = |bytes: u64| world.call("flood", json!({ "way": "argument", "bytes": bytes })).outcome;
    assert_eq!(argument(64 << 20), Err(Failure::TooMany { what: "bytes in one host call", limit: 16 << 20 }));
    assert_eq!(argument(1 << 20), Ok("reported".to_owned()));
}

/// RES-08
#[test]
fn much_randomness_at_once_ends_only_the_guest() {
    let world = World::new();
    let before = world.baseline(&["flood"]);
    for way in ["random", "insecure-random"] {
        for bytes in [1 << 30, u64::MAX, u64::MAX - 1, 1 << 40] {
            let outcome = world.call("flood", json!({ "way": way, "bytes": bytes })).outcome;
            assert!(matches!(outcome, Err(Failure::Trap { .. })), "{way} {bytes}: {outcome:?}");
        }
        assert_eq!(world.call("flood", json!({ "way": way, "bytes": 4096 })).outcome, Ok("4096".to_owned()));
    }
    before.returns(64 << 20);
}
