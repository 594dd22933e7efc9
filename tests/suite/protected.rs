//! Names that decide what runs later with the user's rights.

use std::fs;

use palisade_tests::world::World;
use serde_json::{Value, json};

const PROTECTED: [&str; 16] = [
    ".git/hooks/pre-commit",
    ".git/config",
    ".palisade/policy.toml",
    ".claude/settings.json",
    ".claude/agents/a.md",
    ".acai/agent.md",
    ".opencode/agent.md",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".cursor/mcp.json",
    ".vscode/tasks.json",
    ".mcp.json",
    ".envrc",
    ".gitmodules",
    "plugin.json",
    "folder/.git/hooks/pre-commit",
];

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

fn changes(path: &str) -> Vec<Value> {
    let mut steps: Vec<Value> =
        ["write", "overwrite", "create", "truncate", "append", "set-size", "set-times", "mkdir", "unlink", "rmdir"]
            .map(|op| json!({ "op": op, "path": path, "text": "guest" }))
            .into();
    steps.extend([
        json!({ "op": "rename", "path": "file", "to": path }),
        json!({ "op": "rename", "path": path, "to": "taken" }),
        json!({ "op": "link", "path": "file", "to": path }),
        json!({ "op": "link", "path": path, "to": "taken" }),
        json!({ "op": "symlink", "path": path, "text": "file" }),
        json!({ "op": "mkdir", "path": format!("{path}/") }),
        json!({ "op": "rename", "path": "folder", "to": format!("{path}/") }),
    ]);
    steps
}

fn none_done(world: &World, steps: &[Value]) {
    let before = world.tree();
    let came = world.reach(steps);
    for (step, came) in steps.iter().zip(&came) {
        assert!(came.as_deref() != Ok("done"), "{step}");
    }
    assert_eq!(world.tree(), before);
}

/// FS-15
#[test]
fn a_protected_name_that_exists_does_not_change() {
    let world = World::new();
    for path in PROTECTED {
        world.put(path, "theirs");
    }
    for path in PROTECTED {
        none_done(&world, &changes(path));
        assert_eq!(world.reach(&[json!({ "op": "read", "path": path })]), [Ok("theirs".to_owned())]);
    }
}

/// FS-15, a regression test for the shape of CVE-2026-25725.
#[test]
fn a_protected_name_that_does_not_exist_yet_is_not_made() {
    for path in PROTECTED {
        let world = World::new();
        none_done(&world, &changes(path));
        none_done(
            &world,
            &changes(path.split('/').next().unwrap_or(path))
                .into_iter()
                .filter(|_| !path.starts_with("folder"))
                .collect::<Vec<_>>(),
        );
        if folder(path) != "." {
            fs::create_dir_all(world.inside(folder(path))).unwrap();
            none_done(&world, &changes(path));
        }
    }
}

/// FS-15
#[test]
fn case_and_spelling_do_not_unprotect_a_name() {
    let world = World::new();
    world.put(".git/hooks/pre-commit", "theirs");
    for path in [
        ".GIT/hooks/x",
        ".Git",
        ".MCP.json",
        "Plugin.JSON",
        ".git/",
        ".git//",
        ".git/.",
        "./.git",
        ".//.git/hooks//x",
        "folder/../.git/hooks/x",
        ".git/hooks/../config",
        ".git/hooks/",
        ".git/hooks/x/",
        "folder/.CLAUDE/x",
    ] {
        none_done(&world, &changes(path));
    }
}

/// FS-15
#[test]
fn a_link_does_not_unprotect_a_name() {
    let world = World::new();
    world.put(".git/hooks/pre-commit", "theirs");
    world.link("innocent", ".git");
    world.link("hooks", ".git/hooks");
    world.link("hook", ".git/hooks/pre-commit");
    world.link("next", ".git/hooks/new");
    world.link("chain", "innocent/hooks");
    let follow = |path: &str| {
        ["write", "overwrite", "create", "truncate", "append", "set-size", "set-times"]
            .map(|op| json!({ "op": op, "path": path, "follow": true, "text": "guest" }))
    };
    for path in
        ["innocent/hooks/pre-commit", "hooks/pre-commit", "hooks/new", "hook", "next", "chain/pre-commit", "chain/new"]
    {
        none_done(&world, &follow(path));
    }
    none_done(
        &world,
        &[
            json!({ "op": "rename", "path": "file", "to": "hooks/new" }),
            json!({ "op": "link", "path": "hooks/pre-commit", "to": "mine" }),
            json!({ "op": "link", "path": "hook", "to": "mine", "follow": true }),
            json!({ "op": "rename", "path": "hooks/pre-commit", "to": "mine" }),
            json!({ "op": "mkdir", "path": "innocent/new" }),
        ],
    );
}

/// FS-15: links that the guest makes itself.
#[test]
fn a_link_of_the_guest_does_not_unprotect_a_name() {
    let world = World::new();
    world.put(".git/hooks/pre-commit", "theirs");
    let came = world.reach(&[
        json!({ "op": "symlink", "path": "mine", "text": ".git/hooks" }),
        json!({ "op": "write", "path": "mine/pre-commit", "text": "guest" }),
        json!({ "op": "write", "path": "mine/new", "text": "guest" }),
        json!({ "op": "symlink", "path": "own", "text": ".git/hooks/new" }),
        json!({ "op": "write", "path": "own", "follow": true, "text": "guest" }),
        json!({ "op": "symlink", "path": ".git2", "text": "folder" }),
        json!({ "op": "rename", "path": ".git2", "to": ".git" }),
    ]);
    for number in [1, 2, 4, 6] {
        assert!(came[number].is_err(), "step {number}: {came:?}");
    }
    assert_eq!(world.contents(".git/hooks/pre-commit"), "theirs");
    assert!(!world.inside(".git/hooks/new").exists());
}

