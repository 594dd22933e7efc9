//! The scratch folder of an agent: `/tmp` to its guests, there for one scope and nobody else.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use palisade_grants::{Access, Capability, Grants};
use palisade_sandbox::{Call, Failure, Limits, Report, Scope, Workspace};
use palisade_tests::world::World;
use serde_json::{Value, json};

const STANDARD: Limits = Limits { call_time: Duration::from_secs(20), ..Limits::STANDARD };

/// Where scratch folders are made, for the tests to look at.
struct Place {
    world: World,
    parent: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { world: World::new(), parent: tempfile::tempdir().unwrap() }
    }

    /// An agent with these tools, in a workspace that it may read, or write too.
    fn agent(&self, access: Access, limits: Limits, tools: &[&str]) -> Scope {
        let workspace = Workspace::open(&self.world.workspace()).unwrap().with_scratch_in(self.parent.path());
        self.scope(&workspace, access, limits, tools)
    }

    fn scope(&self, workspace: &Workspace, access: Access, limits: Limits, tools: &[&str]) -> Scope {
        let grants = Grants::workspace(access);
        let scope = Scope::open(self.world.engine(), workspace, grants, limits, None).unwrap();
        for tool in tools {
            self.world.add(&scope, tool, tool);
        }
        scope
    }

    fn writer(&self) -> Scope {
        self.agent(Access::ReadWrite, STANDARD, &["reach"])
    }

    /// The scratch folders there are.
    fn folders(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(self.parent.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }

    fn only_folder(&self) -> PathBuf {
        let folders = self.folders();
        assert_eq!(folders.len(), 1, "{folders:?}");
        folders[0].clone()
    }
}

fn call(scope: &Scope, tool: &str, input: &Value) -> Report {
    scope.call_here(tool, &input.to_string(), &Call::new())
}

/// Has `reach` do some steps and gives what it said, as JSON text.
fn reach(scope: &Scope, steps: &[Value]) -> String {
    call(scope, "reach", &json!({ "steps": steps })).outcome.unwrap()
}

fn write(path: &str, text: &str) -> Value {
    json!({ "op": "write", "at": "/tmp", "path": path, "text": text })
}

fn read(path: &str) -> Value {
    json!({ "op": "read", "at": "/tmp", "path": path, "follow": true })
}

fn list() -> Value {
    json!({ "op": "list-handle", "at": "/tmp" })
}

