//! Working in the home folder, where this program keeps its own files, too.

use serde_json::{Value, json};

use crate::world::World;

/// What came of some calls that `general`, which may write, makes in the home folder.
fn results(world: &World, calls: &Value) -> Vec<Value> {
    let script = json!([{ "calls": calls }, { "text": "enough" }]).to_string();
    let model = format!("scripted:{}", world.add_outside("script.json", script.as_bytes()));
    let home = world.home().display().to_string();
    let arguments = ["run", "general", "go", "--workspace", &home, "--model", &model, "--json", "--transcript"];
    let report = world.palisade(&arguments).with_code(0).json();
    let entries = report["transcript"].as_array().cloned().unwrap_or_default();
    entries.into_iter().filter(|entry| entry["entry"] == "result").map(|entry| entry["result"].clone()).collect()
}

/// INJ-03: with a configuration of its own an agent could have any program started, with the key any
/// machine code.
#[test]
fn an_agent_reaches_nothing_that_decides_over_it() {
    let world = World::new();
    world.configure("model = \"offline\"\n");
    // Makes the key and the cache.
    world.palisade(&["doctor", "--offline"]).with_code(0);
    let key = world.home().join(".local/share/palisade/artifact.key");
    assert!(key.exists());
    let write = |path: &str| json!({ "tool": "write", "input": { "path": path, "content": "mine" } });
    let read = |path: &str| json!({ "tool": "read", "input": { "path": path } });
    let reaching = results(
        &world,
        &json!([
            read(".config/palisade/config.toml"),
            read(".local/share/palisade/artifact.key"),
            write(".config/palisade/config.toml"),
            write(".config/palisade/agents/general.md"),
            write(".local/share/palisade/trust.json"),
            write(".cache/palisade/x"),
        ]),
    );
    assert_eq!(reaching.len(), 6);
    for result in &reaching {
        assert!(result.to_string().contains("\"failed\""), "{result}");
    }
    let written: Vec<_> = World::files_below(&world.home())
        .into_iter()
        .filter(|file| {
            let name = file.display().to_string();
            ["trust.json", "general.md", "palisade/x"].iter().any(|end| name.ends_with(end))
        })
        .collect();
    assert_eq!(written, Vec::<std::path::PathBuf>::new());
    // Calls of one reply are made side by side, so what is written is read in the next run.
    let granted =
        [results(&world, &json!([write("notes.txt")])), results(&world, &json!([read("notes.txt")]))].concat();
    assert!(granted.iter().all(|result| !result.to_string().contains("\"failed\"")), "{granted:?}");
}
