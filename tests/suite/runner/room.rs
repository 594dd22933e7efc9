//! Inside of the room there is nothing to find. A program that tries a hundred things is put behind the walls of the
//! process that guests run in; what it could do without them is shown with the walls around native programs.

use std::{
    fs,
    process::{Command, Stdio},
};

use palisade_sandbox::Call;
use palisade_tests::world::World;

use crate::exec::{Others, attempts, furnished};

/// What an attempt came to behind the walls.
fn tried(world: &World, others: &Others, writes: bool, attempt: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trespass-for-tests"));
    command.arg(format!("--room={}", world.workspace().display()));
    if writes {
        command.arg("--writing");
    }
    command.arg(attempt).args(others.told()).current_dir("/").env_clear().env("TMPDIR", world.outside("empty"));
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// X6, TOOL-08. Over a hundred attempts, in a room for reading and in one for writing.
#[test]
fn who_breaks_out_of_a_guest_sees_and_changes_nothing_outside() {
    for writes in [false, true] {
        let world = furnished(World::new());
        let mut others = Others::beside(&world);
        // Remembers what is outside.
        world.empty_scope();
        let inside = world.tree();
        let mut refused = 0;
        for attempt in attempts().filter(|attempt| !ELSEWHERE.contains(attempt)) {
            let said = tried(&world, &others, writes, attempt);
            assert!(!said.contains("wrong: "), "{attempt}: {said}");
            assert!(!said.contains("done: "), "{attempt} was done: {said}");
            assert!(!said.contains(world.canary()), "{attempt} saw what is outside: {said}");
            others.untouched(attempt);
            world.outside_unchanged();
            assert_eq!(inside, world.tree(), "{attempt} changed the workspace");
            refused += 1;
        }
        assert!(refused > 90, "{refused}");
    }
}

/// WebAssembly needs files that are memory alone, which nobody can execute here; and which descriptors there are is
/// looked at below, in the process itself.
const ELSEWHERE: [&str; 2] = ["memory-file", "descriptors"];

/// The process itself: no environment, no privileges, no descriptor of the host but its socket.
#[test]
fn the_process_has_nothing_of_the_hosts() {
    let world = World::apart();
    // Open here, and not to be closed when a program is started.
    let secret =
        rustix::fs::open(world.outside("secret.txt"), rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).unwrap();
    let scope = world.scope(&["echo"]);
    scope.call_here("echo", r#"{"text":"x"}"#, &Call::new()).outcome.unwrap();
    let [process] = world.engine().runners()[..] else { panic!("one process") };
    let of = |file: &str| fs::read_to_string(format!("/proc/{process}/{file}")).unwrap();
    assert_eq!(of("environ"), "");
    let status = of("status");
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000"] {
        assert!(status.contains(line), "{line}: {status}");
    }
    let limits = of("limits");
    assert!(limits.lines().any(|line| line.starts_with("Max core file size") && line.contains(" 0 ")), "{limits}");
    let workspace = world.workspace().canonicalize().unwrap();
    for entry in fs::read_dir(format!("/proc/{process}/fd")).unwrap() {
        let target = fs::read_link(entry.unwrap().path()).unwrap();
        let text = target.display().to_string();
        let is_own = ["socket:", "anon_inode:", "/dev/null", "/memfd:"].iter().any(|kind| text.starts_with(kind))
            || text.ends_with("/pagemap");
        assert!(is_own || target == workspace, "{text}");
    }
    drop(secret);
}
