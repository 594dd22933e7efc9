//! `palisade completions` and `palisade man`.

use crate::world::World;

#[test]
fn every_shell_gets_a_script() {
    let world = World::empty();
    for shell in ["bash", "zsh", "fish"] {
        let script = world.palisade(&["completions", shell]).with_code(0).stdout;
        assert!(script.contains("PALISADE_COMPLETE") && script.contains("palisade"), "{script}");
    }
    world.palisade(&["completions", "tcsh"]).with_code(2);
}

#[test]
fn agents_and_models_are_completed_by_name() {
    let world = World::empty();
    world.configure("[models.swift]\nmodel = \"ollama:qwen3\"\n");
    world.add_agent("scout", "---\nname: scout\ndescription: Looks.\n---\nLook.\n");
    let complete = |words: &[&str]| {
        let index = (words.len() - 1).to_string();
        let variables = [("PALISADE_COMPLETE", "bash"), ("_CLAP_COMPLETE_INDEX", &index), ("_CLAP_IFS", "\n")];
        let mut arguments = vec!["--"];
        arguments.extend(words);
        world.palisade_with(&variables, &arguments).with_code(0).stdout
    };
    let agents = complete(&["palisade", "run", "s"]);
    assert_eq!(agents.lines().collect::<Vec<_>>(), ["scout"]);
    let agents = complete(&["palisade", "mcp", "--agent", "s"]);
    assert_eq!(agents.lines().collect::<Vec<_>>(), ["scout"]);
    let models = complete(&["palisade", "run", "explore", "--model", "sw"]);
    assert_eq!(models.lines().collect::<Vec<_>>(), ["swift"]);
    let commands = complete(&["palisade", "mod"]);
    assert_eq!(commands.lines().collect::<Vec<_>>(), ["models"]);
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let world = World::empty();
    let page = world.palisade(&["man"]).with_code(0).stdout;
    assert!(page.contains(".TH palisade 1") && page.contains("palisade\\-run(1)"), "{page}");
    world.add("man/.keep", "");
    world.palisade(&["man", "man"]).with_code(0);
    for name in ["palisade.1", "palisade-run.1", "palisade-models.1", "palisade-config-show.1"] {
        assert!(world.read(&format!("man/{name}")).unwrap().contains(".TH"), "{name}");
    }
    assert_eq!(world.read("man/palisade-compile-worker.1"), None);
    world.palisade(&["man", "missing"]).with_code(1);
}
