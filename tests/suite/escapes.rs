//! Leaving the workspace by name: `..`, absolute paths, siblings, odd spellings.

use std::fs;

use palisade_grants::Access;
use palisade_tests::world::{Came, World};
use serde_json::{Value, json};

/// Everything that can be tried on one path, reading and changing.
const TRIES: [&str; 15] = [
    "read",
    "write",
    "overwrite",
    "create",
    "truncate",
    "append",
    "set-size",
    "set-times",
    "stat",
    "hash",
    "mkdir",
    "rmdir",
    "unlink",
    "list",
    "readlink",
];
/// The host's own interface.
const HOST_TRIES: [&str; 3] = ["host-read", "host-list", "host-stat"];

fn all_tries(path: &str) -> Vec<Value> {
    let step = |op: &&str| json!({ "op": op, "path": path, "follow": true, "text": "guest" });
    let mut steps: Vec<Value> = TRIES.iter().chain(&HOST_TRIES).map(step).collect();
    steps.push(json!({ "op": "rename", "path": "file", "to": path }));
    steps.push(json!({ "op": "rename", "path": path, "to": "taken" }));
    steps.push(json!({ "op": "link", "path": "file", "to": path }));
    steps.push(json!({ "op": "link", "path": path, "to": "taken" }));
    steps.push(json!({ "op": "symlink", "path": path, "text": "file" }));
    steps
}

fn refused(came: &[Came]) -> bool {
    let codes = ["not-permitted", "access", "denied", "invalid"];
    came.iter().all(|came| came.as_ref().is_err_and(|code| codes.contains(&code.as_str())))
}

/// FS-01
#[test]
fn a_path_that_goes_up_is_not_permitted() {
    let world = World::new();
    for path in [
        "..",
        "../",
        "../outside",
        "../outside/secret.txt",
        "folder/../../outside/secret.txt",
        "./.././outside/secret.txt",
        "folder/../../workspace/../outside/secret.txt",
        "folder/./../.././outside/secret.txt",
        "../../../../../../../../etc/passwd",
        "..//outside//secret.txt",
        "folder//..//../outside/secret.txt",
    ] {
        let came = world.reach(&all_tries(path));
        assert!(refused(&came), "{path}: {came:?}");
    }
    world.works_afterwards();
}

/// FS-01, the same with handles opened one after the other.
#[test]
fn a_handle_further_down_does_not_lead_up() {
    let world = World::new();
    let came = world.reach(&[
        json!({ "op": "open", "path": "folder", "flags": ["directory"], "keep": "down" }),
        json!({ "op": "read", "at": "down", "path": "../../outside/secret.txt" }),
        json!({ "op": "read", "at": "down", "path": "../file" }),
        json!({ "op": "open", "at": "down", "path": "..", "flags": ["directory"], "keep": "up" }),
        json!({ "op": "open", "at": ".", "path": "..", "flags": ["directory"], "keep": "up" }),
        json!({ "op": "open", "at": ".", "path": "folder/..", "flags": ["directory"], "keep": "same" }),
        json!({ "op": "open", "at": "same", "path": "..", "flags": ["directory"], "keep": "up" }),
    ]);
    assert_eq!(came[0], Ok("opened".to_owned()));
    for (number, came) in came.iter().enumerate().filter(|(number, _)| ![0, 5].contains(number)) {
        assert_eq!(*came, Err("not-permitted".to_owned()), "step {number}");
    }
}

/// FS-02
#[test]
fn an_absolute_path_is_not_permitted() {
    let world = World::new();
    let secret = world.outside("secret.txt");
    let own = world.inside("file");
    let own_folder = world.workspace();
    for path in ["/", "//", "/etc/passwd", "//etc/passwd", "/proc/self/environ", "/proc/self/root", "/dev/null"]
        .into_iter()
        .chain([&secret, &own, &own_folder].map(|path| path.to_str().unwrap()))
    {
        let came = world.reach(&all_tries(path));
        assert!(refused(&came), "{path}: {came:?}");
    }
    assert_eq!(world.contents("file"), "mine");
}

