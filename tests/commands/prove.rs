//! `palisade prove`.

use crate::world::World;

#[test]
fn no_probe_gets_out_of_a_built_in_agent() {
    let world = World::empty();
    for agent in ["explore", "general"] {
        let proof = world.palisade(&["prove", agent, "--json"]).with_code(0).json();
        assert_eq!(proof["breaches"], 0, "{proof}");
        let granted = proof["granted"].as_u64().unwrap();
        assert_eq!(granted > 0, agent == "general", "{proof}");
        let verdicts = proof["verdicts"].as_array().unwrap();
        assert_eq!(verdicts.len() as u64, granted + proof["refused"].as_u64().unwrap());
        assert!(verdicts.len() > 40, "{proof}");
    }
}

#[test]
fn the_table_ends_with_the_counts() {
    let ended = World::empty().palisade(&["prove", "explore"]).with_code(0);
    let last = ended.stdout.lines().last().unwrap();
    assert!(last.ends_with(" refused, 0 granted, 0 breaches"), "{last}");
    assert!(ended.stdout.contains("plant a git hook"), "{}", ended.stdout);
}

#[test]
fn an_unknown_agent_proves_nothing() {
    World::empty().palisade(&["prove", "nobody"]).with_code(1);
}
