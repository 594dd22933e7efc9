//! What is hidden is not there, and what is frozen stays as it is.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use palisade_sandbox::{Call, Scope};
use palisade_tests::world::World;
use serde_json::{Value, json};

const HIDDEN: [&str; 4] = ["secrets/**", ".env", "*.key", "deep/a/private"];

/// Hidden paths, and visible ones that lead to them or through them.
const PATHS: [&str; 37] = [
    ".env",
    ".ENV",
    "./.env",
    "folder/../.env",
    ".env/",
    ".env/x",
    ".env/../file",
    "secrets",
    "secrets/",
    "secrets/new",
    "secrets/token",
    "secrets/token/x",
    "secrets/inner",
    "secrets/inner/token",
    "secrets/../file",
    "secrets/inner/../../file",
    "secrets/back",
    "secrets/out",
    "secrets/loop",
    "SECRETS/token",
    "folder/a.key",
    "folder/A.Key",
    "pipe.key",
    "unreadable.key",
    "link.key",
    "deep/a/private/x",
    "deep/a/./private//x",
    "to-env",
    "to-folder",
    "to-folder/token",
    "to-folder/../file",
    "chain",
    "folder/up",
    "below-env",
    "to-back",
    "to-out",
    "to-dots",
];

/// What is the same in both worlds: the links.
fn prepare(world: World) -> World {
    let world = world.hiding(&HIDDEN);
    world.put("deep/a/keep", "mine");
    for (link, target) in [
        ("to-env", ".env"),
        ("to-folder", "secrets"),
        ("chain", "folder/chain"),
        ("folder/chain", "../to-folder"),
        ("folder/up", "../secrets/token"),
        ("below-env", ".env/x"),
        ("to-back", "secrets/back"),
        ("to-out", "secrets/out"),
        ("to-dots", "secrets/../file"),
    ] {
        world.link(link, target);
    }
    world
}

/// Puts something of every kind where it is hidden.
fn fill(world: &World) {
    for path in [".env", "secrets/token", "secrets/inner/token", "folder/a.key", "unreadable.key", "deep/a/private/x"] {
        world.put(path, world.canary());
    }
    fs::set_permissions(world.inside("unreadable.key"), fs::Permissions::from_mode(0o000)).unwrap();
    world.link("secrets/back", "../file");
    world.link("secrets/out", "/etc");
    world.link("secrets/loop", "loop");
    world.link("link.key", "file");
    let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
    rustix::fs::mknodat(rustix::fs::CWD, world.inside("pipe.key"), fifo, mode, 0).unwrap();
}

fn looks(path: &str) -> Vec<Value> {
    let both = |op: &str| [false, true].map(|follow| json!({ "op": op, "path": path, "follow": follow }));
    let mut steps: Vec<Value> =
        ["read", "stat", "hash", "list", "set-times-of-read"].into_iter().flat_map(both).collect();
    steps.extend(["readlink", "host-read", "host-list", "host-stat"].map(|op| json!({ "op": op, "path": path })));
    steps.extend([
        json!({ "op": "open", "path": path, "follow": true, "flags": ["directory"], "keep": "in" }),
        json!({ "op": "list-handle", "at": "in" }),
        json!({ "op": "read", "at": "in", "path": "token" }),
    ]);
    steps
}

fn changes(path: &str) -> Vec<Value> {
    let both =
        |op: &str| [true, false].map(|follow| json!({ "op": op, "path": path, "follow": follow, "text": "guest" }));
    let ops = ["write", "overwrite", "create", "truncate", "append", "set-size", "set-times"];
    let mut steps: Vec<Value> = ops.into_iter().flat_map(both).collect();
    steps.extend([
        json!({ "op": "link", "path": path, "to": "linked" }),
        json!({ "op": "link", "path": path, "to": "linked", "follow": true }),
        json!({ "op": "link", "path": "file", "to": path }),
        json!({ "op": "mkdir", "path": path }),
        json!({ "op": "symlink", "path": path, "text": "file" }),
        json!({ "op": "rename", "path": "folder/file", "to": path }),
        json!({ "op": "rename", "path": "folder", "to": path }),
        json!({ "op": "rmdir", "path": path }),
        json!({ "op": "rename", "path": path, "to": "taken" }),
        json!({ "op": "unlink", "path": path }),
        json!({ "op": "read", "path": "taken" }),
        json!({ "op": "read", "path": "linked" }),
        json!({ "op": "list", "path": "taken" }),
    ]);
    steps
}

