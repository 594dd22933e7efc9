//! Abuse of the host's interfaces.

use std::{
    collections::BTreeSet,
    fs,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use palisade_grants::{Access, Capability};
use palisade_sandbox::{Call, Failure, LinkRefusal};
use palisade_tests::{
    handmade::{FOR_EVER, Handmade},
    memory_storage::MemoryStorage,
    world::{World, describe},
};
use rustix::fs::{FileType, Mode};
use serde_json::json;

/// API-01
#[test]
fn no_order_of_odd_host_calls_breaks_the_host() {
    let storage = Arc::new(MemoryStorage::default());
    let world = World::new().storing(storage, 1 << 16);
    world.link("link", "folder");
    world.link("loop", "loop");
    rustix::fs::mknodat(rustix::fs::CWD, world.inside("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let scope = world.scope(&["fuzz"]);
    let mut returned = 0;
    for seed in 0..200_u64 {
        let input = json!({ "seed": seed * 7_919, "calls": 1000 }).to_string();
        let report = scope.call_here("fuzz", &input, &Call::new());
        world.no_canary(&report);
        match report.outcome {
            Ok(_) => returned += 1,
            Err(Failure::Trap { .. } | Failure::TooMany { .. }) => {}
            Err(failure) => panic!("seed {seed}: {failure:?}"),
        }
        // The guest can fill and tangle the workspace as it likes; start afresh now and then.
        if seed % 10 == 9 {
            for entry in fs::read_dir(world.workspace()).unwrap() {
                let path = entry.unwrap().path();
                if fs::remove_file(&path).is_err() {
                    fs::remove_dir_all(&path).ok();
                }
            }
            world.put("file", "mine");
            world.put("folder/file", "mine");
        }
    }
    assert!(returned > 100, "only {returned} of 200 seeds got to the end");
    world.outside_unchanged();
    world.works_afterwards();
}

/// API-02
#[test]
fn whose_call_it_is_comes_from_the_host() {
    let storage = Arc::new(MemoryStorage::default());
    let world = World::new().storing(storage.clone(), 1000);
    let (mine, theirs) = (world.empty_scope(), world.empty_scope());
    world.add(&mine, "keeper", "mine");
    world.add(&theirs, "keeper", "theirs");
    let set =
        json!({ "op": "set", "key": "theirs/token", "value": "x", "space": "theirs", "agent": "theirs", "run": 1 });
    assert!(mine.call_here("keeper", &set.to_string(), &Call::new()).outcome.is_ok());
    assert_eq!(storage.all().keys().map(|(space, _)| space.as_str()).collect::<Vec<_>>(), ["mine"]);
    let keys = json!({ "op": "keys", "key": "" }).to_string();
    assert_eq!(theirs.call_here("keeper", &keys, &Call::new()).outcome, Ok(String::new()));
}

/// API-03
#[test]
fn a_handle_that_was_not_given_ends_only_the_guest() {
    let world = World::new();
    assert_eq!(world.call("dangle", json!({ "way": "use" })).outcome, Ok("done".to_owned()));
    let before = world.baseline(&["dangle"]);
    for way in ["confuse", "use-after-drop", "drop-twice"] {
        let outcome = world.call("dangle", json!({ "way": way })).outcome;
        assert!(matches!(outcome, Err(Failure::Trap { .. })), "{way}: {outcome:?}");
    }
    for way in ["forge-file", "forge-stream", "drop-forged"] {
        // `u32::MAX` is what the guest's own bindings write over a handle that is gone.
        for handle in [0, 1234, 0x7fff_ffff, u32::MAX - 1] {
            let outcome = world.call("dangle", json!({ "way": way, "handle": handle })).outcome;
            assert!(matches!(outcome, Err(Failure::Trap { .. })), "{way} {handle}: {outcome:?}");
        }
    }
    world.works_afterwards();
    before.returns(64 << 20);
}

/// API-05, X2, V2
#[test]
fn what_is_not_granted_is_not_there() {
    let world = World::new().granting(&[]);
    for (import, capabilities, remedy) in [
        (
            "wasi:filesystem/preopens@0.2.0",
            &[Capability::FsRead][..],
            "`grants: { files: { \".\": read } }` in the agent's definition would allow it",
        ),
        (
            "wasi:filesystem/types@0.2.0",
            &[Capability::FsWrite],
            "`grants: { files: { \".\": read } }` in the agent's definition would allow it",
        ),
        (
            "palisade:host/files@0.1.0",
            &[Capability::FsRead],
            "`grants: { files: { \".\": read } }` in the agent's definition would allow it",
        ),
        (
            "palisade:host/storage@0.1.0",
            &[Capability::Storage],
            "`grants: { storage: { bytes: 1048576 } }` in the agent's definition would allow it",
        ),
        (
            "palisade:host/process@0.1.0",
            &[Capability::Exec],
            "`[exec] allow = [\"cargo test:*\"]` in the operator's or the user's configuration, and `commands` where a \
             definition has grants, would allow it",
        ),
        ("palisade:host/agents@0.1.0", &[Capability::Agents], "no agent can be granted `agents` in this version"),
        ("palisade:toolbox/write@0.1.0", &[Capability::Tools], "add `write` to the agent's tools"),
        (
            "wasi:http/outgoing-handler@0.2.0",
            &[Capability::Http],
            "`grants: { http: [\"api.example.com\"] }` in the agent's definition would allow it",
        ),
    ] {
        let compiled = importing(import).load(world.engine()).unwrap();
        let refusal = world.empty_scope().add(&compiled, &describe("wants", capabilities), "wants").unwrap_err();
        let LinkRefusal::NotGranted { import: named, denial } = &refusal else { panic!("{import}: {refusal:?}") };
        assert_eq!((named.as_str(), denial.remedy.as_str()), (import, remedy));
        assert!(refusal.to_string().contains(import), "{refusal}");
    }
}

/// API-05, NET-02: some things no grant allows.
#[test]
fn sockets_and_unknown_interfaces_are_never_there() {
    let world = World::new();
    for import in [
        "wasi:sockets/network@0.2.0",
        "wasi:sockets/instance-network@0.2.0",
        "wasi:sockets/tcp@0.2.0",
        "wasi:sockets/tcp-create-socket@0.2.0",
        "wasi:sockets/udp@0.2.0",
        "wasi:sockets/udp-create-socket@0.2.0",
        "wasi:sockets/ip-name-lookup@0.2.0",
        "palisade:host/secrets@0.1.0",
        "evil:corp/backdoor",
    ] {
        let Err(Failure::BadComponent { reason }) = importing(import).load(world.engine()).map(|_| ()) else {
            panic!("{import}")
        };
        assert!(reason.contains(import), "{reason}");
    }
}

/// API-05: what a tool does not declare it does not get, even if its agent has it.
#[test]
fn a_component_that_imports_more_than_it_declares_is_refused() {
    let world = World::new();
    let compiled = importing("palisade:host/files@0.1.0").load(world.engine()).unwrap();
    let refusal = world.empty_scope().add(&compiled, &describe("sly", &[]), "sly").unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "this is not a usable tool component: it imports `palisade:host/files@0.1.0` but does not declare `fs.read` or `fs.write`"
    );
}

/// API-05, the control: with the grant it links.
#[test]
fn what_is_granted_is_there() {
    let world = World::new().storing(Arc::new(MemoryStorage::default()), 1000);
    for guest in ["reach", "keeper", "hoard", "fuzz"] {
        world.scope(&[guest]);
    }
    let reading = World::neighbour(&world).granting(&[(".", Access::Read)]);
    assert_eq!(
        reading.scope(&["reach"]).effective("reach").unwrap().capabilities(),
        BTreeSet::from([Capability::FsRead, Capability::Progress])
    );
}

fn importing(import: &str) -> Handmade {
    Handmade { around: format!(r#"(import "{import}" (instance (export "something" (func))))"#), ..Handmade::default() }
}

/// API-06, X8
#[test]
fn a_cancelled_call_ends_and_the_next_gets_its_own_result() {
    let world = World::new();
    let scope = world.scope(&["wait", "spin", "echo"]);
    for (tool, input) in [("wait", r#"{"way":"block"}"#), ("spin", r#"{"way":"count"}"#)] {
        let call = Call::new();
        thread::scope(|threads| {
            let running = threads.spawn(|| scope.call_here(tool, input, &call));
            while world.engine().alive() == 0 {
                thread::yield_now();
            }
            call.cancel();
            assert_eq!(running.join().unwrap().outcome, Err(Failure::Cancelled), "{tool}");
        });
        let report = scope.call_here("echo", r#"{"text":"next"}"#, &Call::new());
        assert_eq!(report.outcome, Ok("next".to_owned()));
    }
}

/// API-06
#[test]
fn the_result_of_a_call_cancelled_before_it_ran_is_discarded() {
    let world = World::new();
    let scope = world.scope(&["echo"]);
    let call = Call::new();
    call.cancel();
    assert_eq!(scope.call_here("echo", r#"{"text":"late"}"#, &call).outcome, Err(Failure::Cancelled));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let report = runtime.block_on(scope.call("echo", r#"{"text":"late"}"#.to_owned(), call));
    assert_eq!(report.outcome, Err(Failure::Cancelled));
    let report = runtime.block_on(scope.call("echo", r#"{"text":"next"}"#.to_owned(), Call::new()));
    assert_eq!(report.outcome, Ok("next".to_owned()));
}

/// API-06: calls side by side get their own results.
#[test]
fn results_do_not_get_mixed_up() {
    let world = World::new();
    let scope = world.scope(&["echo"]);
    thread::scope(|threads| {
        for thread in 0..4 {
            let scope = &scope;
            threads.spawn(move || {
                for number in 0..200 {
                    let text = format!("{thread}-{number}");
                    let report = scope.call_here("echo", &json!({ "text": text }).to_string(), &Call::new());
                    assert_eq!(report.outcome, Ok(text));
                }
            });
        }
    });
}

/// API-08
#[test]
fn keys_do_not_cross_spaces() {
    let storage = Arc::new(MemoryStorage::default());
    let world = World::new().storing(storage.clone(), 10_000);
    let (mine, theirs) = (world.empty_scope(), world.empty_scope());
    world.add(&mine, "keeper", "mine");
    world.add(&theirs, "keeper", "theirs");
    let ask = |scope: &palisade_sandbox::Scope, op: &str, key: &str, value: &str| {
        let input = json!({ "op": op, "key": key, "value": value }).to_string();
        scope.call_here("keeper", &input, &Call::new()).outcome
    };
    assert_eq!(ask(&theirs, "set", "token", world.canary()), Ok("kept".to_owned()));
    for key in [
        "../theirs/token",
        "theirs/token",
        "theirs\0token",
        "/theirs/token",
        "theirs:token",
        "theirs.token",
        "../../token",
        "token",
    ] {
        assert_eq!(ask(&mine, "get", key, ""), Ok(String::new()), "{key:?}");
        assert_eq!(ask(&mine, "set", key, "mine"), Ok("kept".to_owned()), "{key:?}");
        assert_eq!(ask(&mine, "get", key, ""), Ok("mine".to_owned()), "{key:?}");
        assert_eq!(ask(&mine, "delete", key, ""), Ok("deleted".to_owned()), "{key:?}");
    }
    assert_eq!(ask(&theirs, "get", "token", ""), Ok(world.canary().to_owned()));
    assert_eq!(ask(&theirs, "keys", "", ""), Ok("token".to_owned()));
    assert_eq!(ask(&mine, "keys", "", ""), Ok(String::new()));
    let long = "k".repeat(257);
    for key in ["", long.as_str()] {
        assert_eq!(ask(&mine, "set", key, "x"), Err(Failure::InvalidInput("invalid key".to_owned())));
    }
    assert_eq!(ask(&mine, "set", "large", &"x".repeat(10_001)), Err(Failure::Failed("full".to_owned())));
    assert_eq!(storage.all().len(), 1);
}

/// API-04
#[test]
fn a_tool_that_calls_itself_is_stopped_at_the_depth_limit() {
    let world = World::new();
    let scope = calling_itself(&world);
    let again = |times: u32| scope.call_here("again", &json!({ "times": times }).to_string(), &Call::new()).outcome;
    for times in 0..=4 {
        assert_eq!(again(times), Ok("bottom".to_owned()), "{times}");
    }
    for times in [5, 100, u32::MAX] {
        assert_eq!(
            again(times),
            Err(Failure::Failed("the tool used too many tools calling tools (limit 4)".to_owned())),
            "{times}"
        );
    }
    assert_eq!(world.engine().alive(), 0);
    world.works_afterwards();
}

/// API-04
#[test]
fn tools_calling_tools_with_few_slots_end_without_a_deadlock() {
    let world = World::with_engine(palisade_sandbox::Settings { slots: 2, queue: 8, ..palisade_tests::world::SMALL })
        .limits(|limits| limits.call_time = Duration::from_secs(3));
    let scope = calling_itself(&world);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let reports = runtime.block_on(futures_util::future::join_all(
        (0..8).map(|_| scope.call("again", r#"{"times":1}"#.to_owned(), Call::new())),
    ));
    for report in reports {
        match report.outcome {
            Ok(text) => assert_eq!(text, "bottom"),
            Err(Failure::Failed(text)) => assert!(text.contains("busy"), "{text}"),
            Err(failure) => panic!("{failure:?}"),
        }
    }
    assert_eq!(scope.call_here("again", r#"{"times":1}"#, &Call::new()).outcome, Ok("bottom".to_owned()));
    assert!(scope.call_here("again", r#"{"times":2}"#, &Call::new()).outcome.is_err());
    assert_eq!(world.engine().alive(), 0);
}

/// API-04: time spent in a called tool is the caller's time.
#[test]
fn a_called_tool_ends_at_its_callers_deadline() {
    let world = World::new().in_a_hurry();
    let scope = world.empty_scope();
    let endless = Handmade { call: FOR_EVER.to_owned(), ..Handmade::default() }.load(world.engine()).unwrap();
    scope.add(&endless, &describe("again", &[]), "endless").unwrap();
    let (again, mut description) = world.load("again");
    description.name = "caller".to_owned();
    scope.add(&again, &description, "caller").unwrap();
    let started = Instant::now();
    let report = scope.call_here("caller", r#"{"times":1}"#, &Call::new());
    assert_eq!(report.outcome.unwrap_err().to_string(), "the tool ran out of time after 200ms");
    assert!(started.elapsed() < Duration::from_secs(1));
    world.works_afterwards();
}

pub(crate) fn calling_itself(world: &World) -> palisade_sandbox::Scope {
    let scope = world.empty_scope();
    let (echo, mut description) = world.load("echo");
    description.name = "again".to_owned();
    scope.add(&echo, &description, "echo").unwrap();
    world.add(&scope, "again", "again");
    scope
}
