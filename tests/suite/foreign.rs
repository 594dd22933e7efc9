//! Components as other people's compilers make them: types of every kind, surroundings, sockets, and what starts them.

use palisade_sandbox::{Bounds, Call, Compiled, Failure, Report};
use palisade_tests::{foreign::Foreign, guests::guest, world::World};
use serde_json::{Value, json};

fn load(world: &World, name: &str) -> Compiled {
    guest(name).unwrap().load(world.engine()).unwrap()
}

/// Calls a function in a scope of its own.
fn call(world: &World, compiled: &Compiled, name: &str, input: &Value) -> Report {
    let offers = compiled.offers(world.engine()).unwrap();
    let offer = offers.into_iter().find(|offer| offer.description.name == name).unwrap();
    let scope = world.empty_scope();
    let bounds = Bounds { entry: offer.entry, ..Bounds::default() };
    scope.add_within(compiled, &offer.description, "foreign", bounds).unwrap();
    let report = scope.call_here(name, &input.to_string(), &Call::new());
    world.works_afterwards();
    world.no_canary(&report);
    report
}

fn answer(world: &World, compiled: &Compiled, name: &str, input: &Value) -> Result<Value, Failure> {
    let text = call(world, compiled, name, input).outcome?;
    Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

fn journey(events: &Value) -> Value {
    json!({ "id": u64::MAX, "level": "high", "rights": ["read", "run"], "events": events, "note": null })
}

#[test]
fn what_a_compiler_makes_of_every_type_crosses_both_ways() {
    for world in [World::new as fn() -> World, World::apart] {
        let world = world().granting(&[]);
        let shapes = load(&world, "foreign_shapes");
        let place = json!({ "name": "Übersee", "at": [-1.5, 1e300], "mark": "🦀" });
        let events = json!([
            { "tag": "started" }, { "tag": "moved", "value": place }, { "tag": "failed", "value": { "ok": 7 } },
        ]);
        let whole = journey(&events);
        let ask = |name: &str, input: Value| answer(&world, &shapes, name, &input);
        assert_eq!(ask("describe", json!({ "journey": whole })), Ok(whole.clone()));
        assert_eq!(ask("count", json!({ "journeys": [whole, journey(&json!([]))] })), Ok(json!([2, 3])));
        let failed = journey(&json!([{ "tag": "failed", "value": { "err": "fog" } }]));
        assert_eq!(
            ask("describe", json!({ "journey": failed })),
            Err(Failure::Failed(format!("{} failed: fog", u64::MAX)))
        );
        assert_eq!(ask("last_letter", json!({ "text": "naïf🦀" })), Ok(json!("🦀")));
        assert_eq!(ask("last_letter", json!({ "text": "" })), Ok(json!(null)));
        assert_eq!(ask("checked", json!({ "value": i64::MAX })), Ok(json!(i64::MAX)));
        assert_eq!(
            ask("checked", json!({ "value": i64::MIN })),
            Err(Failure::Failed(format!("[{},\"below zero\"]", i64::MIN)))
        );
        let mut wrong = journey(&json!([{ "tag": "moved", "value": place }]));
        wrong["events"][0]["value"]["mark"] = json!("two");
        let Err(Failure::InvalidInput(why)) = ask("describe", json!({ "journey": wrong })) else { panic!("it fits") };
        assert!(why.starts_with("input.journey.events[0].value.mark "), "{why}");
    }
}

#[test]
fn a_program_finds_no_surroundings_and_what_it_prints_is_kept() {
    let world = World::new().granting(&[]);
    let shapes = load(&world, "foreign_shapes");
    let found = answer(&world, &shapes, "surroundings", &json!({})).unwrap();
    assert_eq!((&found[0], &found[1]), (&json!([]), &json!([])));
    let report = call(&world, &shapes, "say", &json!({ "text": "hello" }));
    assert_eq!(report.outcome, Ok("null".to_owned()));
    let kept = [&report.stdout, &report.stderr].map(|stream| String::from_utf8_lossy(&stream.kept).into_owned());
    assert_eq!(kept, ["hello\n", "hello aside\n"]);
}

/// NET-02: the standard library of the guest's language speaks to sockets; nobody is behind them.
#[test]
fn a_program_that_would_use_sockets_runs_until_it_does() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let at = listener.local_addr().unwrap().to_string();
    for world in [World::new as fn() -> World, World::apart] {
        let world = world();
        let sockets = load(&world, "foreign_sockets");
        assert!(sockets.needs().absent.iter().all(|import| import.starts_with("wasi:sockets/")));
        assert!(!sockets.needs().absent.is_empty());
        let idle = answer(&world, &sockets, "idle", &json!({}));
        assert_eq!(idle, Ok(json!("nothing was asked of anybody")));
        for (name, input) in [
            ("connect", json!({ "address": at })),
            ("listen", json!({ "address": "127.0.0.1:0" })),
            ("send", json!({ "address": at })),
            ("look_up", json!({ "name": "localhost" })),
        ] {
            let outcome = call(&world, &sockets, name, &input).outcome;
            let Err(Failure::Trap { reason }) = outcome else { panic!("{name}: {outcome:?}") };
            assert!(reason.starts_with("it called `wasi:sockets/"), "{name}: {reason}");
            assert!(reason.ends_with("which no tool may have"), "{name}: {reason}");
        }
    }
    let nobody = listener.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(nobody, Err(std::io::ErrorKind::WouldBlock));
}

#[test]
fn what_a_compiler_leaves_behind_is_no_tool() {
    let world = World::new();
    let left = Foreign {
        inside: r#"(func (export "init") (result i32) (i32.const 1))"#.to_owned(),
        exports: r#"(func $init (result u32) (canon lift (core func $guest "init")))
            (instance $exports (export "init" (func $init)))
            (instance $own (export "init" (func $init)))
            (export "exports" (instance $exports))
            (export "own" (instance $own))"#
            .to_owned(),
        ..Foreign::default()
    };
    let left = left.load(world.engine()).unwrap();
    let offers = left.offers(world.engine()).unwrap();
    assert_eq!(offers.iter().map(|offer| offer.entry.to_string()).collect::<Vec<_>>(), ["own#init"]);
    assert_eq!(left.not_offered()[0].function, "exports#init");
}