fn hidden_contents(world: &World) -> Vec<String> {
    [".env", "secrets/token", "secrets/inner/token", "folder/a.key", "deep/a/private/x"]
        .map(|path| world.contents(path))
        .into()
}

#[test]
fn what_is_hidden_looks_as_if_it_were_not_there() {
    let without = prepare(World::new());
    let with = prepare(without.neighbour());
    fill(&with);
    let mut steps: Vec<Value> = PATHS.iter().flat_map(|path| looks(path)).collect();
    steps.extend(looks(".").into_iter().filter(|step| step["op"] == "list" || step["op"] == "host-list"));
    steps.extend(looks("folder").into_iter().filter(|step| step["op"] == "list" || step["op"] == "host-list"));
    let (seen, expected) = (with.reach(&steps), without.reach(&steps));
    for ((step, seen), expected) in steps.iter().zip(&seen).zip(&expected) {
        assert_eq!(seen, expected, "{step}");
    }
    // The control: what is not hidden is there.
    let control = [json!({ "op": "read", "path": "file" }), json!({ "op": "host-read", "path": "deep/a/keep" })];
    assert_eq!(with.reach(&control), [Ok("mine".to_owned()), Ok("mine".to_owned())]);
    assert!(seen.iter().flatten().any(|text| text.contains("to-env")), "the folder was listed");
}

#[test]
fn changing_what_is_hidden_fails_as_if_it_were_not_there() {
    let first = World::new();
    for path in PATHS {
        let without = prepare(first.neighbour());
        let with = prepare(first.neighbour());
        fill(&with);
        let before = hidden_contents(&with);
        let steps = changes(path);
        let (seen, expected) = (with.reach(&steps), without.reach(&steps));
        for ((step, seen), expected) in steps.iter().zip(&seen).zip(&expected) {
            assert_eq!(seen, expected, "{step}");
        }
        assert_eq!(hidden_contents(&with), before, "{path}");
    }
}

#[test]
fn what_is_hidden_is_not_laid_bare_by_moving_what_it_lies_in() {
    let world = prepare(World::new());
    fill(&world);
    let came = world.reach(&[
        json!({ "op": "rename", "path": "deep", "to": "shallow" }),
        json!({ "op": "rename", "path": "deep/a", "to": "b" }),
        json!({ "op": "rename", "path": "secrets", "to": "open" }),
        json!({ "op": "rename", "path": "secrets/inner", "to": "open" }),
        json!({ "op": "rename", "path": "to-folder", "to": "moved-link" }),
        json!({ "op": "read", "path": "moved-link/token" }),
        json!({ "op": "rename", "path": "folder", "to": "moved" }),
        json!({ "op": "read", "path": "moved/a.key" }),
        json!({ "op": "host-read", "path": "moved/a.key" }),
        json!({ "op": "read", "path": "moved/file" }),
    ]);
    assert!(came[..4].iter().all(Result::is_err), "{came:?}");
    assert_eq!(
        (&came[4], &came[6], &came[9]),
        (&Ok("done".into()), &Ok("done".into()), &Ok("mine".into())),
        "{came:?}"
    );
    assert!(came[5].is_err() && came[7].is_err() && came[8].is_err(), "{came:?}");
    assert_eq!(world.contents("deep/a/private/x"), world.canary());
}

fn report(world: &World, scope: &Scope, steps: &[Value]) -> String {
    let report = scope.call_here("reach", &json!({ "steps": steps }).to_string(), &Call::new());
    world.no_canary(&report);
    report.outcome.unwrap()
}

/// Has one guest look while something else happens, until it has happened and both were seen.
fn meanwhile(world: &World, looks: &[Value], innocent: &str, happens: impl FnOnce() + Send) {
    let (scope, done) = (world.scope(&["reach"]), AtomicBool::new(false));
    let end = Instant::now() + Duration::from_secs(20);
    thread::scope(|threads| {
        threads.spawn(|| {
            happens();
            done.store(true, Ordering::Relaxed);
        });
        let (mut innocent_seen, mut nothing_seen) = (false, false);
        while !(done.load(Ordering::Relaxed) && innocent_seen && nothing_seen) {
            assert!(Instant::now() < end, "innocent: {innocent_seen}, nothing: {nothing_seen}");
            let text = report(world, &scope, looks);
            innocent_seen |= text.contains(innocent);
            nothing_seen |= text.contains("no-entry");
        }
    });
}

