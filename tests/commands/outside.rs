//! Agents outside of the sandbox as `palisade run` meets them. A small program plays `claude`.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its stage has failed")]

use std::path::Path;

use crate::world::World;

const FREE: &str = "---\nname: free\ndescription: Does what it likes.\n---\nBe brief.\n";

/// A configuration that lets `claude-cli` run, played by a program of the tests.
fn allowing() -> String {
    let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/fakes/claude");
    format!(
        "[outside]\nallow = [\"claude-cli\"]\n[outside.claude-cli]\ncommand = \"{}\"\nenv = [\"ITS_KEY\"]\n",
        fake.canonicalize().unwrap().display()
    )
}

/// O3, O4, O6
#[test]
fn a_program_that_is_allowed_answers_and_its_calls_are_counted() {
    let world = World::new();
    world.configure(&allowing());
    world.add_agent("free", FREE);
    let ended = world.palisade(&["run", "free", "--model", "claude-cli:sonnet", "--json", "tools"]).with_code(0);
    assert!(ended.stderr.contains("outside of the sandbox, with your rights"), "{}", ended.stderr);
    let answer = ended.json();
    assert_eq!((&answer["answer"], &answer["calls"]), (&"It says hello.".into(), &2.into()));
    assert_eq!(answer["usage"]["cost_micros"], 450);
    let ended = world.palisade(&["run", "free", "--model", "claude-cli:sonnet", "-q", "arguments"]).with_code(0);
    assert!(ended.stdout.contains("--model sonnet") && ended.stdout.contains("Be brief."), "{}", ended.stdout);
    // It has tools of its own and is told of no others.
    assert!(!ended.stdout.to_lowercase().contains("grep"), "{}", ended.stdout);
}

/// O3
#[test]
fn a_program_that_nobody_allowed_does_not_run() {
    let world = World::new();
    world.add_agent("free", FREE);
    let ended = world.palisade(&["run", "free", "--model", "claude-cli", "hello"]);
    assert_ne!(ended.code, 0);
    assert!(ended.stderr.contains("allow = [\"claude-cli\"]"), "{}", ended.stderr);
    // A project cannot allow it.
    world.add(".palisade/config.toml", allowing());
    let ended = world.palisade(&["run", "free", "--model", "claude-cli", "hello"]);
    assert_ne!(ended.code, 0);
    assert!(!ended.stdout.contains("Hi there."), "{}", ended.stdout);
}

/// O3, X12: allowed is what its user asks for, not what a repository asks for.
#[test]
fn a_repository_does_not_have_a_program_started_that_is_allowed() {
    let world = World::new();
    world.configure(&allowing());
    world.add_agent("free", FREE);
    world.add(".palisade/config.toml", "model = \"claude-cli\"\n");
    let ended = world.palisade(&["run", "free", "hello"]).with_code(0);
    assert!(ended.stderr.contains("the project wants `claude-cli`"), "{}", ended.stderr);
    assert!(ended.stderr.contains("offline") && !ended.stdout.contains("Hi there."), "{}", ended.stdout);
}

#[test]
fn an_agent_that_is_restricted_does_not_run_outside() {
    let world = World::new();
    world.configure(&allowing());
    let ended = world.palisade(&["run", "explore", "--model", "claude-cli", "hello"]).with_code(1);
    assert!(ended.stderr.contains("`explore` cannot run as claude-cli"), "{}", ended.stderr);
}

#[test]
fn a_program_gets_only_the_variables_that_are_listed() {
    let world = World::new();
    world.configure(&allowing());
    world.add_agent("free", FREE);
    let variables = [("ITS_KEY", "short"), ("OPENAI_API_KEY", "sk-canary-1234"), ("npm_config_x", "canary")];
    let ended =
        world.palisade_with(&variables, &["run", "free", "--model", "claude-cli", "-q", "environment"]).with_code(0);
    assert!(ended.stdout.contains("ITS_KEY=short") && ended.stdout.contains("HOME="), "{}", ended.stdout);
    for absent in ["canary", "PALISADE", "OPENAI"] {
        assert!(!ended.stdout.contains(absent), "{}", ended.stdout);
    }
}

/// O5
#[test]
fn an_agent_elsewhere_needs_to_be_allowed() {
    let world = World::new();
    let external = "---\nname: far\ndescription: Elsewhere.\ntype: external\nexternal: { inputUrl: \
                    \"http://127.0.0.1:1/\", callbackBaseUrl: \"http://127.0.0.1:0\" }\n---\n";
    world.add_agent("far", external);
    let ended = world.palisade(&["run", "far", "hello"]).with_code(1);
    assert!(ended.stderr.contains("allow = [\"external\"]"), "{}", ended.stderr);
    world.configure("[outside]\nallow = [\"external\"]\n");
    let ended = world.palisade(&["run", "far", "hello"]);
    assert_ne!(ended.code, 0);
    assert!(ended.stderr.contains("external: the message could not be sent"), "{}", ended.stderr);
}

#[test]
fn a_run_is_recorded_and_replayed() {
    let world = World::new();
    let script = world.add_outside("script.json", br#"[{"calls": [{"tool": "ls"}]}, {"text": "two files"}]"#);
    let record = world.workspace().with_file_name("record.jsonl").display().to_string();
    let run = |model: &str, more: &[&str]| {
        let model = format!("scripted:{model}");
        let arguments = [&["run", "explore", "--model", &model, "--json", "--transcript"], more, &["look"]].concat();
        world.palisade(&arguments).with_code(0).json()["transcript"].clone()
    };
    let first = run(&script, &["--record", &record]);
    let mut second = run(&record, &[]);
    assert_eq!(first.as_array().unwrap().len(), 4);
    // How long a call took is no part of what is replayed.
    second[2]["result"]["cost"] = first[2]["result"]["cost"].clone();
    assert_eq!(second, first);
}
