//! What is run is what was granted, and what it finds is what was granted.

use std::collections::BTreeMap;

use palisade_grants::Access;
use palisade_sandbox::Programs;
use palisade_tests::world::World;

use super::{MACHINES, Stage, exec, failure, furnished, ran};

/// X11, CF-20
#[test]
fn only_granted_commands_run_and_a_denial_says_what_would_allow_more() {
    let stage = Stage::new();
    let world = stage.world(true, &["echo hello:*", "printf"]);
    assert!(ran(&world, "echo", &["hello", "you; rm -rf /", "$HOME", "*"]).contains("hello you; rm -rf / $HOME *"));
    for (program, arguments) in [
        ("echo", &["good", "bye"][..]),
        ("printf", &["x"]),
        ("sh", &["-c", "echo hello"]),
        ("/bin/echo", &["hello"]),
        ("./echo", &["hello"]),
        ("../outside/program", &[]),
    ] {
        let report = exec(&world, program, arguments);
        assert_eq!(report.denials.len(), 1, "{program}");
        let denial = failure(report).to_string();
        assert!(denial.contains("[exec] allow = ["), "{denial}");
    }
}

/// X11. Without `exec` the interface is not there.
#[test]
fn without_a_granted_command_the_tool_does_not_link() {
    let world = World::new();
    let (compiled, description) = world.load("exec");
    let refusal = world.empty_scope().add(&compiled, &description, "core").unwrap_err().to_string();
    assert!(refusal.contains("palisade:host/process") && refusal.contains("[exec] allow"), "{refusal}");
}

/// FS-05
#[test]
fn what_is_hidden_from_an_agent_is_hidden_from_its_programs() {
    let stage = Stage::new();
    for namespaces in MACHINES {
        let world = stage.world(namespaces, &["cat:*"]).hiding(&[".env", "*.key"]);
        world.put("folder/.env", world.canary());
        world.put("deep/er/a.key", world.canary());
        world.put("deep/er/seen", "seen");
        for path in ["folder/.env", "deep/er/a.key", "./folder/../folder/.env"] {
            let said = ran(&world, "cat", &[path]);
            assert!(said.starts_with("exit code: 1") && said.contains("denied"), "{said}");
        }
        assert!(ran(&world, "trespass", &["list-hidden"]).contains("refused: "));
        assert!(ran(&world, "cat", &["deep/er/seen"]).contains("seen"));
    }
}

#[test]
fn folders_that_are_not_granted_are_not_there() {
    let stage = Stage::new();
    for namespaces in MACHINES {
        let granted = [("folder", Access::Read), ("out", Access::ReadWrite)];
        let world = stage.world(namespaces, &["cat:*", "sh:*"]);
        world.put("out/file", "old");
        let world = world.granting(&granted);
        assert!(ran(&world, "cat", &["folder/file"]).contains("mine"));
        assert!(ran(&world, "cat", &["file"]).starts_with("exit code: 1"));
        let said = ran(&world, "sh", &["-c", "echo new > out/file; echo new > folder/file; cat out/file"]);
        assert!(said.contains("new") && world.contents("folder/file") == "mine", "{said}");
    }
}

#[test]
fn a_program_gets_the_variables_that_are_named_and_no_others() {
    let stage = Stage::new();
    let env = BTreeMap::from([("GIVEN".to_owned(), "given".to_owned()), ("PATH".to_owned(), "/nowhere".to_owned())]);
    let programs = Programs { env, ..stage.programs(true) };
    let world = furnished(World::new().running(&["trespass:*"], programs));
    let said = ran(&world, "trespass", &["environment"]);
    let names: Vec<&str> = said
        .lines()
        .filter_map(|line| line.trim_start_matches("done: ").split_once('='))
        .map(|(name, _)| name)
        .collect();
    let mut names = names;
    names.sort_unstable();
    assert_eq!(names, ["CARGO_TARGET_DIR", "GIVEN", "HOME", "LANG", "PALISADE_WORKSPACE", "PATH", "TMPDIR"], "{said}");
    assert!(said.contains("GIVEN=given") && !said.contains("PATH=/nowhere"), "{said}");
}

#[test]
fn a_program_begins_where_it_was_told_and_reads_what_it_is_given() {
    let stage = Stage::new();
    let world = stage.world(true, &["cat:*", "pwd"]);
    let scope = world.scope(&["exec"]);
    let call =
        |input: serde_json::Value| scope.call_here("exec", &input.to_string(), &palisade_sandbox::Call::new()).outcome;
    let said = call(serde_json::json!({ "program": "cat", "input": "told" })).unwrap();
    assert!(said.contains("told"), "{said}");
    let said = call(serde_json::json!({ "program": "cat", "arguments": ["file"], "directory": "folder" })).unwrap();
    assert!(said.contains("mine"), "{said}");
    for directory in ["..", "/", "missing", "planted", "folder/../../outside"] {
        let input = serde_json::json!({ "program": "pwd", "directory": directory });
        assert!(call(input).is_err(), "{directory}");
    }
}

/// With a network it has the internet, and still no doors to programs of this machine.
#[test]
fn a_network_is_all_of_it_and_no_named_sockets() {
    let stage = Stage::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("tcp={}", listener.local_addr().unwrap().port());
    for namespaces in MACHINES {
        let programs = Programs { network: true, ..stage.programs(namespaces) };
        let world = furnished(World::new().running(&["trespass:*"], programs));
        let named = std::os::unix::net::UnixListener::bind(world.outside("socket")).unwrap();
        assert!(ran(&world, "trespass", &["connect", &port]).contains("done: told"));
        let socket = format!("socket={}", world.outside("socket").display());
        assert!(ran(&world, "trespass", &["connect-named", &socket]).contains("refused: "));
        assert!(ran(&world, "trespass", &["packet"]).contains("refused: "));
        drop(named);
    }
}

/// A program that nobody can be confined with is not run: there is no way around the walls.
#[test]
fn a_worker_that_says_nothing_runs_nothing() {
    let stage = Stage::new();
    let programs = Programs { worker: "/bin/true".into(), ..stage.programs(true) };
    let world = furnished(World::new().running(&["echo:*"], programs));
    let said = failure(exec(&world, "echo", &["hello"])).to_string();
    assert!(said.contains("ended without a word"), "{said}");
    drop(world);
    let programs = Programs { worker: "/no/such/worker".into(), ..stage.programs(true) };
    let world = furnished(World::new().running(&["echo:*"], programs));
    assert!(failure(exec(&world, "echo", &["hello"])).to_string().contains("cannot be started"));
}

/// A workspace in a folder that every program may read would be open whatever was granted.
#[test]
fn a_workspace_in_a_readable_folder_is_refused() {
    let stage = Stage::new();
    let world = World::new();
    let around = world.workspace().parent().unwrap().to_owned();
    let programs = Programs { read: vec![around], ..stage.programs(true) };
    let world = furnished(world.running(&["echo:*"], programs));
    let said = failure(exec(&world, "echo", &["hello"])).to_string();
    assert!(said.contains("which every program may read"), "{said}");
}
