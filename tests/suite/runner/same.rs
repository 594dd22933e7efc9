//! Every call comes to the same in this process and in one of its own.

use std::{
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use palisade_grants::{Access, Capability, Denial};
use palisade_sandbox::{Binding, Bounds, Call, Failure, Programs, Report, Vault};
use palisade_tests::{
    handmade::Handmade,
    memory_storage::MemoryStorage,
    shell,
    web::{Certificate, Web, plain, redirect},
    world::World,
};
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::{
    api::calling_itself,
    bash_commands,
    net::{AT, HOST},
};

/// Makes the same world, with guests here and with guests apart.
type Made<'a> = &'a dyn Fn(World) -> World;

/// All that a caller can tell of a call. How long it took is its own.
fn told(report: &Report) -> String {
    let Report { outcome, cost, denials, stdout, stderr } = report;
    let printed = |kept: &[u8], dropped: u64| {
        (kept.len(), String::from_utf8_lossy(kept).chars().take(99).collect::<String>(), dropped)
    };
    let text = outcome.as_ref().map(|text| (text.len(), text.chars().take(4000).collect::<String>()));
    format!(
        "{text:?}\n{denials:?}\n{:?} {:?}\n{} {}",
        printed(&stdout.kept, stdout.dropped),
        printed(&stderr.kept, stderr.dropped),
        cost.peak_memory,
        cost.written,
    )
}

/// Makes these calls one after the other, in one scope, here and apart, and compares what is told and what is left.
fn same(made: Made<'_>, tools: &[&str], calls: &[(&str, Value)]) -> Vec<Report> {
    let both = [World::new, World::apart].map(|world| {
        let world = made(world());
        let scope = world.scope(tools);
        let call = |(tool, input): &(&str, Value)| scope.call_here(tool, &input.to_string(), &Call::new());
        let reports: Vec<Report> = calls.iter().map(call).collect();
        reports.iter().for_each(|report| world.no_canary(report));
        world.outside_unchanged();
        let contents: Vec<String> = world
            .tree()
            .values()
            .map(|what| what.split_once(' ').unwrap().1.split_once(' ').unwrap().1.to_owned())
            .collect();
        (reports, contents)
    });
    let [(here, left_here), (apart, left_apart)] = both;
    for ((call, here), apart) in calls.iter().zip(&here).zip(&apart) {
        assert_eq!(told(here), told(apart), "{call:?}");
    }
    assert_eq!(left_here, left_apart);
    apart
}

#[test]
fn files_are_read_written_and_refused_alike() {
    let furnish = |world: World| {
        world.put("src/lib.rs", "fn main() {}\n// needle\n");
        world.put(".git/config", "[core]");
        world.link("planted", "../outside/secret.txt");
        world
    };
    let calls = [
        ("read", json!({ "path": "src/lib.rs" })),
        ("grep", json!({ "pattern": "needle" })),
        // One file: several are sorted by when they were written, which no two worlds share.
        ("glob", json!({ "pattern": "src/**/*" })),
        ("ls", json!({ "path": "." })),
        ("read", json!({ "path": "planted" })),
        ("read", json!({ "path": "../outside/secret.txt" })),
        ("read", json!({ "path": "nothing" })),
        ("write", json!({ "path": "new/deep/file.txt", "content": "text" })),
        ("write", json!({ "path": ".git/hooks/x", "content": "text" })),
        ("edit", json!({ "path": "src/lib.rs", "old": "needle", "new": "thread" })),
        (
            "reach",
            json!({ "steps": [
            { "op": "preopens" },
            { "op": "write", "path": "a", "text": "one" },
            { "op": "set-times", "path": "a" },
            { "op": "rename", "path": "a", "to": "b" },
            { "op": "link", "path": "b", "to": "c" },
            { "op": "symlink", "path": "b", "to": "d" },
            { "op": "symlink", "text": "b", "path": "e" },
            { "op": "unlink", "path": "c" },
            { "op": "write", "at": "/tmp", "path": "note", "text": "mine" },
            { "op": "read", "at": "/tmp", "path": "note" },
            { "op": "read", "path": "planted", "follow": true },
        ] }),
        ),
    ];
    let tools = ["read", "grep", "glob", "ls", "write", "edit", "reach"];
    let reports = same(&furnish, &tools, &calls);
    assert!(reports[0].outcome.is_ok() && reports[4].outcome.is_err());
    same(&|world| furnish(world).reading(), &tools, &calls);
    same(&|world| furnish(world).granting(&[("src", Access::ReadWrite), ("folder", Access::Read)]), &tools, &calls);
    same(&|world| furnish(world).hiding(&["*.rs"]), &tools, &calls);
    same(&|world| furnish(world).freezing(&["src/**"]), &tools, &calls);
}

#[test]
fn limits_and_crashes_end_alike() {
    let strict = |world: World| {
        world.limits(|limits| {
            limits.memory = 64 << 20;
            limits.output = 10_000;
            limits.call_time = Duration::from_millis(700);
        })
    };
    let reports = same(
        &strict,
        &["grow", "flood", "crash", "recurse", "hoard", "dangle", "spin", "wait", "echo"],
        &[
            ("grow", json!({ "mebibytes": 4000, "polite": false })),
            ("grow", json!({ "mebibytes": 4000, "polite": true })),
            ("flood", json!({ "way": "stdout", "bytes": 1_000_000 })),
            ("flood", json!({ "way": "stderr", "bytes": 20_000 })),
            ("flood", json!({ "way": "result", "bytes": 20_000 })),
            ("flood", json!({ "way": "error", "bytes": 20_000 })),
            ("flood", json!({ "way": "argument", "bytes": 100_000_000 })),
            ("crash", json!({ "way": "panic" })),
            ("crash", json!({ "way": "abort" })),
            ("crash", json!({ "way": "exit" })),
            ("crash", json!({ "way": "beyond" })),
            ("recurse", json!({ "depth": 10_000_000 })),
            ("hoard", json!({ "way": "files", "count": 10_000 })),
            ("hoard", json!({ "way": "pollables", "count": 10_000 })),
            ("dangle", json!({ "way": "use-after-drop" })),
            ("echo", json!({ "text": "still here" })),
            ("echo", json!({ "wrong": 1 })),
        ],
    );
    assert_eq!(reports[0].outcome, Err(Failure::OutOfMemory { what: "memory", limit: 64 << 20 }));
    assert_eq!(reports[4].outcome, Err(Failure::OutputTooLarge { limit: 10_000 }));
    // Neither how often the clock looked nor what was in memory then is the same twice.
    for tool in [("spin", json!({ "way": "count" })), ("wait", json!({ "way": "block" }))] {
        let outcome = World::apart().limits(|limits| limits.call_time = Duration::from_millis(300));
        let report = outcome.scope(&[tool.0]).call_here(tool.0, &tool.1.to_string(), &Call::new());
        assert_eq!(report.outcome, Err(Failure::OutOfTime { limit: Duration::from_millis(300) }), "{}", tool.0);
        outcome.works_afterwards();
    }
}

#[test]
fn foreign_machine_code_runs_there_too() {
    for world in [World::new, World::apart] {
        let world = world();
        let compiled = Handmade::default().load(world.engine()).unwrap();
        assert_eq!(world.call_component(&compiled).outcome, Ok("ok".to_owned()));
    }
}

#[test]
fn what_is_written_is_counted_there() {
    let little = |world: World| world.limits(|limits| (limits.written, limits.created) = (10_000, 3));
    same(
        &little,
        &["write", "scribe"],
        &[
            ("scribe", json!({ "files": 2, "bytes": 3_000 })),
            ("scribe", json!({ "files": 5, "bytes": 3_000 })),
            ("scribe", json!({ "files": 9, "bytes": 1 })),
            ("write", json!({ "path": "large", "content": "x".repeat(20_000) })),
        ],
    );
}

#[test]
fn storage_is_the_hosts() {
    for bytes in [1_000, 0] {
        same(
            &|world| world.storing(Arc::new(MemoryStorage::default()), bytes),
            &["keeper"],
            &[
                ("keeper", json!({ "op": "set", "key": "a", "value": "1" })),
                ("keeper", json!({ "op": "set", "key": "ab", "value": "2" })),
                ("keeper", json!({ "op": "get", "key": "a" })),
                ("keeper", json!({ "op": "keys", "key": "a" })),
                ("keeper", json!({ "op": "delete", "key": "a" })),
                ("keeper", json!({ "op": "get", "key": "a" })),
                ("keeper", json!({ "op": "set", "key": "", "value": "1" })),
                ("keeper", json!({ "op": "set", "key": "k".repeat(300), "value": "1" })),
                ("keeper", json!({ "op": "set", "key": "large", "value": "x".repeat(2_000) })),
            ],
        );
    }
}

#[test]
fn tools_call_tools_as_deep_as_they_may() {
    let both = [World::new, World::apart].map(|world| {
        let world = world();
        let scope = calling_itself(&world);
        let call = |times: u32| scope.call_here("again", &json!({ "times": times }).to_string(), &Call::new());
        [0, 1, 4, 9].map(|times| told(&call(times)))
    });
    assert_eq!(both[0], both[1]);
    assert!(both[0][2].contains("bottom") && both[0][3].contains("tools calling tools"), "{:?}", both[0]);
}

/// The gate is the host's, and is asked once.
#[test]
fn a_gate_refuses_there_what_it_refuses_here() {
    let both = [World::new, World::apart].map(|world| {
        let world = world();
        let scope = world.empty_scope();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let gate = move |input: &str| {
            seen.lock().unwrap().push(input.to_owned());
            Err(Denial {
                capability: Capability::Tools,
                asked: "writing".to_owned(),
                rule: "never".to_owned(),
                remedy: "nothing".to_owned(),
            })
        };
        let (compiled, description) = world.load("write");
        let bounds = Bounds { gate: Some(Arc::new(gate)), ..Bounds::default() };
        scope.add_within(&compiled, &description, "write", bounds).unwrap();
        world.add(&scope, "scribe", "scribe");
        let report = scope.call_here("scribe", r#"{"files":1,"bytes":1}"#, &Call::new());
        let asked = asked.lock().unwrap().clone();
        assert_eq!(asked.len(), 1);
        (told(&report), asked)
    });
    assert_eq!(both[0], both[1]);
    assert!(both[0].0.contains("never"), "{}", both[0].0);
}

/// Its commands that are tools are asked of the host, which asks their gates; it remembers where it was.
#[test]
fn a_shell_is_the_same_there() {
    let both = [World::new, World::apart].map(|world| {
        let world = world();
        let scope = bash_commands::scope(&world, "echo");
        let scripts = [
            "ls | wc -l; echo text > new; cat new; cat ../outside/secret.txt",
            "cd folder && pwd; touch -d @0 file; chmod +x file; stat -c %a file",
            "pwd; cat file; echo note > /tmp/note",
            "cat /tmp/note; rm ../new; say hello | tr a-z A-Z; say a b; say --help; x=sec; say ${x}ret; nothing",
        ];
        scripts.map(|script| told(&shell::call(&scope, script)))
    });
    assert_eq!(both[0], both[1]);
    assert!(both[0][3].contains("HELLO") && both[0][3].contains("no secrets"), "{}", both[0][3]);
}

#[test]
fn programs_are_run_by_the_host() {
    let programs = || Programs {
        time: Duration::from_secs(15),
        ..Programs::standard(env!("CARGO_BIN_EXE_confine-worker-for-tests").into())
    };
    let reports = same(
        &|world| world.running(&["echo:*", "cat:*", "false", "sleep:*"], programs()),
        &["exec"],
        &[
            ("exec", json!({ "program": "echo", "arguments": ["hello"] })),
            ("exec", json!({ "program": "cat", "arguments": ["file"] })),
            ("exec", json!({ "program": "cat", "arguments": ["../outside/secret.txt"] })),
            ("exec", json!({ "program": "false" })),
            ("exec", json!({ "program": "id" })),
            ("exec", json!({ "program": "cat", "directory": "nowhere" })),
        ],
    );
    assert!(reports[0].outcome.as_ref().is_ok_and(|text| text.contains("hello")), "{:?}", reports[0].outcome);
    assert_eq!(reports[4].denials.len(), 1);
}

struct One;

impl Vault for One {
    fn binding(&self, name: &str) -> Option<Binding> {
        (name == "KEY").then(|| Binding { host: HOST.parse().unwrap(), header: "authorization".to_owned() })
    }

    fn value(&self, _: &str) -> Result<SecretString, String> {
        Ok(SecretString::from("sk-secret-4711"))
    }
}

#[test]
fn requests_are_made_by_the_host() {
    let requests = |requests: Value| ("fetch", json!({ "requests": requests }));
    let web = Web::new();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    web.serve(AT, Certificate::Right, move |asked, out| {
        seen.lock().unwrap().push(asked.head.clone());
        match asked.path() {
            "/away" => redirect(out, "https://evil.test/"),
            "/echo" => plain(out, asked.header("authorization").unwrap_or("nothing")),
            "/large" => {
                write!(out, "HTTP/1.1 200 OK\r\n\r\n")?;
                (0..64).try_for_each(|_| out.write_all(&[b'x'; 10_000]))
            }
            "/cut" => write!(out, "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort"),
            // It does not read what it is sent, so it must not close before its answer was read.
            "/p" => {
                plain(out, "hello")?;
                out.flush()?;
                thread::sleep(Duration::from_millis(500));
                Ok(())
            }
            "/noise" => write!(out, "noise\r\n\r\n"),
            _ => plain(out, "hello"),
        }
    });
    web.name("private.test", &[&["10.0.0.1"]]);
    let hosts = ["GET,POST api.example.test", "private.test"];
    let network = || web.network().with_vault(Arc::new(One));
    let made = |world: World| world.reaching(network(), &hosts, &["KEY"]).limits(|limits| limits.requests = 20);
    let get = |path: &str| json!({ "url": format!("https://{HOST}{path}") });
    let key = |path: &str| json!({ "url": format!("https://{HOST}{path}"), "headers": [["authorization", "Bearer {{secret:KEY}}"]] });
    let reports = same(
        &made,
        &["fetch"],
        &[
            requests(json!([get("/"), get("/large"), get("/cut"), get("/noise"), get("/away")])),
            requests(json!([{ "method": "POST", "authority": HOST, "path": "/p", "send": 100_000 }])),
            requests(
                json!([{ "method": "PUT", "authority": HOST, "path": "/p" }, { "url": "https://evil.test/" }, { "url": "https://private.test/" }]),
            ),
            requests(
                json!([key("/echo"), { "url": "https://private.test/", "headers": [["authorization", "{{secret:KEY}}"]] }]),
            ),
            requests(json!(vec![get("/"); 30])),
            ("fetch", json!({ "requests": vec![get("/"); 10], "at_once": true })),
        ],
    );
    assert!(reports[0].outcome.as_ref().unwrap().contains("hello"));
    assert!(reports[3].outcome.as_ref().unwrap().contains("Bearer [secret]"), "{:?}", reports[3].outcome);
    let heads = heads.lock().unwrap();
    assert!(heads.iter().any(|head| head.contains("Bearer sk-secret-4711")));
    // What went over the connection was the same, too.
    let (here, apart) = heads.split_at(heads.len() / 2);
    let sorted = |heads: &[String]| {
        let mut heads = heads.to_vec();
        heads.sort();
        heads
    };
    assert_eq!(sorted(here), sorted(apart));
}

#[test]
fn who_watches_is_told_how_far_it_is() {
    let both = [World::new, World::apart].map(|world| {
        let world = world();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&heard);
        let call = Call::new().watched_by(Arc::new(move |message: &str| hears.lock().unwrap().push(message.len())));
        let report = world.scope(&["flood"]).call_here("flood", r#"{"way":"argument","bytes":100000}"#, &call);
        (told(&report), heard.lock().unwrap().clone())
    });
    assert_eq!(both[0], both[1]);
    assert!(!both[0].1.is_empty());
}

/// Also the one that waits in the host for a program.
#[test]
fn a_call_is_cancelled_wherever_it_is() {
    let programs = Programs::standard(env!("CARGO_BIN_EXE_confine-worker-for-tests").into());
    let world = World::apart().running(&["sleep:*"], programs);
    let scope = world.scope(&["wait", "spin", "exec"]);
    for (tool, input) in [
        ("wait", json!({ "way": "block" })),
        ("spin", json!({ "way": "count" })),
        ("exec", json!({ "program": "sleep", "arguments": ["60"] })),
    ] {
        let call = Call::new();
        let ended = thread::scope(|threads| {
            let work = threads.spawn(|| scope.call_here(tool, &input.to_string(), &call));
            thread::sleep(Duration::from_millis(300));
            call.cancel();
            work.join().unwrap()
        });
        assert_eq!(ended.outcome, Err(Failure::Cancelled), "{tool}");
        assert!(ended.cost.duration < Duration::from_secs(5));
    }
    world.works_afterwards();
}

#[test]
fn a_call_whose_future_is_dropped_is_cancelled() {
    let world = World::apart();
    let scope = world.scope(&["wait"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let call = scope.call("wait", r#"{"way":"block"}"#.to_owned(), Call::new());
        assert!(tokio::time::timeout(Duration::from_millis(300), call).await.is_err());
    });
    let end = std::time::Instant::now() + Duration::from_secs(5);
    while world.engine().alive() > 0 {
        assert!(std::time::Instant::now() < end, "the guest still runs");
        thread::sleep(Duration::from_millis(5));
    }
}
