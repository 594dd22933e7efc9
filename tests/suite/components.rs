//! Components that were not written for Palisade: their functions are tools, inside the same limits and grants.

use palisade_grants::Capability;
use palisade_sandbox::{Bounds, Call, Compiled, Entry, Failure, LinkRefusal, NotOffered, Offer, Report, Scope};
use palisade_tests::{foreign::Foreign, guests::guest, web::Web, world::World};
use serde_json::{Value, json};

use crate::net::{AT, HOST};

fn load(world: &World, name: &str) -> Compiled {
    guest(name).unwrap().load(world.engine()).unwrap()
}

fn offer(world: &World, compiled: &Compiled, name: &str) -> Offer {
    let offers = compiled.offers(world.engine()).unwrap();
    let names: Vec<String> = offers.iter().map(|offer| offer.description.name.clone()).collect();
    offers.into_iter().find(|offer| offer.description.name == name).unwrap_or_else(|| panic!("{name} in {names:?}"))
}

fn add(scope: &Scope, compiled: &Compiled, offer: &Offer) -> Result<(), LinkRefusal> {
    let bounds = Bounds { entry: offer.entry.clone(), ..Bounds::default() };
    scope.add_within(compiled, &offer.description, "foreign", bounds)
}

/// Calls a function of a component in a scope of its own.
fn call(world: &World, compiled: &Compiled, name: &str, input: &Value) -> Report {
    let offer = offer(world, compiled, name);
    let scope = world.empty_scope();
    add(&scope, compiled, &offer).unwrap();
    let report = scope.call_here(name, &input.to_string(), &Call::new());
    world.works_afterwards();
    world.no_canary(&report);
    report
}

fn answer(world: &World, guest: &str, name: &str, input: &Value) -> Result<String, Failure> {
    call(world, &load(world, guest), name, input).outcome
}

fn failed(text: &str) -> Result<String, Failure> {
    Err(Failure::Failed(text.to_owned()))
}

#[test]
fn a_function_of_an_interface_is_a_tool() {
    let world = World::new().granting(&[]);
    let clock = load(&world, "foreign_time");
    assert!(!clock.is_tool());
    let offer = offer(&world, &clock, "get_current_time");
    let interface = Some("guests:clock/time@0.2.0".to_owned());
    assert_eq!(offer.entry, Entry::Function { interface, name: "get-current-time".to_owned() });
    assert_eq!(offer.description.description, "get-current-time: func() -> string");
    let said = answer(&world, "foreign_time", "get_current_time", &json!({})).unwrap();
    assert!(said.ends_with(" seconds since 1970"), "{said}");
    let moment: Value =
        serde_json::from_str(&answer(&world, "foreign_time", "get_moment", &json!({})).unwrap()).unwrap();
    assert!(moment["seconds"].as_u64().unwrap() > 1_700_000_000, "{moment}");
    assert_eq!(
        answer(&world, "foreign_time", "get_moment", &json!({ "zone": "UTC" })),
        Err(Failure::InvalidInput("input.zone is unknown; there is nothing".to_owned()))
    );
}