/// FS-05, a regression test for GHSA-vqjp-4c8c-hfgg.
#[test]
fn no_spelling_of_a_path_or_link_target_leads_out() {
    let world = World::new();
    let outside = world.outside("folder");
    for target in ["../outside/folder", outside.to_str().unwrap()] {
        for target_ending in ["", "/", "//", "/."] {
            for ending in ["", "/", "//", "/.", "/inner.txt", "/./inner.txt", "/new"] {
                for step in all_tries(&format!("link{ending}")) {
                    world.link("link", format!("{target}{target_ending}"));
                    let came = &world.reach(std::slice::from_ref(&step))[0];
                    // These mean the link itself, not where it leads.
                    let means_the_link =
                        ["unlink", "rename", "link", "symlink", "readlink", "host-stat", "mkdir", "rmdir"];
                    let op = step["op"].as_str().unwrap();
                    let by_name = ["", "/", "//"].contains(&ending) && means_the_link.contains(&op)
                        || ending == "/." && op == "host-stat";
                    assert!(came.is_err() || by_name, "link to {target}{target_ending}: {step}: {came:?}");
                    for made in ["link", "taken"] {
                        fs::remove_file(world.inside(made)).ok();
                    }
                    world.put("file", "mine");
                }
            }
        }
    }
    world.works_afterwards();
}

/// FS-05, on the guest's own last link.
#[test]
fn a_link_itself_can_be_seen_and_removed_without_touching_what_it_means() {
    let world = World::new();
    world.link("away", world.outside("folder"));
    let came = world.reach(&[
        json!({ "op": "stat", "path": "away" }),
        json!({ "op": "rename", "path": "away", "to": "other" }),
        json!({ "op": "unlink", "path": "other" }),
    ]);
    assert!(came[0].as_ref().unwrap().contains("SymbolicLink"), "{came:?}");
    assert!(came[2].is_ok() || came[1].is_err(), "{came:?}");
}

/// FS-06
#[test]
fn a_sibling_with_the_same_beginning_is_out_of_reach() {
    let world = World::new().granting(&[("proj", Access::ReadWrite)]);
    world.put("proj/own.txt", "own");
    for sibling in ["proj-secret/s.txt", "proj.bak/s.txt", "projx/s.txt"] {
        world.put(sibling, world.canary());
    }
    world.put("secret.txt", world.canary());
    let before = world.tree();
    for path in ["proj-secret/s.txt", "proj.bak/s.txt", "projx/s.txt", "secret.txt", "proj/../secret.txt", "."] {
        let steps: Vec<Value> = HOST_TRIES.iter().map(|op| json!({ "op": op, "path": path })).collect();
        assert!(refused(&world.reach(&steps)), "{path}");
    }
    for path in ["../proj-secret/s.txt", "../proj.bak/s.txt", "../secret.txt", "..", "../proj-secret"] {
        let steps: Vec<Value> =
            TRIES.iter().map(|op| json!({ "op": op, "at": "proj", "path": path, "text": "guest" })).collect();
        assert!(refused(&world.reach(&steps)), "{path}");
    }
    assert_eq!(world.tree(), before);
    let came = world.reach(&[
        json!({ "op": "read", "at": "proj", "path": "own.txt" }),
        json!({ "op": "host-read", "path": "proj/own.txt" }),
    ]);
    assert_eq!(came, [Ok("own".to_owned()), Ok("own".to_owned())]);
}

/// FS-01…07, the control: what is granted works.
#[test]
fn what_is_granted_works() {
    let world = World::new();
    let came = world.reach(&[
        json!({ "op": "read", "path": "file" }),
        json!({ "op": "read", "path": "./folder/../file" }),
        json!({ "op": "host-read", "path": "folder/file" }),
        json!({ "op": "write", "path": "new", "text": "hello" }),
        json!({ "op": "append", "path": "new", "text": " world" }),
        json!({ "op": "read", "path": "new" }),
        json!({ "op": "mkdir", "path": "made" }),
        json!({ "op": "rename", "path": "new", "to": "made/moved" }),
        json!({ "op": "symlink", "path": "made/link", "text": "moved" }),
        json!({ "op": "read", "path": "made/link", "follow": true }),
        json!({ "op": "link", "path": "file", "to": "hard" }),
        json!({ "op": "set-size", "path": "hard" }),
        json!({ "op": "list", "path": "made" }),
        json!({ "op": "unlink", "path": "made/link" }),
    ]);
    let words: Vec<&str> = came.iter().map(|came| came.as_deref().unwrap()).collect();
    assert_eq!(
        words,
        [
            "mine",
            "mine",
            "mine",
            "done",
            "done",
            "hello world",
            "done",
            "done",
            "done",
            "hello world",
            "done",
            "done",
            "link,moved",
            "done"
        ]
    );
    assert_eq!(world.contents("made/moved"), "hello world");
    assert_eq!(world.contents("file"), "m");
}
