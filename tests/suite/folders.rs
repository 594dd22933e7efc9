//! What lies in the granted folders: read-only trees, huge and deep trees, things that are no files,
//! and the granted folder itself.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    time::{Duration, Instant},
};

use palisade_grants::{Access, Capability, FilesGrant, Grants, WorkspacePath};
use palisade_sandbox::{Call, Failure, Limits, Scope, Workspace, WorkspaceError};
use palisade_tests::world::World;
use rustix::fs::{FileType, Mode, OFlags, mkdirat, mknodat, openat};
use serde_json::{Value, json};

fn changes(at: &str) -> Vec<Value> {
    let step = |op: &str| json!({ "op": op, "at": at, "path": "f", "follow": true, "text": "guest" });
    let mut steps: Vec<Value> = [
        "write",
        "overwrite",
        "truncate",
        "append",
        "set-size",
        "set-size-of-read",
        "set-times",
        "set-times-of-read",
        "write-to-read",
        "unlink",
    ]
    .into_iter()
    .map(step)
    .collect();
    steps.extend([
        json!({ "op": "create", "at": at, "path": "new" }),
        json!({ "op": "mkdir", "at": at, "path": "new" }),
        json!({ "op": "rmdir", "at": at, "path": "empty" }),
        json!({ "op": "symlink", "at": at, "path": "new", "text": "f" }),
        json!({ "op": "rename", "at": at, "path": "f", "to_at": at, "to": "g" }),
        json!({ "op": "link", "at": at, "path": "f", "to_at": at, "to": "g" }),
        json!({ "op": "open", "at": at, "path": ".", "flags": ["directory", "write"], "keep": "w" }),
        json!({ "op": "write", "at": "w", "path": "f", "text": "guest" }),
        json!({ "op": "open", "at": at, "path": "f", "flags": ["write"], "keep": "h" }),
        json!({ "op": "set-size-handle", "at": "h", "text": "0" }),
        json!({ "op": "write-handle", "at": "h", "text": "guest" }),
    ]);
    steps
}

/// FS-07, X4
#[test]
fn a_read_only_folder_does_not_change() {
    let world = World::new().reading();
    world.put("f", "text");
    fs::create_dir(world.inside("empty")).unwrap();
    let before = world.tree();
    let came = world.reach(&changes("."));
    assert_eq!(came.iter().filter(|came| came.as_deref() == Ok("done")).count(), 0, "{came:?}");
    assert_eq!(world.tree(), before);
    assert_eq!(world.reach(&[json!({ "op": "read", "path": "f" })]), [Ok("text".to_owned())]);
}

/// FS-07, with a second folder that may be written.
#[test]
fn a_read_only_folder_does_not_change_from_a_writable_one() {
    let world = World::new().granting(&[("ro", Access::Read), ("rw", Access::ReadWrite)]);
    world.put("ro/f", "text");
    fs::create_dir(world.inside("ro/empty")).unwrap();
    world.put("rw/mine", "text");
    world.link("rw/shortcut", "../ro");
    let before = world.tree();
    let mut steps = changes("ro");
    steps.extend([
        json!({ "op": "rename", "at": "ro", "path": "f", "to_at": "rw", "to": "f" }),
        json!({ "op": "rename", "at": "rw", "path": "mine", "to_at": "ro", "to": "mine" }),
        json!({ "op": "link", "at": "ro", "path": "f", "to_at": "rw", "to": "f" }),
        json!({ "op": "link", "at": "rw", "path": "mine", "to_at": "ro", "to": "mine" }),
        json!({ "op": "write", "at": "rw", "path": "shortcut/f", "text": "guest" }),
        json!({ "op": "write", "at": "rw", "path": "../ro/f", "text": "guest" }),
    ]);
    let came = world.reach(&steps);
    assert_eq!(came.iter().filter(|came| came.as_deref() == Ok("done")).count(), 0, "{came:?}");
    assert_eq!(world.tree(), before);
    assert_eq!(
        world.reach(&[json!({ "op": "write", "at": "rw", "path": "new", "text": "x" })]),
        [Ok("done".to_owned())]
    );
}

