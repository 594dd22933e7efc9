//! Leaving the workspace through links: made by the guest, planted before, or swapped meanwhile.

use std::{
    fs,
    os::unix::fs::symlink,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use palisade_grants::Access;
use palisade_sandbox::Call;
use palisade_tests::world::World;
use serde_json::{Value, json};

fn through(path: &str) -> Vec<Value> {
    let inner = |name: &str| format!("{path}/{name}");
    vec![
        json!({ "op": "read", "path": path, "follow": true }),
        json!({ "op": "read", "path": inner("inner.txt") }),
        json!({ "op": "write", "path": path, "follow": true, "text": "guest" }),
        json!({ "op": "write", "path": inner("new.txt"), "text": "guest" }),
        json!({ "op": "truncate", "path": inner("inner.txt") }),
        json!({ "op": "stat", "path": path, "follow": true }),
        json!({ "op": "stat", "path": inner("inner.txt") }),
        json!({ "op": "list", "path": path, "follow": true }),
        json!({ "op": "set-times", "path": path, "follow": true }),
        json!({ "op": "rename", "path": inner("inner.txt"), "to": "stolen" }),
        json!({ "op": "rename", "path": "file", "to": inner("new.txt") }),
        json!({ "op": "link", "path": inner("inner.txt"), "to": "stolen" }),
        json!({ "op": "mkdir", "path": inner("new") }),
        json!({ "op": "unlink", "path": inner("inner.txt") }),
        json!({ "op": "open", "path": path, "follow": true, "flags": ["directory"], "keep": "out" }),
        json!({ "op": "list-handle", "at": "out" }),
        json!({ "op": "host-read", "path": path }),
        json!({ "op": "host-read", "path": inner("inner.txt") }),
        json!({ "op": "host-list", "path": path }),
        json!({ "op": "host-stat", "path": inner("inner.txt") }),
    ]
}

/// FS-03
#[test]
fn a_link_that_a_guest_makes_does_not_lead_out() {
    let world = World::new();
    let outside = world.outside("");
    let absolute = outside.to_str().unwrap();
    for target in ["../outside", "../outside/secret.txt", "folder/../../outside", "..", "/", "/etc", absolute] {
        let mut steps = vec![json!({ "op": "symlink", "path": "made", "text": target })];
        steps.extend(through("made"));
        let came = world.reach(&steps);
        assert!(came[0].is_err(), "a link to {target} was made");
        fs::remove_file(world.inside("made")).ok();
    }
    world.works_afterwards();
}

/// FS-03, a chain of three and links through folders.
#[test]
fn a_chain_of_links_does_not_lead_out() {
    let world = World::new();
    let came = world.reach(&[
        json!({ "op": "mkdir", "path": "a" }),
        json!({ "op": "mkdir", "path": "a/b" }),
        json!({ "op": "symlink", "path": "a/b/one", "text": "../.." }),
        json!({ "op": "symlink", "path": "a/b/two", "text": "one/.." }),
        json!({ "op": "symlink", "path": "a/b/three", "text": "../../.." }),
        json!({ "op": "read", "path": "a/b/one/../outside/secret.txt" }),
        json!({ "op": "read", "path": "a/b/one/file" }),
    ]);
    assert_eq!(came[2], Ok("done".to_owned()));
    assert!(came[3].is_err() && came[4].is_err() && came[5].is_err(), "{came:?}");
    assert_eq!(came[6], Ok("mine".to_owned()));
    world.link("planted1", "planted2");
    world.link("planted2", "folder/planted3");
    world.link("folder/planted3", "../../outside/folder");
    let came = world.reach(&through("planted1"));
    assert_eq!(came.iter().filter(|came| came.is_ok()).count(), 0, "{came:?}");
}

/// FS-03: what keeps an unconfined program inside must survive a move of the link.
#[test]
fn a_link_moved_nearer_to_the_root_does_not_lead_out() {
    let world = World::new();
    world.reach(&[
        json!({ "op": "mkdir", "path": "a" }),
        json!({ "op": "mkdir", "path": "a/b" }),
        json!({ "op": "symlink", "path": "a/up", "text": "../outside" }),
        json!({ "op": "link", "path": "a/up", "to": "linked" }),
        json!({ "op": "rename", "path": "a/up", "to": "renamed" }),
        json!({ "op": "symlink", "path": "a/b/up", "text": "../../outside" }),
        json!({ "op": "rename", "path": "a/b/up", "to": "a/lifted" }),
    ]);
    assert_eq!(fs::read_link(world.inside("a/up")).unwrap().to_str(), Some("../outside"));
    for moved in ["linked", "renamed", "a/lifted"] {
        let seen = fs::read_to_string(world.inside(moved).join("secret.txt"));
        assert!(seen.is_err(), "{moved} leads an unconfined program out");
    }
}

/// FS-03, the same with the folder that holds the link.
#[test]
fn a_folder_with_links_moved_nearer_to_the_root_does_not_lead_out() {
    let world = World::new();
    world.reach(&[
        json!({ "op": "mkdir", "path": "a" }),
        json!({ "op": "mkdir", "path": "a/b" }),
        json!({ "op": "symlink", "path": "a/b/up", "text": "../../outside" }),
        json!({ "op": "rename", "path": "a/b", "to": "b" }),
    ]);
    assert!(
        fs::read_to_string(world.inside("b/up/secret.txt")).is_err(),
        "the moved folder leads an unconfined program out"
    );
}

/// FS-04, through raw WASI and the host's own interface.
#[test]
fn a_planted_link_does_not_lead_a_guest_out() {
    for world in [World::new as fn() -> World, || World::new().reading()] {
        let world = world();
        world.link("relative", "../outside/folder");
        world.link("absolute", world.outside("folder"));
        world.link("file-link", world.outside("secret.txt"));
        world.link("dangling", world.outside("not-there"));
        world.link("proc", "/proc/self/root");
        world.link("folder/up", "../..");
        for path in ["relative", "absolute", "file-link", "dangling", "proc", "folder/up", "folder/up/outside/folder"] {
            let came = world.reach(&through(path));
            assert_eq!(came.iter().filter(|came| came.is_ok()).count(), 0, "{path}: {came:?}");
        }
        assert!(!world.outside("not-there").exists());
    }
}

/// FS-04, through the core tools.
#[test]
fn a_planted_link_does_not_lead_a_core_tool_out() {
    for world in [World::new as fn() -> World, || World::new().reading()] {
        let world = world();
        world.link("relative", "../outside/folder");
        world.link("absolute", world.outside("folder"));
        world.link("secret", world.outside("secret.txt"));
        for (tool, input) in [
            ("read", json!({ "path": "secret" })),
            ("read", json!({ "path": "relative/inner.txt" })),
            ("ls", json!({ "path": "absolute" })),
            ("tree", json!({ "path": "relative" })),
            ("glob", json!({ "pattern": "**/*.txt" })),
            ("glob", json!({ "pattern": "relative/*" })),
            ("glob", json!({ "pattern": "*", "path": "absolute" })),
            ("grep", json!({ "pattern": "canary" })),
            ("grep", json!({ "pattern": "canary", "path": "absolute" })),
            ("grep", json!({ "pattern": "canary", "path": "secret" })),
        ] {
            let report = world.call(tool, input.clone());
            world.no_canary(&report);
            let text = format!("{:?}", report.outcome);
            assert!(!text.contains("inner.txt") || input["path"] == "relative/inner.txt", "{tool} {input}: {text}");
        }
        world.outside_unchanged();
    }
    let world = World::new();
    world.link("relative", "../outside/folder");
    world.link("secret", world.outside("secret.txt"));
    world.link("dangling", world.outside("not-there"));
    for (tool, input) in [
        ("write", json!({ "path": "secret", "content": "guest" })),
        ("write", json!({ "path": "relative/new.txt", "content": "guest" })),
        ("write", json!({ "path": "relative/inner.txt", "content": "guest" })),
        ("write", json!({ "path": "dangling", "content": "guest" })),
        ("edit", json!({ "path": "secret", "edits": [{ "old": "canary", "new": "guest" }] })),
        ("edit", json!({ "path": "secret", "old": "canary", "new": "guest" })),
    ] {
        let report = world.call(tool, input);
        world.no_canary(&report);
        world.outside_unchanged();
    }
    assert!(!world.outside("not-there").exists());
}

/// FS-04, the control: links that stay inside are followed.
#[test]
fn a_link_that_stays_inside_works() {
    let world = World::new();
    world.link("here", "folder");
    world.link("folder/there", "../file");
    let came = world.reach(&[
        json!({ "op": "read", "path": "here/file" }),
        json!({ "op": "read", "path": "folder/there", "follow": true }),
        json!({ "op": "host-read", "path": "here/there" }),
        json!({ "op": "write", "path": "here/there", "follow": true, "text": "yours" }),
    ]);
    assert_eq!(came.iter().filter(|came| came.is_err()).count(), 0, "{came:?}");
    assert_eq!(world.contents("file"), "yours");
    assert!(world.call("read", json!({ "path": "folder/there" })).outcome.unwrap().contains("yours"));
}

/// FS-04, the control: listing a folder first changes nothing about what its links mean.
#[test]
fn a_link_that_stays_inside_works_after_its_folder_was_listed() {
    let world = World::new();
    world.link("folder/there", "../file");
    world.link("folder/out", "../../outside/secret.txt");
    world.link("folder/up", "..");
    let came = world.reach(&[
        json!({ "op": "host-list", "path": "." }),
        json!({ "op": "host-list", "path": "folder" }),
        json!({ "op": "host-read", "path": "folder/there" }),
        json!({ "op": "host-read", "path": "folder/up/file" }),
        json!({ "op": "host-stat", "path": "folder/there" }),
        json!({ "op": "host-read", "path": "folder/file" }),
        json!({ "op": "host-read", "path": "folder/out" }),
    ]);
    let text = |text: &str| Ok(text.to_owned());
    assert_eq!(came[2..6], [text("mine"), text("mine"), text("Symlink 7"), text("mine")]);
    assert_eq!(came[6], Err("denied".to_owned()));
}

/// FS-09: the host's own interface remembers folders; what it remembers must not outlive a rename.
#[test]
fn a_folder_replaced_after_it_was_listed_is_seen_anew() {
    let world = World::new();
    world.put("other/file", "other");
    let came = world.reach(&[
        json!({ "op": "host-list", "path": "folder" }),
        json!({ "op": "host-read", "path": "folder/file" }),
        json!({ "op": "rename", "path": "folder", "to": "gone" }),
        json!({ "op": "host-read", "path": "folder/file" }),
        json!({ "op": "rename", "path": "other", "to": "folder" }),
        json!({ "op": "host-read", "path": "folder/file" }),
    ]);
    assert_eq!(came[3], Err("NotFound".to_owned()));
    assert_eq!(came[5], Ok("other".to_owned()));
}

/// FS-09
#[test]
fn a_folder_swapped_for_a_link_meanwhile_does_not_lead_out() {
    const SWAPS: usize = 10_000;
    const ROUNDS: usize = 60;
    let world = World::new().limits(|limits| (limits.written, limits.created) = (u64::MAX, u64::MAX));
    let steps: Vec<Value> = (0..10).flat_map(|_| through("swapped")).collect();
    world.put("swapped/inner.txt", "mine");
    let scope = world.scope(&["reach", "read", "write"]);
    let over = Arc::new(AtomicBool::new(false));
    let swapper = {
        let (inside, outside, over) = (world.workspace(), world.outside("folder"), Arc::clone(&over));
        thread::spawn(move || {
            let (swapped, aside) = (inside.join("swapped"), inside.join("aside"));
            let mut swaps = 0;
            while swaps < SWAPS || !over.load(Ordering::Acquire) {
                fs::rename(&swapped, &aside).ok();
                symlink(&outside, &swapped).ok();
                fs::remove_file(&swapped).ok();
                fs::rename(&aside, &swapped).ok();
                thread::yield_now();
                swaps += 2;
            }
        })
    };
    let (mut inside, mut rounds, started) = (0, 0, Instant::now());
    while rounds < ROUNDS || (inside == 0 && started.elapsed() < Duration::from_secs(30)) {
        rounds += 1;
        for (tool, input) in [
            ("reach", json!({ "steps": steps })),
            ("read", json!({ "path": "swapped/inner.txt" })),
            ("write", json!({ "path": "swapped/inner.txt", "content": "mine" })),
        ] {
            let report = scope.call_here(tool, &input.to_string(), &Call::new());
            world.no_canary(&report);
            inside += usize::from(report.outcome.is_ok_and(|text| text.contains("mine")));
        }
    }
    over.store(true, Ordering::Release);
    swapper.join().unwrap();
    assert!(inside > 0, "the guests never met the folder itself");
    world.outside_unchanged();
    world.works_afterwards();
}

/// FS-08
#[test]
fn the_narrower_of_two_overlapping_grants_holds_through_every_handle() {
    let world =
        World::new().granting(&[(".", Access::ReadWrite), ("vendor", Access::Read), ("vendor/out", Access::ReadWrite)]);
    world.put("vendor/lib.rs", "lib");
    world.put("vendor/out/log", "log");
    world.link("shortcut", "vendor");
    let vendor = fs::read_to_string(world.inside("vendor/lib.rs")).unwrap();
    let came = world.reach(&[
        json!({ "op": "write", "path": "vendor/lib.rs", "text": "x" }),
        json!({ "op": "write", "path": "vendor/new", "text": "x" }),
        json!({ "op": "write", "path": "shortcut/lib.rs", "text": "x" }),
        json!({ "op": "unlink", "path": "vendor/lib.rs" }),
        json!({ "op": "open", "path": "vendor", "flags": ["directory"], "keep": "v" }),
        json!({ "op": "write", "at": "v", "path": "lib.rs", "text": "x" }),
        json!({ "op": "open", "at": "v", "path": "out", "flags": ["directory"], "keep": "o" }),
        json!({ "op": "rename", "path": "vendor", "to": "mine" }),
        json!({ "op": "rename", "path": "vendor/lib.rs", "to": "lib.rs" }),
        json!({ "op": "rename", "path": "file", "to": "vendor/lib.rs" }),
        json!({ "op": "link", "path": "vendor/lib.rs", "to": "lib.rs" }),
        json!({ "op": "set-times", "path": "vendor/lib.rs" }),
        json!({ "op": "set-times-of-read", "path": "vendor/lib.rs" }),
        json!({ "op": "write", "path": "vendor/out/log", "text": "written" }),
        json!({ "op": "write", "at": "o", "path": "log2", "text": "written" }),
        json!({ "op": "read", "path": "vendor/lib.rs" }),
        json!({ "op": "write", "path": "elsewhere", "text": "written" }),
    ]);
    for number in [0, 1, 2, 3, 5, 7, 8, 9, 10, 11, 12] {
        assert_eq!(came[number], Err("not-permitted".to_owned()), "step {number}");
    }
    for number in [13, 14, 15, 16] {
        assert!(came[number].is_ok(), "step {number}: {:?}", came[number]);
    }
    assert_eq!(world.contents("vendor/lib.rs"), vendor);
    assert_eq!(world.contents("vendor/out/log"), "written");
}