/// FS-16, the control.
#[test]
fn what_a_guest_leaves_there_is_there_in_the_next_call() {
    let place = Place::new();
    let scope = place.agent(Access::ReadWrite, STANDARD, &["reach", "write", "edit", "read", "ls", "grep"]);
    assert_eq!(
        reach(&scope, &[write("note", "mine"), json!({ "op": "preopens" })]),
        r#"[{"ok":"done"},{"ok":".,/tmp"}]"#
    );
    assert_eq!(reach(&scope, &[read("note"), list()]), r#"[{"ok":"mine"},{"ok":"note"}]"#);
    // The core tools see it too, by the same name.
    let told = |tool: &str, input: Value| call(&scope, tool, &input).outcome.unwrap();
    assert_eq!(told("write", json!({ "path": "/tmp/a/b", "content": "parcel" })), "Created /tmp/a/b: 1 line, 6 bytes.");
    told("edit", json!({ "path": "/tmp/a/b", "old": "parcel", "new": "letter" }));
    assert!(told("read", json!({ "path": "/tmp/a/b" })).contains("letter"));
    assert!(told("grep", json!({ "pattern": "letter", "path": "/tmp" })).contains("/tmp/a/b"));
    assert!(told("ls", json!({ "path": "/tmp" })).contains("note"));
    assert_eq!(fs::read_to_string(place.only_folder().join("a/b")).unwrap(), "letter");
    assert!(!place.world.inside("tmp").exists() && !place.world.inside("note").exists());
}

/// FS-16
#[test]
fn it_is_made_when_it_is_wanted_open_to_nobody_else_and_gone_with_the_scope() {
    let place = Place::new();
    let scope = place.agent(Access::ReadWrite, STANDARD, &["reach", "read", "grep", "echo"]);
    call(&scope, "read", &json!({ "path": "file" })).outcome.unwrap();
    call(&scope, "grep", &json!({ "pattern": "mine" })).outcome.unwrap();
    call(&scope, "echo", &json!({ "text": "x" })).outcome.unwrap();
    assert_eq!(place.folders(), Vec::<PathBuf>::new(), "nobody asked for it");
    reach(&scope, &[write("note", "mine")]);
    let folder = place.only_folder();
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    drop(scope);
    assert_eq!(place.folders(), Vec::<PathBuf>::new(), "it is left behind");
    let scope = place.writer();
    assert_eq!(reach(&scope, &[list(), read("note")]), r#"[{"ok":""},{"error":"no-entry"}]"#);
    assert_ne!(place.only_folder(), folder, "a name is used again");
}

/// FS-16: two agents at the same time, in the same workspace even.
#[test]
fn one_agent_does_not_find_the_scratch_folder_of_another() {
    let place = Place::new();
    let (mine, other) = (place.writer(), place.writer());
    reach(&other, &[write("note", place.world.canary()), write("deep/note", "")]);
    let theirs = place.only_folder();
    let name = theirs.file_name().unwrap().to_str().unwrap();
    // What a guest could be told, or guess: where the other's folder is.
    let host_path = theirs.join("note").display().to_string();
    let aside = format!("../{name}/note");
    let parent = place.parent.path().file_name().unwrap().to_str().unwrap();
    let above = format!("../../{parent}/{name}/note");
    let proc = format!("/proc/{}/cwd/{host_path}", std::process::id());
    let descriptors = (3..40).map(|fd| format!("/proc/self/fd/{fd}/note"));
    let mut paths: Vec<String> =
        vec!["note".into(), "..".into(), host_path.clone(), aside.clone(), above.clone(), proc];
    paths.extend([format!("/tmp/{name}/note"), format!("/tmp/{parent}/{name}/note"), format!("./{aside}")]);
    paths.extend(descriptors);
    let mut steps = vec![write("own", "own"), json!({ "op": "mkdir", "at": "/tmp", "path": "sub" })];
    for path in &paths {
        for at in ["/tmp", "."] {
            for op in ["read", "overwrite", "stat", "list", "unlink", "set-times"] {
                steps.push(json!({ "op": op, "at": at, "path": path, "follow": true, "text": "taken" }));
            }
        }
        steps.push(json!({ "op": "host-read", "path": path }));
        steps.push(json!({ "op": "host-list", "path": path }));
    }
    let tried = steps.len();
    // Links that would lead there, in both folders.
    for (number, target) in [&aside, &above, &host_path, "..", "/", "/tmp"].iter().enumerate() {
        for at in ["/tmp", "."] {
            let link = format!("link{number}");
            steps.push(json!({ "op": "symlink", "at": at, "path": link, "text": target }));
            steps.push(json!({ "op": "read", "at": at, "path": link, "follow": true }));
        }
    }
    let before = fs::metadata(theirs.join("note")).unwrap().modified().unwrap();
    let report = call(&mine, "reach", &json!({ "steps": steps }));
    place.world.no_canary(&report);
    let came: Vec<Value> = serde_json::from_str(&report.outcome.unwrap()).unwrap();
    let worked = |range: std::ops::Range<usize>| came[range].iter().filter(|came| came.get("ok").is_some()).count();
    assert_eq!(worked(0..2), 2, "its own folder works");
    assert_eq!(worked(2..tried), 0, "{came:?}");
    assert_eq!(worked(tried..came.len()), 0, "{came:?}");
    assert_eq!(place.folders().len(), 2);
    assert_eq!(fs::read_to_string(theirs.join("note")).unwrap(), place.world.canary());
    assert_eq!(fs::metadata(theirs.join("note")).unwrap().modified().unwrap(), before);
    // The control: its owner still has it.
    assert!(reach(&other, &[read("note")]).contains(place.world.canary()));
}

/// FS-16: links that somebody else planted in it do not lead out either.
#[test]
fn a_link_planted_in_it_does_not_lead_out() {
    let place = Place::new();
    let scope = place.writer();
    reach(&scope, &[write("own", "own")]);
    let folder = place.only_folder();
    symlink(place.world.outside("secret.txt"), folder.join("absolute")).unwrap();
    symlink(place.world.workspace(), folder.join("workspace")).unwrap();
    symlink("own", folder.join("inside")).unwrap();
    let mut steps = Vec::new();
    for path in ["absolute", "workspace/file"] {
        for op in ["read", "write", "overwrite", "append", "truncate", "set-times", "set-times-of-read"] {
            steps.push(json!({ "op": op, "at": "/tmp", "path": path, "follow": true, "text": "guest" }));
        }
        steps.push(json!({ "op": "host-read", "path": format!("/tmp/{path}") }));
    }
    let report = call(&scope, "reach", &json!({ "steps": steps }));
    place.world.no_canary(&report);
    assert!(!report.outcome.as_ref().unwrap().contains("\"ok\""), "{:?}", report.outcome);
    assert_eq!(place.world.contents("file"), "mine");
    assert_eq!(reach(&scope, &[read("inside")]), r#"[{"ok":"own"}]"#);
    drop(scope);
    assert_eq!(place.folders(), Vec::<PathBuf>::new());
    assert_eq!(place.world.contents("file"), "mine", "removing it followed a link");
    assert_eq!(fs::read_to_string(place.world.outside("secret.txt")).unwrap(), place.world.canary());
}

/// FS-16 and FS-07: an agent that may write nothing has nothing to write in.
#[test]
fn a_read_only_agent_has_none() {
    let place = Place::new();
    let scope = place.agent(Access::Read, STANDARD, &["reach", "write"]);
    let came =
        reach(&scope, &[json!({ "op": "preopens" }), write("note", "x"), json!({ "op": "host-list", "path": "/tmp" })]);
    assert_eq!(came, r#"[{"ok":"."},{"error":"no-handle"},{"error":"denied"}]"#);
    assert!(call(&scope, "write", &json!({ "path": "/tmp/note", "content": "x" })).outcome.is_err());
    assert_eq!(place.folders(), Vec::<PathBuf>::new());
}

/// FS-16 and FS-07: a tool that declares reading reads it, if there is something to read.
#[test]
fn a_reading_tool_does_not_write_in_it() {
    let place = Place::new();
    let scope = place.writer();
    let (compiled, mut description) = place.world.load("reach");
    description.capabilities = [Capability::FsRead].into();
    description.name = "look".to_owned();
    scope.add(&compiled, &description, "look").unwrap();
    let look = |steps: &[Value]| call(&scope, "look", &json!({ "steps": steps })).outcome.unwrap();
    assert_eq!(look(&[json!({ "op": "preopens" })]), r#"[{"ok":"."}]"#);
    assert_eq!(place.folders(), Vec::<PathBuf>::new(), "a reader had it made");
    reach(&scope, &[write("note", "mine")]);
    assert_eq!(look(&[read("note")]), r#"[{"ok":"mine"}]"#);
    let changes = ["write", "overwrite", "append", "truncate", "set-size", "set-size-of-read", "set-times", "unlink"];
    let changes = changes.iter().chain(&["set-times-of-read", "write-to-read", "mkdir", "rmdir", "symlink", "create"]);
    let steps: Vec<Value> = changes.map(|op| json!({ "op": op, "at": "/tmp", "path": "note", "text": "x" })).collect();
    let came = look(&steps);
    assert!(!came.contains("\"ok\""), "{came}");
    assert_eq!(reach(&scope, &[read("note"), list()]), r#"[{"ok":"mine"},{"ok":"note"}]"#);
}

/// FS-16 and FS-15: it is no way round the rules of the workspace.
#[test]
fn nothing_is_moved_or_linked_between_it_and_the_workspace() {
    let place = Place::new();
    let scope = place.writer();
    let cross = |op: &str, at: &str, path: &str, to_at: &str, to: &str| json!({ "op": op, "at": at, "path": path, "to_at": to_at, "to": to });
    reach(&scope, &[write("note", "mine"), json!({ "op": "mkdir", "at": "/tmp", "path": "sub" })]);
    let before = place.world.tree();
    let came = reach(
        &scope,
        &[
            cross("rename", "/tmp", "note", ".", "note"),
            cross("rename", "/tmp", "note", ".", "file"),
            cross("rename", "/tmp", "sub", ".", "sub"),
            cross("link", "/tmp", "note", ".", "note"),
            cross("rename", ".", "file", "/tmp", "file"),
            cross("rename", ".", "folder", "/tmp", "folder"),
            cross("link", ".", "file", "/tmp", "file"),
            cross("rename", "/tmp", "note", ".", ".git/hooks/pre-commit"),
            cross("link", "/tmp", "note", ".", ".envrc"),
            write(".git/config", "x"),
            write(".mcp.json", "x"),
            json!({ "op": "mkdir", "at": "/tmp", "path": "sub/.git" }),
        ],
    );
    let came: Vec<Value> = serde_json::from_str(&came).unwrap();
    let codes: Vec<&str> = came.iter().map(|came| came["error"].as_str().unwrap_or("worked")).collect();
    assert_eq!(codes[..7], ["cross-device"; 7]);
    assert!(codes[7..].iter().all(|code| ["not-permitted", "no-entry"].contains(code)), "{codes:?}");
    assert_eq!(place.world.tree(), before);
    // The control: within each, both work.
    let came = reach(
        &scope,
        &[
            cross("rename", "/tmp", "note", "/tmp", "sub/note"),
            cross("link", "/tmp", "sub/note", "/tmp", "again"),
            cross("rename", ".", "file", ".", "moved"),
            json!({ "op": "symlink", "at": "/tmp", "path": "sub/link", "text": "../again" }),
            json!({ "op": "read", "at": "/tmp", "path": "sub/link", "follow": true }),
            json!({ "op": "overwrite", "at": "/tmp", "path": "sub/link", "follow": true, "text": "both" }),
            read("sub/note"),
        ],
    );
    let done = r#"{"ok":"done"}"#;
    assert_eq!(came, format!(r#"[{done},{done},{done},{done},{{"ok":"mine"}},{done},{{"ok":"both"}}]"#));
    let report = call(&scope, "reach", &json!({ "steps": [write("sub/.git", "x")] }));
    assert_eq!(report.denials[0].asked, "writing /tmp/sub/.git");
}

/// FS-16 and FS-17
#[test]
fn what_is_written_there_counts_like_any_other() {
    let place = Place::new();
    let limits = Limits { written: 100, created: 3, open_files: 8, ..STANDARD };
    let scope = place.agent(Access::ReadWrite, limits, &["reach"]);
    let long = "x".repeat(60);
    let report =
        call(&scope, "reach", &json!({ "steps": [write("one", &long), write("two", &long), write("three", "x")] }));
    assert_eq!(report.outcome.unwrap(), r#"[{"ok":"done"},{"error":"insufficient-space"},{"ok":"done"}]"#);
    assert_eq!(report.cost.written, 61);
    assert_eq!(report.denials[0].asked, "writing more than 100 bytes");
    // Three files are made, here or there.
    let in_workspace = json!({ "op": "write", "path": "new", "text": "x" });
    let came = reach(&scope, &[write("a", ""), in_workspace, write("b", ""), write("c", "")]);
    assert_eq!(came, r#"[{"ok":"done"},{"ok":"done"},{"ok":"done"},{"error":"insufficient-space"}]"#);
    let steps: Vec<Value> =
        (0..8).map(|number| json!({ "op": "open", "at": "/tmp", "path": "a", "keep": number.to_string() })).collect();
    let came = reach(&scope, &steps);
    assert_eq!(came.matches("opened").count(), 6, "{came}");
    assert_eq!(came.matches("insufficient-memory").count(), 2, "{came}");
}

/// FS-16: however deep it is, and however the guest ended.
#[test]
fn nothing_of_it_is_left_behind() {
    let place = Place::new();
    let scope = place.agent(Access::ReadWrite, STANDARD, &["reach"]);
    let mut steps = vec![write("file", "x")];
    for depth in 0..300 {
        let (at, keep) = if depth == 0 { ("/tmp".to_owned(), 0) } else { ((depth - 1).to_string(), depth) };
        steps.push(json!({ "op": "mkdir", "at": at, "path": "d" }));
        steps.push(json!({ "op": "open", "at": at, "path": "d", "flags": ["directory"], "keep": keep.to_string() }));
        if depth > 1 {
            steps.push(json!({ "op": "drop", "at": (depth - 2).to_string() }));
        }
    }
    let came = reach(&scope, &steps);
    assert!(!came.contains("error"), "{came}");
    drop(scope);
    assert_eq!(place.folders(), Vec::<PathBuf>::new());
}

/// FS-16: a guest that still runs when its scope ends takes the folder with it when it ends.
#[test]
fn nothing_is_left_behind_by_a_call_that_was_given_up() {
    let place = Place::new();
    let scope = place.writer();
    let steps: Vec<Value> = (0..50_000).map(|number| write(&(number % 100).to_string(), "x")).collect();
    let input = json!({ "steps": steps }).to_string();
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let wanted = async {
            while place.folders().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            report = scope.call("reach", input, Call::new()) => panic!("it ended by itself: {:?}", report.outcome),
            () = wanted => {}
        }
    });
    drop(scope);
    let end = Instant::now() + Duration::from_secs(10);
    while !place.folders().is_empty() {
        assert!(Instant::now() < end, "{:?}", place.folders());
        thread::yield_now();
    }
}

/// FS-16: in the workspace it could be named by whoever works there.
#[test]
fn it_is_never_made_in_the_workspace() {
    let place = Place::new();
    let inside = place.world.inside("folder");
    let workspace = Workspace::open(&place.world.workspace()).unwrap();
    let link = place.world.outside("to-folder");
    symlink(&inside, &link).unwrap();
    for parent in [place.world.workspace(), inside, link, place.world.outside("missing")] {
        let workspace = workspace.clone().with_scratch_in(&parent);
        let scope = place.scope(&workspace, Access::ReadWrite, STANDARD, &["reach"]);
        let before = place.world.tree();
        let came = reach(&scope, &[json!({ "op": "preopens" }), json!({ "op": "read", "path": "file" })]);
        assert_eq!(came, r#"[{"ok":"."},{"ok":"mine"}]"#, "{}", parent.display());
        assert_eq!(place.world.tree(), before);
    }
}

/// FS-16: a workspace in the system's `/tmp` is not mistaken for something in the scratch folder.
#[test]
fn the_workspace_named_in_full_is_not_found_in_it() {
    let place = Place::new();
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let workspace = Workspace::open(folder.path()).unwrap().with_scratch_in(place.parent.path());
    let scope = place.scope(&workspace, Access::ReadWrite, STANDARD, &["reach", "write", "read"]);
    reach(&scope, &[write("own", "own")]);
    let path = folder.path().join("src/file").display().to_string();
    let report = call(&scope, "write", &json!({ "path": path, "content": "lost" }));
    assert!(matches!(report.outcome, Err(Failure::Refused(_))), "{:?}", report.outcome);
    assert!(report.denials[0].remedy.ends_with("paths of the workspace are relative to it"), "{:?}", report.denials);
    let Err(Failure::Refused(text)) = call(&scope, "read", &json!({ "path": path })).outcome else {
        panic!("no refusal")
    };
    assert!(text.ends_with("is absolute; paths are relative to the workspace"), "{text}");
    assert_eq!(reach(&scope, &[list()]), r#"[{"ok":"own"}]"#);
    call(&scope, "write", &json!({ "path": "src/file", "content": "kept" })).outcome.unwrap();
}
