//! What is taken back from a run that goes on.

use crate::{running::Running, world::World};

/// Writes twice, with so much time between that somebody can decide otherwise, then reads.
fn writes_twice(before: &str, after: &str) -> String {
    let write = |name: &str| format!(r#"{{"tool": "write", "input": {{"path": "{name}", "content": "x"}}}}"#);
    format!(
        r#"[{before}
            {{"calls": [{}]}},
            {{"wait": 4000, "calls": [{}, {{"tool": "read", "input": {{"path": "README.md"}}}}]}},
            {{"text": "I tried."}}{after}]"#,
        write("first.txt"),
        write("second.txt")
    )
}

const ASKS: &str = r#"{"calls": [{"tool": "task", "input": {"agent": "worker", "prompt": "write"}}]},"#;
const AND_ITSELF: &str = r#", {"calls": [{"tool": "read", "input": {"path": "README.md"}}]}, {"text": "done"}"#;
const WORKER: &str = "---\nname: worker\ndescription: Writes.\ntools: [Read, Write]\n---\n";

/// Runs an agent, decides something when the first file is written, and gives what was said and done.
fn run(world: &World, agent: &str, script: &str, decide: impl FnOnce(&World)) -> String {
    world.add("README.md", "Read me.");
    let model = world.script("slow.json", script);
    let arguments = ["run", agent, "go", "--model", &model, "--json", "--transcript"];
    let mut running = Running::start(world, &arguments, "");
    running.wait_for_line("path=first.txt");
    decide(world);
    let said = running.stdout();
    assert_eq!(running.code(), Some(0), "{said}");
    assert_eq!(world.read("first.txt").as_deref(), Some("x"), "{said}");
    said
}

/// DEL-11. Trust that is withdrawn is gone for the agent at work and for all below it.
#[test]
fn an_agent_that_is_no_longer_trusted_does_nothing_more_and_neither_do_those_it_asked() {
    let world = World::new();
    let grants = "grants: { files: { \".\": read-write }, agents: [worker] }";
    let text = format!("---\nname: chief\ndescription: Asks.\ntools: [Read, Task]\n{grants}\n---\n");
    world.add(".palisade/agents/chief.md", text);
    world.add_agent("worker", WORKER);
    world.palisade(&["agents", "trust", "chief"]).with_code(0);
    let script = writes_twice(ASKS, AND_ITSELF);
    let said = run(&world, "chief", &script, |world| {
        world.palisade(&["agents", "untrust", "chief"]).with_code(0);
    });
    assert_eq!(world.read("second.txt"), None, "{said}");
    assert!(said.contains(".palisade/agents/chief.md is not trusted any more"), "{said}");
    assert!(!said.contains("Read me."), "{said}");
}

/// The user's configuration with this ceiling for files.
fn ceiling(world: &World, access: &str) {
    let text = format!(r#"{{ "ceiling": {{ "files": {{ ".": "{access}" }}, "agents": ["*"] }} }}"#);
    world.add_at_home(".config/palisade/config.json", &text);
}

/// DEL-11. A ceiling that is lowered binds from the next call on; what it leaves is left.
#[test]
fn a_lowered_ceiling_binds_the_next_call() {
    let world = World::new();
    world.add_agent("worker", WORKER);
    ceiling(&world, "read-write");
    let said = run(&world, "worker", &writes_twice("", ""), |world| ceiling(world, "read"));
    assert_eq!(world.read("second.txt"), None, "{said}");
    assert!(said.contains("Read me."), "{said}");
}

/// CFG-12, DEL-11. A run keeps what it began with: neither a wider ceiling nor a wider definition gives it more.
#[test]
fn nothing_that_changes_gives_a_run_more_than_it_began_with() {
    let world = World::new();
    world.add_agent("worker", "---\nname: worker\ndescription: Writes.\ntools: [Read, Write]\ngrants: { files: { \".\": read, notes: read-write } }\n---\n");
    world.add("notes/a.txt", "a");
    ceiling(&world, "read-write");
    let script = writes_twice("", "").replace("first.txt", "notes/first.txt");
    world.add("README.md", "Read me.");
    let model = world.script("slow.json", &script);
    let mut running = Running::start(&world, &["run", "worker", "go", "--model", &model, "--json"], "");
    running.wait_for_line("path=notes/first.txt");
    world.add_agent("worker", WORKER);
    world.add_at_home(".config/palisade/config.json", "{}");
    let said = running.stdout();
    assert_eq!(running.code(), Some(0), "{said}");
    assert_eq!((world.read("notes/first.txt").as_deref(), world.read("second.txt")), (Some("x"), None), "{said}");
}