/// FS-15
#[test]
fn a_handle_on_a_protected_folder_does_not_write() {
    let world = World::new();
    world.put(".git/hooks/pre-commit", "theirs");
    let before = world.tree();
    let came = world.reach(&[
        json!({ "op": "open", "path": ".git", "flags": ["directory", "write"], "keep": "git" }),
        json!({ "op": "open", "path": ".git", "flags": ["directory"], "keep": "git" }),
        json!({ "op": "write", "at": "git", "path": "config", "text": "guest" }),
        json!({ "op": "write", "at": "git", "path": "hooks/pre-commit", "text": "guest" }),
        json!({ "op": "open", "at": "git", "path": "hooks", "flags": ["directory"], "keep": "hooks" }),
        json!({ "op": "write", "at": "hooks", "path": "pre-commit", "text": "guest" }),
        json!({ "op": "create", "at": "hooks", "path": "new" }),
        json!({ "op": "rename", "path": "file", "to_at": "hooks", "to": "new" }),
        json!({ "op": "link", "path": "file", "to_at": "hooks", "to": "new" }),
        json!({ "op": "link", "at": "hooks", "path": "pre-commit", "to": "mine" }),
        json!({ "op": "unlink", "at": "hooks", "path": "pre-commit" }),
        json!({ "op": "open", "at": "hooks", "path": "pre-commit", "keep": "file" }),
        json!({ "op": "set-size-handle", "at": "file", "text": "0" }),
        json!({ "op": "write-handle", "at": "file", "text": "guest" }),
        json!({ "op": "set-times-of-read", "at": "hooks", "path": "pre-commit" }),
        json!({ "op": "open", "at": "hooks", "path": "made", "flags": ["create", "directory"], "keep": "made" }),
        json!({ "op": "open", "at": "hooks", "path": "pre-commit", "flags": ["truncate", "directory"], "keep": "cut" }),
        json!({ "op": "open", "at": "hooks", "path": "made", "flags": ["create"], "keep": "made" }),
    ]);
    assert_eq!(came.iter().filter(|came| came.as_deref() == Ok("done")).count(), 0, "{came:?}");
    assert_eq!(world.tree(), before);
}

/// FS-15: moving a folder that becomes, or holds, a protected one.
#[test]
fn a_rename_does_not_make_a_protected_folder() {
    let world = World::new();
    world.put("prepared/hooks/pre-commit", "guest");
    world.put("sub/.git/hooks/pre-commit", "theirs");
    none_done(
        &world,
        &[
            json!({ "op": "rename", "path": "prepared", "to": ".git" }),
            json!({ "op": "rename", "path": "prepared", "to": ".git/" }),
            json!({ "op": "rename", "path": "prepared", "to": "sub/.git" }),
            json!({ "op": "rename", "path": "prepared/hooks", "to": "sub/.git/hooks" }),
            json!({ "op": "rename", "path": "sub/.git", "to": "sub/git" }),
        ],
    );
}

/// FS-15, with the core tools.
#[test]
fn the_core_tools_do_not_write_protected_names() {
    let world = World::new();
    world.put(".git/hooks/pre-commit", "theirs");
    world.put(".mcp.json", "theirs");
    world.link("innocent", ".git/hooks");
    let before = world.tree();
    for path in [
        ".git/hooks/pre-commit",
        ".git/hooks/new",
        ".mcp.json",
        "innocent/pre-commit",
        "innocent/new",
        ".claude/agents/a.md",
        ".GIT/x",
        "deep/er/plugin.json",
    ] {
        let report = world.call("write", json!({ "path": path, "content": "guest" }));
        assert!(report.outcome.is_err(), "write {path}");
        let report = world.call("edit", json!({ "path": path, "old": "theirs", "new": "guest" }));
        assert!(report.outcome.is_err(), "edit {path}");
    }
    let kept = |tree: &palisade_tests::world::Tree| {
        tree.iter()
            .filter(|(path, _)| path.is_file())
            .map(|(path, what)| (path.clone(), what.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(&world.tree()), kept(&before));
    assert!(!world.inside(".claude").exists());
}

/// FS-15, the control: names that only look protected may be written; the refusal says why.
#[test]
fn other_names_may_be_written_and_a_refusal_says_why() {
    let world = World::new();
    for path in [".gitignore", ".github", "git/hooks/x", "my-plugin.json", ".envrc.example"] {
        fs::create_dir_all(world.inside(folder(path))).unwrap();
        assert_eq!(
            world.reach(&[json!({ "op": "write", "path": path, "text": "x" })]),
            [Ok("done".to_owned())],
            "{path}"
        );
    }
    let report = world.call("reach", json!({ "steps": [{ "op": "mkdir", "path": ".git" }] }));
    assert_eq!(
        report.denials.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "fs.write: writing .git is refused: `.git` decides what runs with the user's rights and is always read-only; change it yourself, outside of an agent"
        ]
    );
}
