//! Clients that nobody here wrote: PyPI `mcp` and npm `@modelcontextprotocol/inspector`. `just test` installs them;
//! where they cannot be, these tests are skipped, but not in CI.

use std::{
    env,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{peers::installed, world::World};

impl World {
    /// Starts a client in the workspace, which starts the program; gives what it printed, and its exit code.
    fn client(&self, program: &Path, arguments: &[&str]) -> (String, Option<i32>) {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(self.workspace())
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", env::var_os("PATH").unwrap())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let (printed, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
        assert!(!printed.is_empty(), "{arguments:?}: {said}");
        (printed, output.status.code())
    }
}

const PALISADE: &str = env!("CARGO_BIN_EXE_palisade");

/// Both ways of beginning a session; a call that is allowed, one that is refused, one of nothing; an agent with the
/// offline model, heard while it works; and one that is given up.
#[test]
fn the_client_in_python_lists_calls_hears_and_cancels() {
    let Some(client) = installed("mcp-2.3.0", "_mcp") else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/clients/mcp_stdio.py");
    for (mode, version) in [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")] {
        let world = World::new();
        world.add_outside("secret.txt", b"canary");
        let waits = world.script("waits.json", super::WAITS);
        let (printed, code) = world.client(&client.join("bin/python"), &[script, mode, &waits, PALISADE]);
        let report: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!((code, &report["version"]), (Some(0), &json!(version)), "{report}");
        assert_eq!((&report["tools"]["read"], &report["tools"]["agent_explore"]), (&json!(true), &json!(true)));
        assert_eq!(report["tools"]["agent_general"], false);
        assert!(report["allowed"]["text"].as_str().unwrap().contains("Carries parcels"), "{report}");
        assert_eq!(report["refused"]["error"], true, "{report}");
        assert!(!printed.contains("canary"), "{printed}");
        assert_eq!(report["unknown"], -32602, "`explore` does not write: {report}");
        assert_eq!(report["agent"]["error"], false, "{report}");
        assert!(report["agent"]["text"].as_str().unwrap().contains("harbour.rs"), "{report}");
        let counts: Vec<f64> =
            report["progress"].as_array().unwrap().iter().filter_map(|said| said[0].as_f64()).collect();
        assert!(counts.len() > 2 && counts.is_sorted_by(|one, next| one < next), "{report}");
        assert_eq!((&report["cancelled"], &report["after"]["error"]), (&json!(true), &json!(false)), "{report}");
        assert_eq!(super::endings(&world), ["cancelled", "answered"]);
    }
}

#[test]
fn the_inspector_lists_calls_and_finds_nothing_wrong_with_the_schemas() {
    let Some(folder) = installed("@modelcontextprotocol/inspector-2.12.0", "_mcp") else { return };
    let world = World::new();
    world.add_outside("secret.txt", b"canary");
    let inspector = folder.join("node_modules/.bin/mcp-inspector").display().to_string();
    let server = json!({ "command": PALISADE, "args": ["mcp"], "env": { "HOME": world.home() } });
    let config = world.add_outside("mcp.json", json!({ "mcpServers": { "palisade": server } }).to_string().as_bytes());
    let ask = |arguments: &[&str]| {
        let common = ["--cli", "--config", &config, "--server", "palisade", "--method"];
        let (printed, code) = world.client(Path::new(&inspector), &[&common[..], arguments].concat());
        let answer: Value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
        (answer, code)
    };
    let (listed, code) = ask(&["tools/list", "--strict"]);
    assert_eq!(code, Some(0), "{listed}");
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"read") && names.contains(&"agent_explore") && !names.contains(&"write"), "{names:?}");
    let (read, code) = ask(&["tools/call", "--tool-name", "read", "--tool-arg", "path=README.md"]);
    assert_eq!(code, Some(0));
    assert!(read["content"][0]["text"].as_str().unwrap().contains("Carries parcels"), "{read}");
    let (refused, _) = ask(&["tools/call", "--tool-name", "read", "--tool-arg", "path=../secret.txt"]);
    assert_eq!(refused["isError"], true, "{refused}");
    let (answer, code) =
        ask(&["tools/call", "--tool-name", "agent_explore", "--tool-arg", "task=where are parcels unloaded?"]);
    assert_eq!(code, Some(0));
    assert!(answer["content"][0]["text"].as_str().unwrap().contains("src/harbour.rs"), "{answer}");
}
