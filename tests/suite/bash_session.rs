//! What one call of `bash` leaves for the next, and what bounds a call.

use std::time::Duration;

use palisade_grants::Access;
use palisade_sandbox::Failure;
use palisade_tests::{
    shell::{Ran, Shell, call, take_apart},
    world::World,
};

fn ran(code: i32, stdout: &str) -> Ran {
    Ran { code, stdout: stdout.to_owned(), stderr: String::new() }
}

/// X11
#[test]
fn the_next_call_begins_where_the_last_one_ended() {
    let world = World::new();
    let shell = Shell::load(&world);
    let scope = shell.scope(&world);
    let run = |script: &str| take_apart(script, &call(&scope, script));
    assert_eq!(run("pwd; x=1; cd folder; ls"), ran(0, "/workspace\nfile\n"));
    assert_eq!(run("pwd; echo [$x]"), ran(0, "/workspace/folder\n[]\n"), "variables do not last");
    assert_eq!(run("(cd /workspace); pwd"), ran(0, "/workspace/folder\n"), "a subshell is somewhere else");
    assert_eq!(run("cd /tmp; pwd"), ran(0, "/tmp\n"));
    assert_eq!(run("pwd"), ran(0, "/workspace/folder\n"), "only the workspace lasts");
    assert_eq!(run("rm -r /workspace/folder"), ran(0, ""));
    let gone = run("pwd; ls /workspace");
    assert_eq!((gone.code, gone.stdout.as_str()), (0, "/workspace\nfile\n"));
    assert_eq!(shell.run(&world, "pwd"), ran(0, "/workspace\n"), "another agent begins at the top");
}

/// X6, CF-20
#[test]
fn a_refusal_is_said_in_the_usual_words() {
    let world = World::new().reading();
    let shell = Shell::load(&world);
    for script in
        ["echo x > new", "rm file", "mkdir d", "mv file g", "touch file", "sed -i s/m/M/ file", "ln -s file l"]
    {
        let ran = shell.run(&world, script);
        assert_ne!(ran.code, 0, "{script}: {ran:?}");
        let usual = ["Permission denied", "Operation not permitted", "Read-only file system"];
        assert!(usual.iter().any(|words| ran.stderr.contains(words)), "{script}: {ran:?}");
    }
    // `-f` is about what is not there, not about what may not be removed; the script goes on.
    for (script, said) in [
        ("rm -rf file", "rm: cannot remove 'file': "),
        ("rm -rf folder", "rm: cannot remove 'folder/file': "),
        ("gzip file", "gzip: "),
        ("split file", "split: "),
        ("tar cf all.tar file", "tar: "),
        ("truncate -s 1 file", "truncate: "),
        ("sha256sum nothing", "sha256sum: nothing: No such file or directory\n"),
    ] {
        let ran = shell.run(&world, &format!("{script}; echo $?"));
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "1\n"), "{script}: {ran:?}");
        assert!(ran.stderr.starts_with(said) && !ran.stderr.contains("io error"), "{script}: {ran:?}");
    }
    assert_eq!(shell.run(&world, "cat file; ls"), ran(0, "minefile\nfolder\n"));
    assert!(shell.run(&world, "cat nothing").stderr.contains("No such file or directory"));
    assert!(!shell.call(&world, "echo x > new").denials.is_empty(), "what was refused is recorded");
}

/// A folder that is not granted is not there.
#[test]
fn only_granted_folders_can_be_entered() {
    let world = World::new().granting(&[("folder", Access::Read)]);
    let shell = Shell::load(&world);
    assert_eq!(shell.run(&world, "cat folder/file"), ran(0, "mine"));
    assert_ne!(shell.run(&world, "cat file").code, 0);
}

