//! Native programs behind their walls: what tries to break out, what must work, what is left afterwards.
//!
//! Everything is tried with namespaces and without, because not every machine has them.

mod attempts;
mod grants;
mod life;

pub(crate) use attempts::{Others, attempts};

use std::{path::Path, time::Duration};

use palisade_sandbox::{Call, Failure, Programs, Report};
use palisade_tests::world::World;
use serde_json::json;

/// The hostile program, in a folder of its own, and the walls it is run behind.
struct Stage {
    tools: tempfile::TempDir,
}

/// Both kinds of machine.
const MACHINES: [bool; 2] = [true, false];

impl Stage {
    fn new() -> Self {
        let tools = tempfile::tempdir().unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_trespass-for-tests"), tools.path().join("trespass")).unwrap();
        Self { tools }
    }

    fn programs(&self, namespaces: bool) -> Programs {
        let worker = env!("CARGO_BIN_EXE_confine-worker-for-tests");
        let time = Duration::from_secs(15);
        let path = vec![self.tools.path().canonicalize().unwrap()];
        Programs { path, time, memory: 512 << 20, namespaces, ..Programs::standard(worker.into()) }
    }

    /// A world in which the hostile program, and what else is named, may be run.
    fn world(&self, namespaces: bool, more: &[&str]) -> World {
        let commands = [&["trespass:*"], more].concat();
        furnished(World::new().running(&commands, self.programs(namespaces)))
    }
}

/// What a repository has, and what lies outside of it.
pub(crate) fn furnished(world: World) -> World {
    world.put(".git/hooks/pre-commit", "exit 0");
    world.put(".git/config", "[core]");
    world.link("planted", "../outside/secret.txt");
    world.put_outside("program", &format!("#!/bin/sh\necho {}\n", world.canary()));
    let program = world.outside("program");
    std::fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::create_dir(world.outside("empty")).unwrap();
    world
}

/// Runs a program by the tool `exec`.
fn exec(world: &World, program: &str, arguments: &[&str]) -> Report {
    let input = json!({ "program": program, "arguments": arguments }).to_string();
    let report = world.scope(&["exec"]).call_here("exec", &input, &Call::new());
    let told = format!("{:?} {:?}", report.outcome, report.denials);
    assert!(!told.contains(world.canary()), "{program} {arguments:?} saw what is outside: {told}");
    world.outside_unchanged();
    report
}

/// What the tool says of a program that was run.
fn ran(world: &World, program: &str, arguments: &[&str]) -> String {
    exec(world, program, arguments).outcome.unwrap_or_else(|failure| panic!("{program} {arguments:?}: {failure}"))
}

fn failure(report: Report) -> Failure {
    report.outcome.unwrap_err()
}

/// Whether a process with a word among its arguments is there.
fn is_alive(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let says = |path: &Path| {
        std::fs::read(path.join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(word))
    };
    processes.map(|entry| entry.path()).any(|path| says(&path))
}
