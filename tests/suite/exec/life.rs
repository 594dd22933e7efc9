//! How long programs live and what they use up.

use std::{
    os::fd::AsFd as _,
    thread,
    time::{Duration, Instant},
};

use palisade_sandbox::{Call, Failure};
use palisade_tests::world::{Baseline, World};
use serde_json::json;

use super::{MACHINES, Stage, exec, failure, is_alive, ran};

fn mark(what: &str, namespaces: bool) -> String {
    format!("palisade-{what}-{namespaces}-{}", std::process::id())
}

/// RES-08. A process that forked twice, made sessions of its own and closed everything is ended with the program.
#[test]
fn nobody_stays_behind_when_the_program_ends() {
    let stage = Stage::new();
    for namespaces in MACHINES {
        let world = stage.world(namespaces, &[]);
        let mark = mark("stays", namespaces);
        let said = ran(&world, "trespass", &["stay", &format!("mark={mark}")]);
        assert!(said.contains("done: stays"), "{said}");
        assert!(!is_alive(&mark), "a process was left behind");
    }
}

#[test]
fn nobody_stays_behind_when_time_is_up_or_the_call_is_cancelled() {
    let stage = Stage::new();
    for namespaces in MACHINES {
        let mark = mark("late", namespaces);
        let script = format!("trespass stay mark={mark}; trespass sleep mark={mark}");
        let world = stage.world(namespaces, &["sh:*"]).limits(|limits| limits.call_time = Duration::from_millis(1500));
        let started = Instant::now();
        let late = failure(exec(&world, "sh", &["-c", &script]));
        // Whichever notices first: whoever waits for the program, or the clock of the sandbox.
        let late = late.to_string();
        assert!(late.contains("took too long") || late.contains("ran out of time"), "{late}");
        assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
        assert!(!is_alive(&mark));

        drop(world);
        let world = stage.world(namespaces, &["sh:*"]);
        let scope = world.scope(&["exec"]);
        let call = Call::new();
        let input = json!({ "program": "sh", "arguments": ["-c", script] }).to_string();
        let report = thread::scope(|threads| {
            let running = threads.spawn(|| scope.call_here("exec", &input, &call));
            thread::sleep(Duration::from_millis(700));
            call.cancel();
            running.join().unwrap()
        });
        assert_eq!(failure(report), Failure::Cancelled);
        assert!(!is_alive(&mark));
    }
}

/// RES-08. Processes that end as soon as they have started the next are caught, too.
#[test]
fn comets_are_caught() {
    let stage = Stage::new();
    for namespaces in MACHINES {
        let world = stage.world(namespaces, &[]);
        let mark = mark("comets", namespaces);
        let said = ran(&world, "trespass", &["comets", &format!("mark={mark}")]);
        assert!(said.starts_with("exit code: 0"), "{said}");
        assert!(!is_alive(&mark));
    }
}

/// RES-01, RES-08
#[test]
fn processes_and_memory_are_limited() {
    let stage = Stage::new();
    for namespaces in MACHINES {
        let world = stage.world(namespaces, &[]);
        let said = ran(&world, "trespass", &["memory-bomb"]);
        assert!(said.contains("refused: "), "{said}");
        // As root, only a tree of its own has a limit of processes, and only it is watched as a whole.
        if namespaces {
            let said = ran(&world, "trespass", &["fork-bomb"]);
            assert!(said.contains("refused: "), "{said}");
            let many = failure(exec(&world, "trespass", &["memory-bomb-of-many"]));
            assert!(many.to_string().contains("more than 512 MiB"), "{many}");
        }
    }
}

/// RES-06
#[test]
fn output_is_bounded_while_it_is_printed() {
    let stage = Stage::new();
    let world = stage.world(true, &["head:*"]).limits(|limits| limits.output = 8 << 10);
    let said = ran(&world, "head", &["-c", "10000000", "/dev/zero"]);
    assert!(said.len() < 8 << 10 && said.contains("(9998976 more bytes were printed and not kept)"), "{}", said.len());
    drop(world);
    let world = stage.world(true, &[]).limits(|limits| limits.call_time = Duration::from_secs(2));
    let before = Baseline::now();
    assert!(failure(exec(&world, "trespass", &["flood"])).to_string().contains("took too long"));
    before.returns(64 << 20);
}

/// API-05. A descriptor that the host forgot to protect does not reach the program.
#[test]
fn no_descriptor_is_inherited() {
    let stage = Stage::new();
    for namespaces in MACHINES {
        let world = stage.world(namespaces, &[]);
        let leak = std::fs::File::open(world.outside("secret.txt")).unwrap();
        rustix::io::fcntl_setfd(leak.as_fd(), rustix::io::FdFlags::empty()).unwrap();
        let control = std::process::Command::new(env!("CARGO_BIN_EXE_trespass-for-tests")).arg("descriptors").output();
        assert!(control.unwrap().status.success(), "the control inherits it");
        assert!(ran(&world, "trespass", &["descriptors"]).contains("refused: "));
    }
}

#[test]
fn a_program_has_no_privileges_and_cannot_get_any() {
    let stage = Stage::new();
    for namespaces in MACHINES {
        let said = ran(&stage.world(namespaces, &[]), "trespass", &["status"]);
        for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000"] {
            assert!(said.contains(line), "{line}: {said}");
        }
    }
}

#[test]
fn a_scratch_folder_is_there_and_gone_afterwards() {
    let stage = Stage::new();
    for namespaces in MACHINES {
        let world: World = stage.world(namespaces, &["sh:*"]).reading();
        assert!(ran(&world, "trespass", &["work-in-scratch"]).contains("done: text"));
        let script = "mkdir -p $HOME/a/b; echo x > $HOME/a/b/c; chmod 000 $HOME/a/b $HOME/a; echo $HOME";
        let said = ran(&world, "sh", &["-c", script]);
        let home = said.lines().find(|line| line.starts_with('/')).unwrap();
        assert!(!std::path::Path::new(home).parent().unwrap().exists(), "{home} is left");
    }
}
