//! The three subagents, in the format they were written for.

use std::{fs, path::Path};

use serde_json::json;

use super::{Packages, names};
use crate::world::World;

const NAMES: [&str; 3] = ["code-reviewer", "test-writer", "researcher"];

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/subagents/agents")
}

/// A31, B14, B28, E16, I27, P14
#[test]
fn the_subagents_load_from_the_plugin_as_they_are() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    for (name, tools, files) in [
        ("code-reviewer", &["bash", "glob", "grep", "read"][..], "read-write"),
        ("test-writer", &["bash", "edit", "glob", "grep", "ls", "read", "write"], "read-write"),
        ("researcher", &["glob", "grep", "read", "think"], "read"),
    ] {
        let explained = packages.explain(&world, name);
        assert_eq!((&explained["plugin"], &explained["warnings"]), (&json!("subagents"), &json!([])), "{name}");
        assert_eq!(names(&explained["tools"]), tools, "{name}");
        assert_eq!(explained["grants"]["files"][0]["access"], files, "{name}: {}", explained["grants"]);
    }
    // Hosts are not part of the format; whoever wants it to read pages grants them.
    let researcher = packages.explain(&world, "researcher");
    assert!(super::reason(&researcher, "web_fetch").contains("net.http"), "{researcher}");
    assert_eq!(packages.explain(&world, "code-reviewer")["model"], "anthropic:sonnet");
}

/// C3, A31. The folder of the program they come from is read, too, once the user trusts what is in it.
#[test]
fn the_same_files_load_from_the_folder_they_were_written_for() {
    let world = World::empty();
    for name in NAMES {
        let text = fs::read_to_string(folder().join(format!("{name}.md"))).unwrap();
        world.add(&format!(".acai/subagents/{name}.md"), text);
        world.palisade(&["agents", "trust", name]).with_code(0);
        let ended = world.palisade(&["explain", name, "--json"]).with_code(0);
        assert_eq!((ended.json()["source"].as_str(), &*ended.stderr), (Some("project"), ""), "{name}");
    }
    let ended = world.palisade(&["agents", "validate", folder().to_str().unwrap()]).with_code(0);
    assert!(ended.stderr.contains("3 files, 0 errors, 0 warnings"), "{}{}", ended.stdout, ended.stderr);
}

/// M15. The task is where the file wants it.
#[test]
fn the_task_takes_its_place_in_the_prompt() {
    let Some(packages) = Packages::built() else { return };
    let world = World::new();
    for name in NAMES {
        let script = world.script(&format!("{name}.json"), &json!([{ "text": "done" }]).to_string());
        let arguments = ["run", name, "--model", &script, "--json", "--transcript", "look at harbour.rs"];
        let ended = packages.palisade(&world, &arguments).with_code(0);
        let transcript = ended.json()["transcript"].to_string();
        assert!(transcript.contains("look at harbour.rs") && !transcript.contains("{{task}}"), "{transcript}");
    }
}
