//! Which agent a name means.

use super::*;

/// I14, Q6, CF-26
#[test]
fn an_unknown_name_is_an_error_that_lists_the_others() {
    let mut registry = Registry::built_in();
    registry.register(Agent::new("secret", "s").hidden()).unwrap();
    let error = registry.find("exploer").unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no agent `exploer`; there are explore, general, plan, review, verification"
    );
    assert_eq!(
        error.for_subagent(),
        "Unknown subagent type: \"exploer\". Available: explore, general, plan, review, verification"
    );
}

/// DEL-12
#[test]
fn a_name_is_compared_as_it_is_written() {
    let registry = Registry::built_in();
    for name in ["Explore", "explor", "explore ", "", "/explore", "explore/", "builtin/explore", "plan\0"] {
        assert!(matches!(registry.find(name), Err(FindError::Unknown { .. })), "{name:?}");
        assert!(!registry.exists(name), "{name:?}");
    }
}

/// Names that people bring from elsewhere count where nothing else is called so.
#[test]
fn two_usual_names_mean_built_in_agents() {
    let mut registry = Registry::built_in();
    assert_eq!(registry.find("general-purpose").unwrap().name, "general");
    assert_eq!(registry.find("reviewer").unwrap().name, "review");
    assert_eq!(registry.len(), 5);
    registry.register(Agent::new("reviewer", "mine")).unwrap();
    assert_eq!(description(&registry, "reviewer"), "mine");
}

/// DF-19: also where the file that is called so is broken.
#[test]
fn a_broken_file_is_not_passed_over_for_a_usual_name() {
    let stage = Stage::new();
    stage.write("home/.palisade/agents/reviewer.md", "broken");
    assert!(matches!(stage.load().find("reviewer"), Err(FindError::Broken(_))));
}

/// D14, CF-16, DF-6
#[test]
fn agents_of_two_plugins_with_one_name_are_both_there() {
    let stage = Stage::new();
    for plugin in ["zeta", "alpha"] {
        stage.write(&format!("plugins/{plugin}/plugin.json"), format!(r#"{{"name": "{plugin}"}}"#));
        stage.define(&format!("plugins/{plugin}/agents/helper.md"));
    }
    let registry = stage.load();
    assert_eq!(description(&registry, "alpha/helper"), "plugins/alpha/agents/helper.md");
    assert_eq!(description(&registry, "zeta/helper"), "plugins/zeta/agents/helper.md");
    assert_eq!(description(&registry, "helper"), "plugins/alpha/agents/helper.md");
    assert!(says(registry.warnings(), &["zeta/agents/helper.md", "`helper` means `alpha/helper`"]));
    let identity = registry.find("zeta/helper").unwrap().identity();
    assert_eq!(identity, palisade_grants::Identity::of_plugin("zeta", "helper"));
    let located = registry.look_up("zeta/helper").unwrap();
    assert!(located.shadows.is_empty() && located.warnings()[0].contains("alpha"));
}

/// CFG-08, DF-5
#[test]
fn parts_of_names_do_not_run_together() {
    let mut registry = Registry::empty();
    for (plugin, name) in [("a", "b-c"), ("a-b", "c"), ("a_b", "c"), ("a__b", "c"), ("a", "b_c")] {
        registry.register_plugin_agent(of_plugin(plugin, name)).unwrap();
    }
    for (plugin, name) in [("a", "b-c"), ("a-b", "c"), ("a_b", "c"), ("a__b", "c"), ("a", "b_c")] {
        let agent = registry.find(&format!("{plugin}/{name}")).unwrap();
        assert_eq!((agent.origin.plugin.as_deref(), agent.name.as_str()), (Some(plugin), name));
    }
    assert!(registry.unregister("a-b/c"));
    assert!(registry.exists("a_b/c") && registry.exists("a/b-c"));
}

/// C25
#[test]
fn all_agents_one_agent_and_a_text_about_them() {
    let mut registry = Registry::empty();
    registry.register(Agent::new("researcher", "Looks things up.")).unwrap();
    registry
        .register(Agent { display_name: Some("The Tester".to_owned()), ..Agent::new("tester", "Writes\n- tests.") })
        .unwrap();
    assert_eq!(registry.get("researcher").unwrap().name, "researcher");
    let text = roster(&registry.list_visible());
    assert_eq!(text, "- researcher: researcher - Looks things up.\n- tester: The Tester - Writes - tests.\n");
}
