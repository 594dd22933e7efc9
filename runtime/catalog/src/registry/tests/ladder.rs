//! Which of several definitions with one name counts.

use super::*;

/// One definition of `a` in every place, from the weakest to the strongest.
const PLACES: [&str; 10] = [
    "plugins/p/agents/a.md",
    "config.json",
    "one/a.md",
    "two/a.md",
    "cli/a.md",
    "home/.claude/agents/a.md",
    "home/.palisade/agents/a.md",
    "home/.palisade/subagents/a.md",
    "work/.claude/agents/a.md",
    "work/.palisade/agents/a.md",
];

fn stage(places: &[&str]) -> Stage {
    let stage = Stage::new();
    let agents =
        if places.contains(&"config.json") { r#"[{"agentId": "a", "description": "config.json"}]"# } else { "[]" };
    stage.write("config.json", format!(r#"{{"agents": {agents}, "agent_dirs": ["one", "two"]}}"#));
    stage.write("plugins/p/plugin.json", r#"{"name": "p"}"#);
    for place in places.iter().filter(|place| **place != "config.json") {
        stage.define(place);
    }
    stage.trust_all();
    stage
}

/// C5, C6, C7, CF-1: builtin, plugin, configuration, its folders in order, those of the command line,
/// the user, the project; of two places the later one counts.
#[test]
fn the_stronger_of_two_places_counts() {
    for (weak, weaker) in PLACES.iter().enumerate() {
        for stronger in &PLACES[weak + 1..] {
            let registry = stage(&[weaker, stronger]).load();
            assert_eq!(description(&registry, "a"), *stronger, "{weaker} and {stronger}");
            assert_eq!(registry.shadows("a").len(), 1, "{weaker} and {stronger}");
        }
    }
}

/// C8, CF-1
#[test]
fn a_name_is_listed_once_with_everything_it_overrides() {
    let stage = stage(&PLACES);
    let registry = stage.load();
    let entries = registry.entries();
    let entries: Vec<&Entry<'_>> = entries.iter().filter(|entry| entry.name == "a").collect();
    assert_eq!(entries.len(), 1);
    let sources: Vec<String> = entries[0].shadows.iter().map(|shadow| shadow.origin.to_string()).collect();
    let expected = "project user user user configured configured configured configured plugin:p";
    assert_eq!(sources.join(" "), expected);
    assert_eq!(entries[0].shadows[8].origin.path.as_deref(), Some("<plugin:p>"));
    assert_eq!(entries[0].origin.path, Some(stage.path(PLACES[9]).display().to_string()));
}

/// C1, C3, CF-11
#[test]
fn agents_are_found_in_the_folders_that_people_have() {
    let stage = Stage::new();
    let folders = [".ally/agents", ".code_ally/agents", ".opencode/agent", ".acai/subagents", ".claude/agents"];
    stage.write("config.json", format!(r#"{{"compat_dirs": {folders:?}}}"#));
    for (number, folder) in folders.iter().enumerate() {
        stage.define(&format!("home/{folder}/user{number}.md")).define(&format!("work/{folder}/project{number}.md"));
    }
    stage.trust_all();
    let registry = stage.load();
    for number in 0..folders.len() {
        assert_eq!(registry.find(&format!("user{number}")).unwrap().origin.layer, Layer::User);
        assert_eq!(registry.find(&format!("project{number}")).unwrap().origin.layer, Layer::Project);
    }
}

/// C2
#[test]
fn the_agents_of_this_program_are_files_of_its_own() {
    for agent in Registry::built_in().list() {
        assert!(agent.native && agent.origin == Origin::builtin(), "{}", agent.name);
    }
    let registry = Stage::new().load();
    assert_eq!(registry.list(), Registry::built_in().list());
    assert_eq!(messages(&registry), [""; 0]);
}

/// C9, C35: the user's file, else the plugin's, else the built-in one, else none.
#[test]
fn a_name_is_looked_for_from_the_strongest_layer_down() {
    let stage = Stage::new();
    stage.write("plugins/p/plugin.json", r#"{"name": "p"}"#);
    stage.define("plugins/p/agents/explore.md").define("plugins/p/agents/mine.md");
    stage.define("home/.palisade/agents/mine.md");
    let registry = stage.load();
    assert_eq!(description(&registry, "mine"), "home/.palisade/agents/mine.md");
    assert_eq!(description(&registry, "explore"), "plugins/p/agents/explore.md");
    assert!(registry.find("plan").unwrap().native);
    assert_eq!(registry.get("nobody"), None);
    assert_eq!(registry.entries().iter().filter(|entry| entry.origin.plugin.is_some()).count(), 1);
}

/// C4, C33
#[test]
fn a_configured_folder_adds_to_the_built_in_agents() {
    let stage = Stage::new();
    stage.write("config.json", r#"{"agent_dirs": ["more"]}"#).define("more/custom.yaml");
    stage.write("more/custom.yaml", "name: custom\ndescription: c\n");
    let registry = stage.load();
    assert_eq!(registry.len(), 6);
    assert!(registry.exists("custom") && registry.exists("explore"));
}

/// CF-37
#[test]
fn a_configured_general_takes_the_place_of_the_built_in_one() {
    let stage = Stage::new();
    stage.write("config.json", r#"{"agents": [{"agentId": "general", "toolAllowlist": null}]}"#);
    let registry = stage.load();
    let general = registry.find("general").unwrap();
    assert_eq!((general.origin.layer, general.native), (Layer::Configured, false));
    assert_eq!(registry.shadows("general")[0].origin, Origin::builtin());
}

/// Whoever works in the home folder has the user's agents there, not a project's.
#[test]
fn one_folder_is_one_layer() {
    let stage = Stage::new();
    stage.define("home/.palisade/agents/mine.md").define("home/.claude/agents/theirs.md");
    let places = Places { workspace: Some(stage.path("home")), ..stage.places() };
    let registry = Registry::load(&places, &[]).unwrap();
    assert_eq!(own(&registry), ["mine", "theirs"]);
    assert!(registry.list().iter().all(|agent| agent.origin.layer != Layer::Project));
    assert!(registry.shadows("mine").is_empty());
}
