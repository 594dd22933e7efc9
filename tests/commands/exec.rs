//! Native programs as users of the binary meet them: off, allowed by the configuration, never by a project.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its stage has failed")]

use std::path::Path;

use serde_json::{Value, json};

use crate::world::{Ended, World};

fn exec(world: &World, agent: &str, input: &Value) -> Ended {
    world.palisade(&["tools", "call", "exec", "--agent", agent, "--input", &input.to_string()])
}

/// X11, V7. Off by default; what would allow it is said.
#[test]
fn nothing_is_run_until_the_configuration_allows_it() {
    let world = World::new();
    let input = json!({ "program": "echo", "arguments": ["hello"] });
    let ended = exec(&world, "verification", &input);
    assert_ne!(ended.code, 0);
    assert!(!ended.stdout.contains("hello"), "{}", ended.stdout);
    let explained = world.palisade(&["explain", "verification"]).with_code(0).stdout;
    assert!(explained.contains("[exec] allow = ["), "{explained}");

    // A project is no operator.
    world.add(".palisade/config.toml", "[exec]\nallow = [\"echo:*\"]\n");
    let ended = exec(&world, "verification", &input);
    assert_ne!(ended.code, 0);
    assert!(!ended.stdout.contains("hello") && ended.stderr.contains("a project does not decide on `exec.allow`"));

    world.configure("[exec]\nallow = [\"echo:*\"]\n");
    let ended = exec(&world, "verification", &input).with_code(0);
    assert!(ended.stdout.contains("exit code: 0") && ended.stdout.contains("hello"), "{}", ended.stdout);
    let refused = exec(&world, "verification", &json!({ "program": "ls" }));
    assert_ne!(refused.code, 0);
    assert!(format!("{}{}", refused.stdout, refused.stderr).contains("granted is echo:*"), "{}", refused.stderr);
    let explained = world.palisade(&["explain", "verification", "--json"]).with_code(0).json();
    assert_eq!(explained["grants"]["commands"], json!(["echo:*"]));
}

/// A command that cannot be granted is an error with its place.
#[test]
fn a_configuration_with_no_command_in_it_is_refused() {
    let world = World::new();
    world.configure("[exec]\nallow = [\"ls; rm -rf /\"]\n");
    let ended = world.palisade(&["explain", "verification"]).with_code(1);
    assert!(ended.stderr.contains("exec.allow") && ended.stderr.contains("config.toml:2"), "{}", ended.stderr);
}

/// P7, P8, X11. The workspace is read-only, what is built goes to a scratch folder, and the tests are real.
#[test]
fn verification_runs_a_projects_tests() {
    let world = World::new();
    let Some(cargo) = option_env!("CARGO").map(Path::new).filter(|cargo| cargo.is_absolute() && cargo.exists()) else {
        eprintln!("NOT TESTED: there is no cargo");
        return;
    };
    let (bin, toolchain) = (cargo.parent().unwrap(), cargo.parent().unwrap().parent().unwrap());
    world.configure(&format!(
        "[exec]\nallow = [\"cargo test:*\"]\npath = [\"{}\"]\nread = [\"{}\"]\ntime = \"3m\"\n",
        bin.display(),
        toolchain.display()
    ));
    world.add("Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    world.add("Cargo.lock", "version = 4\n\n[[package]]\nname = \"tiny\"\nversion = \"0.1.0\"\n");
    world.add("src/lib.rs", "#[test]\nfn sums() { assert_eq!(1 + 1, 2) }\n#[test]\nfn fails() { assert_eq!(1, 2) }\n");
    let before = World::files_below(&world.workspace());
    let call = json!({ "tool": "exec", "input": { "program": "cargo", "arguments": ["test", "--offline", "--lib"] } });
    let script = world.script("script.json", &json!([{ "calls": [call] }, { "text": "looked" }]).to_string());
    let ended =
        world.palisade(&["run", "verification", "--model", &script, "--json", "--transcript", "go"]).with_code(0);
    let transcript = ended.json()["transcript"].to_string();
    assert!(transcript.contains("exit code: 101"), "{transcript}");
    assert!(transcript.contains("test sums ... ok") && transcript.contains("test fails ... FAILED"), "{transcript}");
    assert_eq!(World::files_below(&world.workspace()), before, "the workspace is as it was");
}

/// D3, D12, CF-15. A tool of an old manifest is a program that reads JSON and prints its answer.
#[test]
fn commands_of_old_plugins_run_where_they_are_allowed() {
    let world = World::new();
    let plugin = r#"{"name": "old", "tools": [{"name": "shout", "description": "Shouts.", "command": "sh",
        "args": ["shout.sh"], "schema": {"type": "object", "properties": {"text": {"type": "string"}}}}]}"#;
    let plugins = world.home().join(".local/share/palisade/plugins/old");
    std::fs::create_dir_all(&plugins).unwrap();
    std::fs::write(plugins.join("plugin.json"), plugin).unwrap();
    std::fs::write(plugins.join("shout.sh"), "tr a-z A-Z; cat \"$PALISADE_WORKSPACE/hello.txt\"; touch stays\n")
        .unwrap();
    world.add("hello.txt", "from the workspace");
    world.add_agent("caller", "---\nname: caller\ndescription: Calls.\ntools: [shout]\n---\n");
    let script = r#"[{"calls": [{"tool": "shout", "input": {"text": "quiet"}}]}, {"text": "called"}]"#;
    let script = world.script("script.json", script);
    let run = || world.palisade(&["run", "caller", "--model", &script, "--json", "--transcript", "go"]);

    let explained = world.palisade(&["explain", "caller"]).with_code(0).stdout;
    assert!(
        explained.contains("unavailable: it is a native command") && explained.contains("sh shout.sh:*"),
        "{explained}"
    );
    world.configure("[exec]\nallow = [\"sh shout.sh\"]\n");
    let explained = world.palisade(&["explain", "caller"]).with_code(0).stdout;
    assert!(!explained.contains("unavailable"), "{explained}");
    let transcript = run().with_code(0).json()["transcript"].to_string();
    assert!(transcript.contains("QUIET") && transcript.contains("from the workspace"), "{transcript}");
    assert!(!plugins.join("stays").exists(), "its folder is read-only");
}

/// Whether programs can be confined on this machine is seen before one is needed.
#[test]
fn doctor_tries_the_walls() {
    let world = World::new();
    let checks = world.palisade(&["doctor", "--offline", "--json"]).json();
    let check = checks["checks"].as_array().unwrap().iter().find(|check| check["name"] == "programs").unwrap();
    assert!(check["found"].as_str().unwrap().starts_with("can be confined: Landlock"), "{check}");
}