/// FS-07: a tool that declares only reading gets no more, whatever its agent may do.
#[test]
fn a_tool_that_declares_reading_cannot_write() {
    let world = World::new();
    let (compiled, mut description) = world.load("reach");
    description.capabilities = [Capability::FsRead].into();
    let scope = world.empty_scope();
    scope.add(&compiled, &description, "reach").unwrap();
    let before = world.tree();
    let input = json!({ "steps": changes(".") }).to_string();
    assert!(!scope.call_here("reach", &input, &Call::new()).outcome.unwrap().contains(r#""ok":"done""#));
    assert_eq!(world.tree(), before);
}

/// FS-10
#[test]
fn walkers_end_on_link_loops() {
    let world = World::new();
    world.link("loop", "loop");
    world.link("ping", "pong");
    world.link("pong", "ping");
    world.link("folder/back", "..");
    world.link("folder/self", ".");
    for (tool, input) in [
        ("grep", json!({ "pattern": "mine" })),
        ("glob", json!({ "pattern": "**/*" })),
        ("ls", json!({ "path": "." })),
        ("tree", json!({ "path": "." })),
    ] {
        let report = world.call(tool, input);
        assert!(report.outcome.is_ok(), "{tool}: {:?}", report.outcome);
        assert!(!report.outcome.unwrap().contains("back/folder"), "{tool} followed a loop");
    }
    for path in ["loop", "ping"] {
        assert!(world.call("read", json!({ "path": path })).outcome.is_err());
        let came = world.reach(&[
            json!({ "op": "read", "path": path, "follow": true }),
            json!({ "op": "write", "path": path, "follow": true, "text": "x" }),
            json!({ "op": "host-read", "path": path }),
        ]);
        assert_eq!(came.iter().filter(|came| came.is_ok()).count(), 0, "{came:?}");
    }
}

/// FS-10
#[test]
fn walkers_end_on_a_hundred_thousand_files() {
    let world = World::new().reading();
    for folder in 0..100 {
        let name = world.inside(&format!("d{folder}"));
        fs::create_dir(&name).unwrap();
        let dir = fs::File::open(&name).unwrap();
        for file in 0..1000 {
            openat(&dir, format!("f{file}"), OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
        }
    }
    world.link("d0/out", world.outside(""));
    for (tool, input) in [
        ("grep", json!({ "pattern": "canary" })),
        ("glob", json!({ "pattern": "**/*.txt" })),
        ("glob", json!({ "pattern": "**/*" })),
        ("ls", json!({ "path": "d0" })),
        ("tree", json!({ "path": "." })),
    ] {
        let report = world.call(tool, input);
        world.no_canary(&report);
        let text = report.outcome.unwrap_or_else(|failure| panic!("{tool}: {failure}"));
        assert!(text.len() < 1 << 20, "{tool} said too much");
    }
    world.outside_unchanged();
}

/// FS-10
#[test]
fn walkers_end_on_a_thousand_levels() {
    let world = World::new().reading();
    let mut dir: rustix::fd::OwnedFd = fs::File::open(world.workspace()).unwrap().into();
    for _ in 0..1000 {
        mkdirat(&dir, "deeper", Mode::RWXU).unwrap();
        dir = openat(&dir, "deeper", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    openat(&dir, "bottom", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
    rustix::fs::symlinkat(world.outside(""), &dir, "out").unwrap();
    drop(dir);
    for (tool, input) in [
        ("grep", json!({ "pattern": "canary" })),
        ("glob", json!({ "pattern": "**/bottom" })),
        ("tree", json!({ "path": "." })),
    ] {
        let report = world.call(tool, input);
        world.no_canary(&report);
        assert!(
            matches!(report.outcome, Ok(_) | Err(Failure::Failed(_))),
            "{tool} must end by itself: {:?}",
            report.outcome
        );
    }
    world.works_afterwards();
    remove_deep(&world);
}

/// `remove_dir_all` of the temporary folder would recurse a thousand times; take it apart by hand.
fn remove_deep(world: &World) {
    let inside = world.workspace();
    for step in 0..1000 {
        let (top, aside) = (inside.join("deeper"), inside.join(format!("t{step}")));
        fs::rename(&top, &aside).unwrap();
        let below = aside.join("deeper");
        if below.exists() {
            fs::rename(below, &top).unwrap();
        }
    }
}

/// FS-11
#[test]
fn what_is_no_file_neither_hangs_nor_opens() {
    let world = World::new();
    let dir = fs::File::open(world.workspace()).unwrap();
    mknodat(&dir, "pipe", FileType::Fifo, Mode::RWXU, 0).unwrap();
    let _socket = UnixListener::bind(world.inside("socket")).unwrap();
    // Only root may make a device; elsewhere the pipe and the socket must do.
    let device = mknodat(&dir, "device", FileType::CharacterDevice, Mode::RWXU, rustix::fs::makedev(1, 5)).is_ok();
    world.link("to-pipe", "pipe");
    for path in ["pipe", "socket", "to-pipe", "device"].into_iter().filter(|path| *path != "device" || device) {
        let started = Instant::now();
        let came = world.reach(
            &["read", "write", "overwrite", "append", "truncate", "set-size", "host-read", "list", "set-times-of-read"]
                .map(|op| json!({ "op": op, "path": path, "follow": true, "text": "x" })),
        );
        assert_eq!(came.iter().filter(|came| came.is_ok()).count(), 0, "{path}: {came:?}");
        assert!(started.elapsed() < Duration::from_secs(5), "{path} hung");
        for (tool, input) in [
            ("read", json!({ "path": path })),
            ("write", json!({ "path": path, "content": "x" })),
            ("grep", json!({ "pattern": "x", "path": path })),
        ] {
            let report = world.call(tool, input);
            assert!(
                !matches!(report.outcome, Err(Failure::OutOfTime { .. } | Failure::Host { .. })),
                "{tool} {path}: {:?}",
                report.outcome
            );
        }
    }
    assert!(world.call("grep", json!({ "pattern": "mine" })).outcome.unwrap().contains("file"));
    assert_eq!(world.reach(&[json!({ "op": "stat", "path": "pipe" })]).len(), 1);
}

/// FS-12
#[test]
fn outside_what_exists_and_what_does_not_look_the_same() {
    let world = World::new();
    world.link("there", world.outside("secret.txt"));
    world.link("gone", world.outside("not-there"));
    let try_all = |path: &str| {
        world.reach(
            &["read", "write", "stat", "list", "mkdir", "unlink", "hash", "host-read", "host-stat", "host-list"]
                .map(|op| json!({ "op": op, "path": path, "follow": true, "text": "x" })),
        )
    };
    for (there, gone) in [
        ("../outside/secret.txt", "../outside/not-there"),
        ("../outside/folder/inner.txt", "../outside/none/inner.txt"),
        ("/etc/passwd", "/etc/not-there"),
        ("../outside", "../nowhere"),
    ] {
        assert_eq!(try_all(there), try_all(gone), "{there} and {gone} differ");
    }
    let through = |path: &str| {
        world.reach(
            &["read", "overwrite", "list", "host-read", "host-list"]
                .map(|op| json!({ "op": op, "path": path, "follow": true, "text": "x" })),
        )
    };
    assert_eq!(through("there"), through("gone"));
}

/// FS-13
#[test]
fn a_workspace_that_is_no_folder_is_refused() {
    let world = World::new();
    symlink(world.workspace(), world.outside("link")).unwrap();
    for path in [world.workspace().join("missing"), world.inside("file"), world.outside("link")] {
        assert!(matches!(Workspace::open(&path), Err(WorkspaceError::Open { .. })), "{}", path.display());
    }
    assert!(Workspace::open(&world.workspace()).is_ok());
}

/// FS-13
#[test]
fn a_granted_folder_that_is_no_folder_is_refused() {
    let world = World::new();
    world.link("link", "folder");
    world.link("away", world.outside("folder"));
    let open = |path: &str| {
        let files = FilesGrant::new([(WorkspacePath::parse(path).unwrap(), Access::Read)]);
        let workspace = Workspace::open(&world.workspace()).unwrap();
        Scope::open(world.engine(), &workspace, Grants { files, ..Grants::default() }, Limits::STANDARD, None)
    };
    for path in ["missing", "file", "link", "away", "link/inner", "away/inner.txt"] {
        assert!(matches!(open(path), Err(WorkspaceError::Grant { .. })), "{path}");
    }
    assert!(open("folder").is_ok());
}

/// FS-13
#[test]
fn a_workspace_swapped_after_opening_stays_the_one_that_was_opened() {
    let world = World::new();
    let scope = world.scope(&["reach"]);
    let moved = world.outside("moved");
    fs::rename(world.workspace(), &moved).unwrap();
    symlink(world.outside("folder"), world.workspace()).unwrap();
    let input = json!({ "steps": [
        { "op": "read", "path": "file" },
        { "op": "read", "path": "inner.txt" },
        { "op": "host-read", "path": "inner.txt" },
        { "op": "write", "path": "new", "text": "x" },
    ] });
    let report = scope.call_here("reach", &input.to_string(), &Call::new());
    world.no_canary(&report);
    assert_eq!(report.outcome.unwrap(), r#"[{"ok":"mine"},{"error":"no-entry"},{"error":"NotFound"},{"ok":"done"}]"#);
    assert_eq!(fs::read_to_string(moved.join("new")).unwrap(), "x");
    assert!(!world.outside("folder/new").exists());
}

/// FS-11 and FS-13: nothing of all this keeps a descriptor.
#[test]
fn no_descriptor_is_left_behind() {
    let world = World::new();
    let steps: Vec<Value> =
        (0..30).map(|number| json!({ "op": "open", "path": "file", "keep": number.to_string() })).collect();
    world.reach(&steps);
    let before = world.baseline(&["reach"]);
    for _ in 0..50 {
        world.reach(&steps);
    }
    before.returns(64 << 20);
}
