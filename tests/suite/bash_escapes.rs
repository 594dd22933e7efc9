//! Scripts that try to leave, against an agent that may read and one that may write.

use palisade_tests::{shell::Shell, world::World};

use crate::bash::paragraphs;

const ESCAPES: &str = include_str!("../cases/bash/escapes.txt");

/// A world with ways out planted in it.
fn world() -> World {
    let world = World::new();
    world.link("link-out", "../outside/secret.txt");
    world.link("dir-out", "../outside");
    world.link("chain-out", "link-out");
    world.link("absolute-out", world.outside("secret.txt"));
    world.put(".git/config", "[core]");
    world.put(".git/hooks/sample", "#!/bin/sh");
    world.put(".claude/settings.json", "{}");
    world
}

/// Everything that an agent writes could be read by somebody else later.
fn has_canary(world: &World) -> bool {
    world.tree().values().any(|what| what.contains(&format!("{:?}", world.canary().as_bytes())[1..]))
}

fn scripts(world: &World) -> Vec<String> {
    let outside = world.outside("");
    let outside = outside.to_str().unwrap().trim_end_matches('/');
    let scripts: Vec<String> = paragraphs(ESCAPES).map(|script| script.replace("{outside}", outside)).collect();
    assert!(scripts.len() >= 80, "{}", scripts.len());
    scripts
}

/// FS-01, TOOL-08, DF-13, X6. Nothing outside is read or changed, and nothing inside is changed.
#[test]
fn a_script_of_a_read_only_agent_changes_nothing_and_sees_nothing_outside() {
    let world = world().reading();
    let shell = Shell::load(&world);
    let before = world.tree();
    for script in scripts(&world) {
        let report = shell.call(&world, &script);
        let text = format!("{:?}", report);
        assert!(!text.contains(world.canary()), "{script}: {text}");
        assert_eq!(world.tree(), before, "{script}");
        assert_eq!(report.cost.written, 0, "{script}");
        world.outside_unchanged();
    }
    world.works_afterwards();
}

/// FS-01, TOOL-08, DF-13. Nothing outside is read or changed; what is protected inside stays.
#[test]
fn a_script_of_a_writing_agent_stays_in_the_workspace() {
    let first = world();
    let shell = Shell::load(&first);
    for number in 0..scripts(&first).len() {
        let world = first.neighbour();
        world.link("link-out", "../outside/secret.txt");
        world.link("dir-out", "../outside");
        world.link("chain-out", "link-out");
        world.link("absolute-out", world.outside("secret.txt"));
        world.put(".git/config", "[core]");
        world.put(".git/hooks/sample", "#!/bin/sh");
        world.put(".claude/settings.json", "{}");
        let protected = |world: &World| {
            let names = [".git/", ".claude/", ".palisade/"];
            let inside = world.tree().into_iter().filter(|(path, _)| {
                let path = path.strip_prefix(world.workspace()).unwrap().to_str().unwrap();
                names.iter().any(|name| path.starts_with(name))
            });
            inside.collect::<Vec<_>>()
        };
        let before = protected(&world);
        let script = &scripts(&world)[number];
        let report = shell.call(&world, script);
        let text = format!("{:?}", report);
        assert!(!text.contains(world.canary()), "{script}: {text}");
        assert!(!has_canary(&world), "{script}");
        assert_eq!(protected(&world), before, "{script}");
        world.outside_unchanged();
    }
    first.works_afterwards();
}
