//! `palisade plugins`.
#![expect(clippy::unwrap_used, reason = "a value that is not there fails the test")]

use serde_json::json;

use crate::world::World;

/// D10
#[test]
fn plugins_are_listed_with_what_they_bring() {
    let world = World::new();
    let text = world.palisade(&["plugins", "list"]).with_code(0);
    assert!(text.stdout.is_empty() && text.stderr.contains("there are no plugins"), "{text:?}");
    let plugins = ".local/share/palisade/plugins";
    world.add_at_home(
        &format!("{plugins}/harbour/plugin.json"),
        &json!({
            "name": "harbour", "version": "1.2.0", "description": "Parcels and ships.",
            "tools": [
                { "name": "count_parcels", "description": "Counts.", "command": "wc" },
                { "name": "read", "description": "Takes a name that is taken.", "command": "cat" },
            ],
        })
        .to_string(),
    );
    world.add_at_home(
        &format!("{plugins}/harbour/agents/pilot.md"),
        "---\nname: pilot\ndescription: Steers.\n---\nSteer.\n",
    );
    world.add_at_home(&format!("{plugins}/wreck/plugin.json"), "{ \"name\": ");
    let list = world.palisade(&["plugins", "list", "--json"]).with_code(0).json();
    let [harbour, wreck] = &list.as_array().unwrap()[..] else { panic!("{list}") };
    assert_eq!((&harbour["status"], &harbour["agents"]), (&json!("ok"), &json!(["pilot"])));
    assert!(harbour["tools"][1]["refused"].as_str().unwrap().contains("`read` is a tool of this program"), "{list}");
    assert_eq!((&wreck["name"], &wreck["status"]), (&json!("wreck"), &json!("broken")));
    let text = world.palisade(&["plugins", "list"]).with_code(0).stdout;
    for part in ["1.2.0  Parcels and ships.", "tools: count_parcels, read", "agents: pilot", "broken: "] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}
