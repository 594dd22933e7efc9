//! Agents outside of the sandbox as `palisade run` meets them. A small program plays `claude`.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot set its stage has failed; looks which processes are left"
)]

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use crate::{running::Running, world::World};

const FREE: &str = "---\nname: free\ndescription: Does what it likes.\n---\nBe brief.\n";

/// A configuration that lets `claude-cli` run, played by a program of the tests.
fn allowing() -> String {
    let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/fakes/claude");
    format!(
        "[outside]\nallow = [\"claude-cli\"]\n[outside.claude-cli]\ncommand = \"{}\"\nenv = [\"ITS_KEY\"]\n",
        fake.canonicalize().unwrap().display()
    )
}

/// An agent that is such a program, and one that asks it.
fn asking(grants: &str) -> World {
    let world = World::new();
    world.configure(&allowing());
    world.add_agent("coder", "---\nname: coder\ndescription: A program.\nchat: { provider: claude-cli }\n---\n");
    let asker = format!("---\nname: asker\ndescription: Asks.\ntools: [Read, Task, agents_message]\n{grants}---\n");
    world.add_agent("asker", &asker);
    world
}

const GRANTED: &str = "grants: { agents: [\"*\"], outside: [claude-cli] }\n";

/// Runs the one that asks, and gives what was said.
fn asked(world: &World, replies: &str) -> String {
    let model = world.script("asks.json", replies);
    world.palisade(&["run", "asker", "--model", &model, "--json", "--transcript", "go"]).with_code(0).stdout
}

const ASKS: &str = r#"[{"calls": [
        {"id": "1", "tool": "task", "input": {"agent": "coder", "prompt": "hello"}},
        {"id": "2", "tool": "agents_message", "input": {"agentId": "coder", "content": "tools", "session": "create"}}
    ]}, {"text": "done"}]"#;

/// J15
#[test]
fn an_agent_that_was_granted_a_program_asks_it() {
    let world = asking(GRANTED);
    let said = asked(&world, ASKS);
    assert!(said.contains("Hi there.") && said.contains("It says hello."), "{said}");
    assert!(said.contains("it runs as `claude-cli`, outside of the sandbox"), "{said}");
    // A person goes on with what it began, with the same program.
    let ended = world.palisade(&["run", "coder", "--continue", "-q", "arguments"]).with_code(0);
    assert!(ended.stdout.contains("--resume"), "{}", ended.stdout);
}

/// J15, CF-31. Nothing holds such a program to what the one that asks may do.
#[test]
fn an_agent_that_was_not_granted_a_program_does_not_reach_it_through_others() {
    let all = "grants: { agents: [\"*\"], files: { \".\": read-write } }\n";
    for grants in ["", all, "grants: { agents: [\"*\"], outside: [pi-cli] }\n"] {
        let said = asked(&asking(grants), ASKS);
        assert!(said.contains("nothing holds it to what `asker`, which asks, may do"), "{said}");
        assert!(!said.contains("Hi there.") && !said.contains("It says hello."), "{said}");
    }
    // Neither the one below one that was not granted it, nor the one above.
    let through = r#"[{"calls": [{"tool": "task", "input": {"agent": "middle", "prompt": "have it done"}}]},
        {"calls": [{"tool": "agents_message", "input": {"agentId": "coder", "content": "hello"}}]},
        {"text": "no"}, {"text": "done"}]"#;
    for (above, between, reached) in [(GRANTED, "", false), (all, GRANTED, false), (GRANTED, GRANTED, true)] {
        let world = asking(above);
        let middle = format!("---\nname: middle\ndescription: Asks, too.\ntools: [agents_message]\n{between}---\n");
        world.add_agent("middle", &middle);
        let model = world.script("through.json", through);
        let ended = world.palisade(&["run", "asker", "--model", &model, "go"]).with_code(0);
        let refused = ended.stderr.contains("`claude-cli` runs outside of the sandbox");
        assert_eq!((ended.stderr.contains("coder answered"), refused), (reached, !reached), "{}", ended.stderr);
    }
}

/// J15, CF-27
#[test]
fn a_program_that_was_asked_ends_with_the_one_that_asked() {
    let world = asking(GRANTED);
    let replies = r#"[{"calls": [{"tool": "agents_message", "input": {"agentId": "coder", "content": "hangs"}}]}, {"text": "done"}]"#;
    let model = world.script("hangs.json", replies);
    let mut running = Running::start(&world, &["run", "asker", "--model", &model, "go"], "");
    let started = || world.read("started").filter(|text| text.ends_with('\n'));
    let since = Instant::now();
    while started().is_none() {
        assert!(since.elapsed() < Duration::from_secs(30), "it was not started");
        thread::sleep(Duration::from_millis(10));
    }
    running.interrupt();
    running.code();
    let processes = started().unwrap();
    for process in processes.split_whitespace() {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        assert!(status.is_empty() || status.contains("Z (zombie)"), "{process} is left: {status}");
    }
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
