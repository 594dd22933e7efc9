//! Tools in a process of their own, as users of the binary meet them.

use serde_json::Value;

use crate::world::World;

/// What was tried and how it ended; how it was refused may say a time.
fn endings(proof: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let verdicts = proof["verdicts"].as_array().into_iter().flatten();
    verdicts.map(|verdict| (text(&verdict["attempt"]), text(&verdict["ending"]))).collect()
}

/// X6, X9. Every probe ends as it does without the second wall.
#[test]
fn no_probe_gets_out_of_an_agent_whose_tools_run_apart() {
    let world = World::empty();
    for agent in ["explore", "general"] {
        let here = world.palisade(&["prove", agent, "--json"]).with_code(0).json();
        let apart = world.palisade(&["prove", agent, "--apart", "--json"]).with_code(0).json();
        assert_eq!(apart["breaches"], 0, "{apart}");
        assert_eq!(endings(&here), endings(&apart));
        assert!(endings(&apart).len() > 40);
    }
}

#[test]
fn a_run_says_the_same_with_its_tools_apart() {
    let world = World::new();
    let task = ["run", "explore", "--quiet", "--ephemeral", "where are parcels unloaded?"];
    let here = world.palisade(&task).with_code(0).stdout;
    let apart = world.palisade(&[&task[..4], &["--apart"], &task[4..]].concat()).with_code(0).stdout;
    assert_eq!(here, apart);
    assert!(here.contains("harbour.rs"), "{here}");
}

/// The user and the operator say it; a project does not.
#[test]
fn the_configuration_switches_it_on() {
    let world = World::new();
    let says = |text: &str| {
        let report = world.palisade(&["doctor", "--offline", "--json"]).json();
        let checks = report["checks"].as_array().unwrap().clone();
        let check = checks.iter().find(|check| check["name"] == "apart").unwrap();
        assert_eq!(check["health"], "ok", "{check}");
        assert!(check["found"].as_str().unwrap().contains(text), "{check}");
    };
    says("if `[sandbox] apart` or `--apart` says so");
    world.add(".palisade/config.toml", "[sandbox]\napart = true\n");
    says("if `[sandbox] apart` or `--apart` says so");
    world.configure("[sandbox]\napart = true\n");
    says("and do");
    let read = world.palisade(&["tools", "call", "read", "--agent", "explore", "--input", r#"{"path":"README.md"}"#]);
    assert!(read.with_code(0).stdout.contains("Carries parcels"));
}