#[test]
fn a_program_that_looks_at_files_sees_those_that_are_granted() {
    let world = World::new();
    let files = load(&world, "foreign_files");
    let offers = files.offers(world.engine()).unwrap();
    let names: Vec<&str> = offers.iter().map(|offer| offer.description.name.as_str()).collect();
    assert_eq!(names, ["list_directory", "read_file", "write_file", "search_file", "get_file_info"]);
    for capability in [Capability::FsRead, Capability::FsWrite] {
        assert!(offers[0].description.capabilities.contains(&capability));
    }
    let ask = |world: &World, name: &str, input: Value| answer(world, "foreign_files", name, &input);
    assert_eq!(
        ask(&world, "list_directory", json!({ "path": "." })),
        Ok(r#"["[DIR] folder","[FILE] file"]"#.to_owned())
    );
    assert_eq!(ask(&world, "read_file", json!({ "path": "folder/file" })), Ok("mine".to_owned()));
    assert_eq!(ask(&world, "search_file", json!({ "path": "folder", "pattern": "fil" })), Ok("folder/file".to_owned()));
    assert_eq!(ask(&world, "write_file", json!({ "path": "new", "contents": "aGVsbG8=" })), Ok("5".to_owned()));
    assert_eq!(ask(&world, "write_file", json!({ "path": "newer", "contents": [104, 105] })), Ok("2".to_owned()));
    assert_eq!((world.contents("new"), world.contents("newer")), ("hello".to_owned(), "hi".to_owned()));
    for outside in ["../outside/secret.txt", "/etc/passwd", "folder/../../outside/secret.txt"] {
        let outcome = ask(&world, "read_file", json!({ "path": outside }));
        assert!(matches!(outcome, Err(Failure::Failed(_))), "{outside}: {outcome:?}");
    }
    world.outside_unchanged();

    let reading = world.neighbour().reading();
    let refused = ask(&reading, "write_file", json!({ "path": "new", "contents": "" }));
    assert!(matches!(refused, Err(Failure::Failed(_))), "{refused:?}");
    assert!(!reading.inside("new").exists());
}

/// What such a component imports its compiler put there; that nothing was granted shows only when it is used.
#[test]
fn without_a_grant_there_is_no_folder_and_no_host() {
    let web = Web::new();
    web.say(AT, "hello");
    let world = World::new().granting(&[]).reaching(web.network(), &[], &[]);
    let outcome = answer(&world, "foreign_files", "read_file", &json!({ "path": "file" }));
    assert!(matches!(outcome, Err(Failure::Failed(_))), "{outcome:?}");
    let report = call(&world, &load(&world, "foreign_fetch"), "fetch", &json!({ "url": format!("https://{HOST}/") }));
    assert_eq!(report.outcome, failed("ErrorCode::HttpRequestDenied"));
    assert_eq!(report.denials.len(), 1, "{:?}", report.denials);
    web.nothing_dialled();
}

#[test]
fn a_granted_host_is_asked() {
    let web = Web::new();
    web.say(AT, "hello");
    let world = World::new().granting(&[]).reaching(web.network(), &[HOST], &[]);
    let ask = |url: &str| answer(&world, "foreign_fetch", "fetch", &json!({ "url": url }));
    assert_eq!(ask(&format!("https://{HOST}/")), Ok("200 hello".to_owned()));
    assert_eq!(ask("https://other.test/"), failed("ErrorCode::HttpRequestDenied"));
    assert_eq!(ask("nonsense"), failed("relative URL without a base"));
}

#[test]
fn records_variants_and_options_cross_both_ways() {
    let world = World::new();
    let memory = load(&world, "foreign_memory");
    assert_eq!(
        memory.not_offered(),
        [("[method]cursor.next", "it belongs to a resource"), ("browse", "it takes or gives a resource"),].map(
            |(name, reason)| NotOffered {
                function: format!("guests:memory/graph@1.0.0#{name}"),
                reason: reason.to_owned()
            }
        )
    );
    let ask = |name: &str, input: Value| answer(&world, "foreign_memory", name, &input);
    let ada = json!({ "name": "Ada", "kind": "person", "observations": ["wrote"], "seen": u64::MAX });
    let here = json!({ "name": "here", "kind": "place", "observations": [], "seen": null });
    assert_eq!(ask("add_entities", json!({ "entities": [ada] })), Ok("1".to_owned()));
    assert_eq!(ask("add_entities", json!({ "entities": [here] })), Ok("2".to_owned()));
    let found = |input: Value| serde_json::from_str::<Value>(&ask("find", input).unwrap()).unwrap();
    assert_eq!(found(json!({ "query": { "tag": "all" } })), json!([ada, here]));
    assert_eq!(found(json!({ "query": { "tag": "all" }, "limit": 1 })), json!([ada]));
    assert_eq!(found(json!({ "query": { "tag": "of-kind", "value": "place" } })), json!([here]));
    assert_eq!(
        ask("find", json!({ "query": { "tag": "of-kind", "value": "idea" } })),
        Err(Failure::InvalidInput(
            "input.query.value is `idea`; it must be one of `person`, `place`, `thing`".to_owned()
        ))
    );
    let schema: Value = serde_json::from_str(&offer(&world, &memory, "find").description.input_schema).unwrap();
    assert_eq!(schema["required"], json!(["query"]));
    assert!(jsonschema_accepts(&schema, &json!({ "query": { "tag": "named", "value": "Ada" }, "limit": 3 })));
    assert!(!jsonschema_accepts(&schema, &json!({ "query": { "tag": "named" } })));
}

fn jsonschema_accepts(schema: &Value, value: &Value) -> bool {
    jsonschema::validator_for(schema).unwrap().is_valid(value)
}

/// What comes out is what went in, for types that are seldom seen.
#[test]
fn odd_types_cross_both_ways() {
    let world = World::new();
    let named = |text: &str| format!(r#"(type $t' {text}) (export $t "t" (type $t'))"#);
    for (types, item, values) in [
        (String::new(), "u64", json!([0, u64::MAX, 9_007_199_254_740_993_u64])),
        (String::new(), "s64", json!([i64::MIN, -1])),
        (String::new(), "f64", json!([0.1, "NaN", "-Infinity", 1e300])),
        (String::new(), "f32", json!([0.1, "Infinity"])),
        (String::new(), "char", json!(["é", "\u{10ffff}", "\0"])),
        (String::new(), "string", json!(["", "\0\u{7f}\"\\\n", "日本"])),
        (String::new(), "bool", json!([true, false])),
        (String::new(), "(list u8)", json!(["AP8=", ""])),
        (String::new(), "(option (option u8))", json!([null, { "some": null }, { "some": 7 }])),
        (String::new(), "(tuple u8 string)", json!([[1, "a"], [2, "b"]])),
        (String::new(), "(result u8 (error string))", json!([{ "ok": 1 }, { "err": "no" }])),
        (String::new(), "(result)", json!([{ "ok": null }, { "err": null }])),
        (named(r#"(flags "read" "write" "run")"#), "$t", json!([[], ["read", "run"]])),
        (named(r#"(enum "one" "two")"#), "$t", json!(["two", "one"])),
        (
            named(r#"(variant (case "none") (case "some" (list u16)))"#),
            "$t",
            json!([{ "tag": "none" }, { "tag": "some", "value": [1, 2] }]),
        ),
        (
            named(r#"(record (field "a" u8) (field "long-name" (option string)))"#),
            "$t",
            json!([{ "a": 1, "long-name": null }, { "a": 2, "long-name": "x" }]),
        ),
    ] {
        let same = Foreign::same(&types, item).load(world.engine()).unwrap_or_else(|error| panic!("{item}: {error}"));
        let report = call(&world, &same, "same", &json!({ "items": values }));
        let text = report.outcome.unwrap_or_else(|failure| panic!("{item}: {failure}"));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), values, "{item}");
    }
    // Bytes may be given as numbers, and come back as base64.
    let bytes = Foreign::same("", "u8").load(world.engine()).unwrap();
    for given in [json!([0, 255]), json!("AP8=")] {
        assert_eq!(call(&world, &bytes, "same", &json!({ "items": given })).outcome, Ok("AP8=".to_owned()));
    }
    assert!(offer(&world, &bytes, "same").description.description.ends_with("Bytes in the result are base64."));
}

/// RES-06: a guest says how large its result is.
#[test]
fn a_result_is_no_larger_than_it_may_be() {
    let world = World::new();
    let pair = |pointer: u32, length: u32| {
        format!(
            "(i32.store (i32.const 16) (i32.const {pointer})) (i32.store (i32.const 20) (i32.const {length})) (i32.const 16)"
        )
    };
    let grown = |pointer, length| format!("(drop (memory.grow (i32.const 1500))) {}", pair(pointer, length));
    let give = |result: &str, body: &str| {
        let foreign = Foreign::giving("give", result, "i32", body).load(world.engine()).unwrap();
        call(&world, &foreign, "give", &json!({})).outcome
    };
    let small = give("(list u32)", &pair(1024, 3));
    assert_eq!(small, Ok("[0,0,0]".to_owned()), "the control");
    let text = give("string", &grown(0, 2 << 20));
    assert_eq!(text, Err(Failure::OutputTooLarge { limit: 1 << 20 }));
    let numbers = Foreign::giving("give", "(list u32)", "i32", &pair(1024, 600)).load(world.engine()).unwrap();
    let brief = world.neighbour().limits(|limits| limits.output = 1000);
    assert_eq!(call(&brief, &numbers, "give", &json!({})).outcome, Err(Failure::OutputTooLarge { limit: 1000 }));
    // A million items would be many times as large on our side as on the guest's.
    let many = give("(list u8)", &grown(0, 90_000_000));
    assert_eq!(many, Err(Failure::TooMany { what: "bytes in one host call", limit: 16 << 20 }));
    let nested = give("(list (list (list u8)))", &grown(0, 10_000_000));
    assert!(matches!(nested, Err(Failure::TooMany { .. } | Failure::Trap { .. })), "{nested:?}");
    for (result, body) in [
        ("string", pair(1 << 30, 1 << 30)),
        ("(list u8)", pair(0, u32::MAX)),
        ("char", "(i32.const 0xd800)".to_owned()),
        ("(list string)", "(i32.store (i32.const 1024) (i32.const -1)) (i32.store (i32.const 16) (i32.const 1024)) (i32.store (i32.const 20) (i32.const 1)) (i32.const 16)".to_owned()),
    ] {
        let wrong = give(result, &body);
        assert!(matches!(wrong, Err(Failure::Trap { .. } | Failure::TooMany { .. })), "{result}: {wrong:?}");
    }
    // Half a character.
    let half = give("string", &format!("(i32.store8 (i32.const 1024) (i32.const 0xc3)) {}", pair(1024, 1)));
    assert!(matches!(half, Err(Failure::Trap { .. })), "{half:?}");
}

#[test]
fn a_function_has_every_limit_of_a_call() {
    let world = World::new().in_a_hurry();
    let limit = std::time::Duration::from_millis(200);
    let endless =
        Foreign::giving("spin", "u32", "i32", "(loop $on (br $on)) unreachable").load(world.engine()).unwrap();
    assert_eq!(call(&world, &endless, "spin", &json!({})).outcome, Err(Failure::OutOfTime { limit }));
    let crashing = Foreign::giving("crash", "u32", "i32", "unreachable").load(world.engine()).unwrap();
    assert!(matches!(call(&world, &crashing, "crash", &json!({})).outcome, Err(Failure::Trap { .. })));
    let small = world.neighbour().limits(|limits| limits.memory = 8 << 20);
    let growing = Foreign::giving(
        "grow",
        "u32",
        "i32",
        "(if (i32.eq (memory.grow (i32.const 200)) (i32.const -1)) (then unreachable)) (i32.const 1)",
    );
    let growing = growing.load(world.engine()).unwrap();
    assert_eq!(
        call(&small, &growing, "grow", &json!({})).outcome,
        Err(Failure::OutOfMemory { what: "memory", limit: 8 << 20 })
    );
    assert_eq!(call(&world, &growing, "grow", &json!({})).outcome, Ok("1".to_owned()), "the control");
    let cancelled = Call::new();
    cancelled.cancel();
    let scope = world.empty_scope();
    add(&scope, &growing, &offer(&world, &growing, "grow")).unwrap();
    assert_eq!(scope.call_here("grow", "{}", &cancelled).outcome, Err(Failure::Cancelled));
}

/// NET-02: nothing of `wasi:sockets` is linked. A component that imports it unasked runs, and ends if it uses it.
#[test]
fn sockets_are_there_for_no_function() {
    let world = World::new();
    let sockets = Foreign {
        // As compilers write it: with handles of its own and of others, beside what every guest has.
        around: r#"(import "wasi:io/poll@0.2.0" (instance $poll (export "pollable" (type (sub resource)))))
            (alias export $poll "pollable" (type $pollable))
            (import "wasi:clocks/wall-clock@0.2.0" (instance $clock
              (type $moment' (record (field "seconds" u64) (field "nanoseconds" u32)))
              (export "datetime" (type $moment (eq $moment')))
              (export "now" (func (result $moment)))))
            (import "wasi:sockets/ip-name-lookup@0.2.0" (instance $sockets
              (alias outer 1 $pollable (type $outer))
              (export "pollable" (type $pollable (eq $outer)))
              (export "stream" (type $stream (sub resource)))
              (export "[method]stream.subscribe" (func (param "self" (borrow $stream)) (result (own $pollable))))
              (export "resolve" (func (result u32)))))
            (core module $early (memory (export "memory") 1))
            (core instance $first (instantiate $early))
            (alias core export $first "memory" (core memory $first-memory))
            (core func $now (canon lower (func $clock "now") (memory $first-memory)))
            (core func $resolve (canon lower (func $sockets "resolve")))"#
            .to_owned(),
        with: r#"(with "s" (instance (export "resolve" (func $resolve)) (export "now" (func $now))))"#.to_owned(),
        imports: r#"(import "s" "resolve" (func $resolve (result i32))) (import "s" "now" (func $now (param i32)))"#
            .to_owned(),
        inside: r#"(func (export "use") (result i32) (call $resolve))
            (func (export "leave") (result i32) (call $now (i32.const 0)) (i32.const 7))"#
            .to_owned(),
        exports: r#"(func (export "use") (result u32) (canon lift (core func $guest "use")))
            (func (export "leave") (result u32) (canon lift (core func $guest "leave")))"#
            .to_owned(),
    };
    let sockets = sockets.load(world.engine()).unwrap();
    assert_eq!(sockets.needs().absent, ["wasi:sockets/ip-name-lookup@0.2.0"]);
    assert_eq!(call(&world, &sockets, "leave", &json!({})).outcome, Ok("7".to_owned()));
    let Err(Failure::Trap { reason }) = call(&world, &sockets, "use", &json!({})).outcome else { panic!("it went on") };
    assert_eq!(reason, "it called `wasi:sockets/ip-name-lookup@0.2.0#resolve`, which no tool may have");

    let unknown = Foreign {
        around: r#"(import "evil:corp/backdoor" (instance (export "x" (func))))"#.to_owned(),
        ..Foreign::default()
    };
    let Err(Failure::BadComponent { reason }) = unknown.load(world.engine()).map(drop) else { panic!("it loads") };
    assert!(reason.contains("evil:corp/backdoor"), "{reason}");
}

#[test]
fn settings_are_empty() {
    let world = World::new();
    let asking = Foreign {
        around: r#"(import "wasi:config/store@0.2.0-draft" (instance $store
              (type $error' (variant (case "upstream" string) (case "io" string)))
              (export "config-error" (type $error (eq $error')))
              (export "get" (func (param "key" string) (result (result (option string) (error $error)))))))
            (alias export $store "config-error" (type $error))
            (core module $early
              (memory (export "memory") 1)
              (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
            (core instance $first (instantiate $early))
            (alias core export $first "memory" (core memory $first-memory))
            (alias core export $first "realloc" (core func $first-realloc))
            (core func $get (canon lower (func $store "get") (memory $first-memory) (realloc $first-realloc)))"#
            .to_owned(),
        with: r#"(with "s" (instance (export "get" (func $get)))) (with "m" (instance $first))"#.to_owned(),
        imports: r#"(import "s" "get" (func $get (param i32 i32 i32))) (import "m" "memory" (memory $other 1))"#
            .to_owned(),
        // The first two bytes of what it was answered: no error, and nothing.
        inside: r#"(func (export "ask") (result i32)
              (call $get (i32.const 0) (i32.const 3) (i32.const 64))
              (i32.add (i32.load8_u $other (i32.const 64)) (i32.load8_u $other (i32.const 68))))"#
            .to_owned(),
        exports: r#"(func (export "ask") (result u32) (canon lift (core func $guest "ask")))"#.to_owned(),
    };
    let asking = asking.load(world.engine()).unwrap();
    assert_eq!(asking.needs().settings, ["wasi:config/store@0.2.0-draft"]);
    assert_eq!(call(&world, &asking, "ask", &json!({})).outcome, Ok("0".to_owned()));
}

#[test]
fn what_an_author_wrote_is_the_description() {
    let world = World::new();
    let json = br#"_{"worlds":{"w":{"funcs":{"add":{"docs":"Adds two numbers.\nAll of them."}}}}}"#;
    let mut docs = json.map(|byte| format!("\\{byte:02x}"));
    docs[0] = "\\01".to_owned();
    let add = Foreign {
        inside: r#"(func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))"#
            .to_owned(),
        exports: format!(
            r#"(func (export "add") (param "left" u32) (param "right" u32) (result u32) (canon lift (core func $guest "add")))
            (@custom "package-docs" "{}")"#,
            docs.concat()
        ),
        ..Foreign::default()
    };
    let add = add.load(world.engine()).unwrap();
    assert_eq!(offer(&world, &add, "add").description.description, "Adds two numbers.\nAll of them.");
    assert_eq!(call(&world, &add, "add", &json!({ "left": 2, "right": 3 })).outcome, Ok("5".to_owned()));
    assert_eq!(
        call(&world, &add, "add", &json!({ "left": 2 })).outcome,
        Err(Failure::InvalidInput("input.right is missing; it must be a whole number (u32)".to_owned()))
    );
}

#[test]
fn a_function_that_is_not_there_is_not_linked() {
    let world = World::new();
    let clock = load(&world, "foreign_time");
    let offer = offer(&world, &clock, "get_moment");
    for name in ["missing", "guests:clock/time@0.2.0#missing", "guests:clock/none@0.2.0#get-moment"] {
        let entry: Entry = name.parse().unwrap();
        let refused = add(&world.empty_scope(), &clock, &Offer { entry, ..offer.clone() }).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("this is not a usable tool component: it exports no function `{name}`")
        );
    }
    let refused = add(&world.empty_scope(), &clock, &Offer { entry: Entry::Tool, ..offer.clone() }).unwrap_err();
    assert!(refused.to_string().contains("it cannot be linked"), "{refused}");
    // And what cannot be asked what it is says so.
    assert!(matches!(clock.describe(world.engine()), Err(Failure::BadComponent { .. })));
}

/// The same in the process that guests run in.
#[test]
fn functions_run_apart_as_they_do_here() {
    let web = Web::new();
    web.say(AT, "hello");
    let world = World::apart().reaching(web.network(), &[HOST], &[]);
    assert_eq!(answer(&world, "foreign_files", "read_file", &json!({ "path": "file" })), Ok("mine".to_owned()));
    assert_eq!(
        answer(&world, "foreign_fetch", "fetch", &json!({ "url": format!("https://{HOST}/") })),
        Ok("200 hello".to_owned())
    );
    assert_eq!(
        answer(&world, "foreign_fetch", "fetch", &json!({ "url": "https://other.test/" })),
        failed("ErrorCode::HttpRequestDenied")
    );
    assert_eq!(
        answer(&world, "foreign_files", "read_file", &json!({ "path": 3 })),
        Err(Failure::InvalidInput("input.path must be a text, and is a number".to_owned()))
    );
    let same = Foreign::same("", "(option u64)").load(world.engine()).unwrap();
    assert_eq!(call(&world, &same, "same", &json!({ "items": [1, null] })).outcome, Ok("[1,null]".to_owned()));
    let large = Foreign::giving(
        "give",
        "string",
        "i32",
        "(drop (memory.grow (i32.const 1500))) (i32.store (i32.const 16) (i32.const 1024)) (i32.store (i32.const 20) (i32.const 2000000)) (i32.const 16)",
    );
    let large = large.load(world.engine()).unwrap();
    assert_eq!(call(&world, &large, "give", &json!({})).outcome, Err(Failure::OutputTooLarge { limit: 1 << 20 }));

    let alone = world.neighbour().granting(&[]).reaching(web.network(), &[], &[]);
    let outcome = answer(&alone, "foreign_files", "read_file", &json!({ "path": "file" }));
    assert!(matches!(outcome, Err(Failure::Failed(_))), "{outcome:?}");
    assert_eq!(
        answer(&alone, "foreign_fetch", "fetch", &json!({ "url": format!("https://{HOST}/") })),
        failed("ErrorCode::HttpRequestDenied")
    );
}

/// A tool that was written for Palisade is one, and asks for what it declares.
#[test]
fn a_tool_of_its_own_offers_itself() {
    let world = World::new();
    let (compiled, description) = world.load("echo");
    assert!(compiled.is_tool());
    assert_eq!(compiled.offers(world.engine()).unwrap(), [Offer { description, entry: Entry::Tool }]);
    assert_eq!(compiled.not_offered(), []);
}
