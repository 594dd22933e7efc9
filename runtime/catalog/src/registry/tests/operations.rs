//! What can be done with a registry in code.

use std::sync::Arc;

use super::*;

/// C27, C13, P12, P15
#[test]
fn a_new_registry_holds_the_built_in_agents() {
    let registry = Registry::built_in();
    let names: Vec<&str> = registry.list().iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["explore", "general", "plan", "review", "verification"]);
    assert_eq!((registry.len(), registry.is_empty()), (5, false));
    assert_eq!(Registry::default().list(), registry.list());
    assert!(registry.problems().is_empty() && registry.warnings().is_empty());
}

/// C28
#[test]
fn explore_is_there_and_visible() {
    let registry = Registry::built_in();
    let explore = registry.get("explore").unwrap();
    assert!(explore.native && !explore.hidden);
    assert_eq!(registry.get("nonexistent"), None);
}

/// C29, C13
#[test]
fn registering_and_unregistering_changes_the_length_by_one() {
    let mut registry = Registry::built_in();
    registry.register(Agent::new("custom", "c")).unwrap();
    assert_eq!((registry.len(), registry.exists("custom")), (6, true));
    assert!(registry.unregister("custom"));
    assert_eq!((registry.len(), registry.exists("custom")), (5, false));
    assert!(!registry.unregister("custom"));
}

/// C7, C13
#[test]
fn a_later_registration_replaces_an_earlier_one() {
    let mut registry = Registry::built_in();
    registry.register(Agent::new("explore", "mine")).unwrap();
    registry.register(Agent::new("explore", "mine again")).unwrap();
    assert_eq!((description(&registry, "explore"), registry.len()), ("mine again", 5));
    assert!(registry.shadows("explore").is_empty());
}

/// C30, K7, CF-9
#[test]
fn hidden_agents_are_listed_only_in_full() {
    let mut registry = Registry::built_in();
    assert_eq!(registry.list(), registry.list_visible());
    registry.register(Agent::new("secret", "s").hidden()).unwrap();
    registry.register(Agent { ui_visible: false, ..Agent::new("internal", "i") }).unwrap();
    assert_eq!((registry.list().len(), registry.list_visible().len()), (7, 5));
    assert!(registry.list_visible().iter().all(|agent| !agent.hidden && agent.ui_visible));
    assert!(registry.exists("secret") && registry.exists("internal"));
}

/// C34
#[test]
fn an_empty_registry_is_empty() {
    let registry = Registry::empty();
    assert_eq!((registry.is_empty(), registry.len()), (true, 0));
}

/// C10, C11, D11, Q2
#[test]
fn an_agent_of_a_plugin_needs_its_plugin() {
    let mut registry = Registry::empty();
    let error = registry.register_plugin_agent(Agent::new("a", "b")).unwrap_err();
    assert_eq!(error.to_string(), "Cannot register plugin agent without _pluginName");
    assert!(matches!(registry.register(of_plugin("p", "a")), Err(RegisterError::OfPlugin { .. })));
    assert!(registry.is_empty());
    registry.register_plugin_agents([of_plugin("p", "a"), of_plugin("q", "a")]).unwrap();
    assert!(registry.unregister_plugin_agent("p", "a"));
    assert!(!registry.unregister_plugin_agent("p", "a"));
    assert_eq!(description(&registry, "a"), "of q");
}

/// C12, B32
#[test]
fn a_plugin_agent_is_listed_with_a_virtual_path() {
    let mut registry = Registry::empty();
    registry.register_plugin_agent(of_plugin("database", "sql")).unwrap();
    let entries = registry.entries();
    assert_eq!(entries[0].origin.path.as_deref(), Some("<plugin:database>"));
    assert_eq!(entries[0].origin.to_string(), "plugin:database");
    assert_eq!((entries[0].name, entries[0].status), ("sql", Status::Ok));
}

/// C10, C35, DF-6
#[test]
fn unregistering_a_plugin_agent_leaves_others_of_that_name() {
    let mut registry = Registry::built_in();
    registry.register_plugin_agents([of_plugin("b", "explore"), of_plugin("a", "explore")]).unwrap();
    assert_eq!(description(&registry, "explore"), "of a");
    assert!(registry.unregister("a/explore"));
    assert_eq!(description(&registry, "explore"), "of b");
    assert!(registry.unregister_plugin_agent("b", "explore"));
    assert!(registry.find("explore").unwrap().native);
    assert!(!registry.unregister_plugin_agent("b", "explore"));
}

/// CFG-07, CF-7
#[test]
fn only_names_that_everybody_reads_alike_are_registered() {
    let mut registry = Registry::empty();
    let long = "a".repeat(101);
    for name in ["", " ", ".", "..", "a/b", "a b", "-a", "ехplore", "a\u{200b}b", "\u{202e}a", &long] {
        let error = registry.register(Agent::new(name, "b")).unwrap_err();
        assert_eq!(error, RegisterError::BadName(name.to_owned()));
        assert!(registry.register_plugin_agent(of_plugin(name, "a")).is_err(), "{name:?}");
    }
    assert!(registry.is_empty());
}

/// C14, V4
#[test]
fn a_poisoned_lock_is_used_on() {
    let shared = SharedRegistry::new(Registry::built_in());
    let before = shared.now();
    let other = shared.clone();
    let thread = std::thread::spawn(move || other.change(|_| panic!("while it holds the lock")));
    assert!(thread.join().is_err());
    shared.change(|registry| registry.register(Agent::new("custom", "c"))).unwrap();
    assert_eq!((before.len(), shared.now().len()), (5, 6));
}

/// C14
#[test]
fn several_threads_register_and_read() {
    let shared = SharedRegistry::new(Registry::empty());
    std::thread::scope(|scope| {
        for number in 0..8 {
            let shared = shared.clone();
            scope.spawn(move || {
                shared.change(|registry| registry.register(Agent::new(format!("a{number}"), "b"))).unwrap();
                assert!(shared.now().exists(&format!("a{number}")));
            });
        }
    });
    assert_eq!(shared.now().len(), 8);
}

/// C24, CF-14, P12
#[test]
fn general_is_always_there_and_nothing_is_written_for_it() {
    let stage = Stage::new();
    assert!(stage.load().find("general").unwrap().native);
    let left: Vec<_> = stage.dir.entries().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2);
    assert_eq!(stage.dir.read_dir("home").unwrap().count() + stage.dir.read_dir("work").unwrap().count(), 0);
}

/// CFG-12
#[test]
fn a_run_keeps_the_agents_it_began_with() {
    let stage = Stage::new();
    stage.define("home/.palisade/agents/a.md");
    let shared = SharedRegistry::new(stage.load());
    let run: Arc<Registry> = shared.now();
    stage.write("home/.palisade/agents/a.md", "broken");
    shared.refresh().unwrap();
    assert_eq!(description(&run, "a"), "home/.palisade/agents/a.md");
    assert!(matches!(shared.now().find("a"), Err(FindError::Broken(_))));
}