#[test]
fn scratch_is_there_for_whoever_may_write() {
    let world = World::new();
    let shell = Shell::load(&world);
    assert_eq!(shell.run(&world, "echo x > /tmp/a; mv /tmp/a b; cat b; ls /tmp").stdout, "x\n");
    let world = world.neighbour().reading();
    assert_ne!(shell.run(&world, "echo x > /tmp/a").code, 0);
    world.put("tmp/mine", "mine");
    assert_eq!(shell.run(&world, "ls tmp; ls -d /tmp").stdout, "mine\n", "there is none, whatever the workspace has");
}

/// F6. A script can be made and run; whether it can be run is all there is to a mode.
#[test]
fn a_file_can_be_made_executable_where_it_may_be_written() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let shell = Shell::load(&world);
    let script =
        "printf '#!/bin/bash\\necho ran $1\\n' > run.sh; chmod +x run.sh; ./run.sh it; [ -x run.sh ] && echo yes";
    assert_eq!(shell.run(&world, script), ran(0, "ran it\nyes\n"));
    let mode = |path: &str| std::fs::metadata(world.inside(path)).unwrap().permissions().mode();
    assert_eq!(mode("run.sh") & 0o111, (mode("run.sh") & 0o444) >> 2);
    shell.run(&world, "chmod -x run.sh; chmod 4755 file");
    assert_eq!(mode("run.sh") & 0o111, 0);
    assert_eq!(mode("file") & 0o7000, 0, "a program is never given its owner's rights");
}

/// RES-07. What is printed is bounded while it is printed.
#[test]
fn the_head_of_a_flood_is_kept_and_the_rest_counted() {
    let world = World::new();
    let shell = Shell::load(&world);
    let report = shell.call(&world, "seq 1 1000000; echo late >&2");
    let text = report.outcome.clone().unwrap();
    assert!(text.starts_with("exit code 0\nstderr (5 bytes):\nlate\nstdout (the first "), "{}", &text[..80]);
    assert!(text.contains(" of 6888896 bytes):\n1\n2\n3\n"));
    assert!(text.len() < 400_000);
}

/// RES-01. The sandbox ends what does not end; a time that was asked for ends it sooner.
#[test]
fn a_script_that_does_not_end_is_ended() {
    let world = World::new().in_a_hurry();
    let shell = Shell::load(&world);
    for script in ["while :; do :; done", "yes > /dev/null", "sleep 1000", ":(){ :|:& };:"] {
        let report = shell.call(&world, script);
        let limit = Duration::from_millis(200);
        let ended = matches!(&report.outcome, Err(Failure::OutOfTime { limit: ended }) if *ended == limit);
        assert!(ended || report.outcome.is_ok() && script.starts_with(':'), "{script}: {:?}", report.outcome);
    }
    world.works_afterwards();
}

/// RES-02. Memory is the sandbox's business, and so is what is written.
#[test]
fn a_script_that_takes_too_much_is_stopped() {
    let world = World::new().limits(|limits| {
        limits.memory = 64 << 20;
        limits.written = 1 << 20;
    });
    let shell = Shell::load(&world);
    // The interpreter may notice itself that there is no more.
    let report = shell.call(&world, "x=x; while :; do x=$x$x; done");
    assert!(!matches!(&report.outcome, Ok(text) if text.starts_with("exit code 0")), "{:?}", report.outcome);
    let report = shell.call(&world, "seq 1 1000000 > big");
    assert!(report.cost.written <= 1 << 20);
    assert!(std::fs::metadata(world.inside("big")).unwrap().len() <= 1 << 20);
    world.works_afterwards();
}

/// Deep nesting ends a call, never the host.
#[test]
fn nesting_without_end_is_survived() {
    let world = World::new();
    let shell = Shell::load(&world);
    for script in [
        "f() { f; }; f",
        "f() { x=$(f); }; f",
        &format!("echo {}", "$(echo ".repeat(2000)),
        &format!("{}true{}", "(".repeat(3000), ")".repeat(3000)),
        &format!("echo $(({}1{}))", "(".repeat(5000), ")".repeat(5000)),
        &"if true; then ".repeat(3000),
    ] {
        drop(shell.call(&world, script).outcome);
        world.works_afterwards();
    }
}