#[test]
fn a_link_swapped_while_it_is_followed_shows_nothing_hidden() {
    let world = prepare(World::new());
    fill(&world);
    world.put("innocent/token", "mine");
    world.link("swapped", "innocent");
    let mut looks: Vec<Value> = Vec::new();
    for _ in 0..30 {
        looks.push(json!({ "op": "read", "path": "swapped/token" }));
        looks.push(json!({ "op": "host-read", "path": "swapped/token" }));
        looks.push(json!({ "op": "list", "path": "swapped", "follow": true }));
        looks.push(json!({ "op": "host-list", "path": "swapped" }));
    }
    let swaps: Vec<Value> = (0..100)
        .flat_map(|_| {
            ["secrets", "innocent"].map(|target| {
                [
                    json!({ "op": "unlink", "path": "swapped" }),
                    json!({ "op": "symlink", "path": "swapped", "text": target }),
                ]
            })
        })
        .flatten()
        .collect();
    let swapper = world.scope(&["reach"]);
    let input = json!({ "steps": swaps }).to_string();
    meanwhile(&world, &looks, "mine", || {
        for _ in 0..4 {
            let report = swapper.call_here("reach", &input, &Call::new());
            assert!(!report.outcome.unwrap().contains("error"), "every swap is made");
        }
    });
}

#[test]
fn a_hidden_file_replaced_while_it_is_opened_is_not_shown() {
    let world = prepare(World::new());
    fill(&world);
    let (hidden, spare, canary) = (world.inside(".env"), world.outside("spare"), world.canary().to_owned());
    let looks: Vec<Value> = (0..60)
        .map(|round| json!({ "op": if round % 2 == 0 { "read" } else { "host-read" }, "path": ".env" }))
        .chain([json!({ "op": "read", "path": "file" })])
        .collect();
    meanwhile(&world, &looks, "mine", || {
        for _ in 0..3000 {
            fs::write(&spare, &canary).unwrap();
            fs::rename(&spare, &hidden).unwrap();
        }
    });
}

#[test]
fn a_scratch_folder_is_listed_before_a_guest_has_a_handle_on_it() {
    let world = World::new().hiding(&HIDDEN);
    let scope = world.scope(&["write", "ls", "read"]);
    let call = |tool: &str, input: Value| scope.call_here(tool, &input.to_string(), &Call::new()).outcome.unwrap();
    call("write", json!({ "path": "/tmp/note.txt", "content": "a note" }));
    assert!(call("ls", json!({ "path": "/tmp" })).contains("note.txt"));
    assert!(call("read", json!({ "path": "/tmp/note.txt" })).contains("a note"));
}

#[test]
fn what_is_frozen_is_read_and_does_not_change() {
    let world = World::new().freezing(&["*.lock", "deep/kept/**"]);
    for path in ["a.lock", "folder/b.LOCK", "deep/kept/x"] {
        world.put(path, "theirs");
    }
    world.link("to-lock", "a.lock");
    world.link("to-kept", "deep/kept");
    let before = world.tree();
    for path in ["a.lock", "folder/b.LOCK", "deep/kept/x", "to-lock", "to-kept/x", "./folder/../a.lock"] {
        let read = json!({ "op": "read", "path": path, "follow": true });
        assert_eq!(
            world.reach(&[read, json!({ "op": "host-read", "path": path })]),
            [Ok("theirs".to_owned()), Ok("theirs".to_owned())]
        );
        let steps: Vec<Value> = changes(path)
            .into_iter()
            .chain(
                ["set-times-of-read", "set-size-of-read", "write-to-read"]
                    .map(|op| json!({ "op": op, "path": path, "follow": true })),
            )
            // A link to a frozen file is not itself frozen.
            .filter(|step| !path.starts_with("to-lock") || step["follow"] == true)
            .collect();
        let came = world.reach(&steps);
        for (step, came) in steps.iter().zip(&came) {
            assert!(came.as_deref() != Ok("done"), "{step}");
        }
        assert_eq!(world.tree(), before, "{path}");
    }
    let came = world.reach(&[
        json!({ "op": "rename", "path": "deep", "to": "moved" }),
        json!({ "op": "rename", "path": "deep/kept", "to": "moved" }),
        json!({ "op": "write", "path": "deep/kept/new", "text": "guest" }),
        json!({ "op": "write", "path": "new.lock", "text": "guest" }),
        json!({ "op": "rename", "path": "file", "to": "a.lock" }),
        json!({ "op": "write", "path": "deep/free", "text": "guest" }),
    ]);
    assert!(came[..5].iter().all(Result::is_err), "{came:?}");
    assert_eq!((&came[5], world.contents("deep/free").as_str()), (&Ok("done".to_owned()), "guest"));
}
