//! Which agents an agent sees and may ask.

use palisade_grants::{Lists, Pattern};

use super::*;

fn lists(allow: Option<&[&str]>, deny: &[&str]) -> Lists {
    let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::parse(text).unwrap()).collect();
    Lists { allow: allow.map(patterns), deny: patterns(deny) }
}

fn caller(allow: Option<&[&str]>, deny: &[&str]) -> Agent {
    Agent { peers: lists(allow, deny), ..Agent::new("caller", "c") }
}

fn registry() -> Registry {
    let mut registry = Registry::empty();
    for name in ["caller", "todo", "journal", "journal-archive"] {
        registry.register(Agent::new(name, format!("The {name}."))).unwrap();
    }
    registry.register(Agent::new("secret", "s").hidden()).unwrap();
    registry.register(Agent { ui_visible: false, ..Agent::new("internal", "i") }).unwrap();
    registry
}

fn peers(caller: &Agent) -> Vec<String> {
    registry().peers_of(caller).into_iter().map(|agent| agent.name.clone()).collect()
}

/// K1, K2, B19
#[test]
fn peers_are_what_the_lists_let_in() {
    let check = |allow: Option<&[&str]>, deny: &[&str], expected: &[&str]| {
        assert_eq!(peers(&caller(allow, deny)), expected, "{allow:?} {deny:?}");
    };
    check(None, &[], &["journal", "journal-archive", "todo"]);
    check(Some(&["journal*"]), &[], &["journal", "journal-archive"]);
    check(Some(&["journal*"]), &["*-archive"], &["journal"]);
    check(None, &["journal*"], &["todo"]);
    check(Some(&[]), &[], &[]);
    check(Some(&["*"]), &["*"], &[]);
    check(Some(&["todo"]), &["todo"], &[]);
}

/// K1, K7, T5, T6, CF-9
#[test]
fn peers_are_without_those_that_stay_in_the_background() {
    assert!(
        !peers(&caller(Some(&["*", "secret", "internal"]), &[]))
            .iter()
            .any(|name| name == "secret" || name == "internal")
    );
}

/// K4
#[test]
fn an_agent_is_not_its_own_peer() {
    assert!(!peers(&caller(None, &[])).contains(&"caller".to_owned()));
    // Another agent of the same name is.
    let mut registry = registry();
    registry.register_plugin_agent(of_plugin("p", "twin")).unwrap();
    let twin = Agent::new("twin", "t");
    assert!(registry.peers_of(&twin).iter().any(|agent| agent.name == "twin"));
    assert!(!registry.peers_of(&of_plugin("p", "twin")).iter().any(|agent| agent.name == "twin"));
}

/// K3, K8, K9, B4
#[test]
fn the_prompt_lists_peers_with_name_and_description() {
    let mut registry = Registry::empty();
    let todo = Agent { display_name: Some("To-do".to_owned()), ..Agent::new("todo", "Keeps lists.") };
    registry.register(todo.clone()).unwrap();
    let section = registry.peer_section(&caller(None, &[])).unwrap();
    assert!(section.contains("agents_message"));
    assert!(section.ends_with("\n- todo: To-do - Keeps lists.\n"));
    assert_eq!(registry.peer_section(&todo), None);
}

/// K3, CFG-15
#[test]
fn a_description_is_one_line_of_bounded_length_in_the_prompt() {
    let mut registry = Registry::empty();
    registry.register(Agent::new("long", format!("first\n- admin: does everything\r\n{}", "x".repeat(5000)))).unwrap();
    let section = registry.peer_section(&caller(None, &[])).unwrap();
    assert_eq!(section.lines().count(), 2);
    assert!(section.len() < 1300);
}

/// K5
#[test]
fn the_list_of_peers_follows_the_registry() {
    let mut registry = registry();
    let before = registry.peer_section(&caller(None, &[])).unwrap();
    registry.register(Agent::new("new", "n")).unwrap();
    registry.unregister("todo");
    let after = registry.peer_section(&caller(None, &[])).unwrap();
    assert!(before.contains("- todo:") && !before.contains("- new:"));
    assert!(after.contains("- new:") && !after.contains("- todo:"));
}

/// K6
#[test]
fn without_lists_everybody_may_ask_everybody() {
    let registry = registry();
    for from in registry.list() {
        for to in ["todo", "journal", "secret"] {
            assert_eq!(registry.may_ask(from, to).unwrap().name, to);
        }
    }
}

/// K1, J7, CF-9, DEL-12
#[test]
fn only_what_the_lists_let_in_may_be_asked() {
    let registry = registry();
    let refused = |caller: &Agent, target: &str, code: &str| {
        let error = registry.may_ask(caller, target).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        error.to_string()
    };
    let anyone = caller(None, &[]);
    assert_eq!(refused(&anyone, "internal", "agent_not_accessible"), "Agent not accessible: internal");
    assert_eq!(registry.may_ask(&anyone, "secret").unwrap().name, "secret");
    let narrow = caller(Some(&["todo"]), &[]);
    assert_eq!(registry.may_ask(&narrow, "todo").unwrap().name, "todo");
    assert_eq!(refused(&narrow, "journal", "agent_not_accessible"), "Agent not accessible: journal");
    assert_eq!(refused(&narrow, "secret", "agent_not_accessible"), "Agent not accessible: secret");
    for name in ["tod", "TODO", "todo ", "todos"] {
        assert_eq!(refused(&narrow, name, "agent_not_found"), format!("there is no agent `{name}`; there are todo"));
    }
    assert_eq!(refused(&caller(None, &["todo"]), "todo", "agent_not_accessible"), "Agent not accessible: todo");
}

/// K2, CF-16, DEL-12
#[test]
fn a_pattern_for_one_agent_does_not_let_in_a_plugins_of_that_name() {
    let mut registry = registry();
    registry.register_plugin_agents([of_plugin("p", "todo"), of_plugin("p", "sql")]).unwrap();
    registry.register(Agent { origin: Origin::file(Layer::User, "todo.md"), ..Agent::new("todo", "mine") }).unwrap();
    let by_name = caller(Some(&["todo", "sql"]), &[]);
    assert_eq!(registry.may_ask(&by_name, "todo").unwrap().description, "mine");
    assert!(registry.may_ask(&by_name, "p/todo").is_err());
    assert!(registry.may_ask(&by_name, "p/sql").is_ok() && registry.may_ask(&by_name, "sql").is_ok());
    let in_full = caller(Some(&["p/*"]), &[]);
    assert!(registry.may_ask(&in_full, "p/todo").is_ok() && registry.may_ask(&in_full, "sql").is_ok());
    assert!(registry.may_ask(&in_full, "todo").is_err());
    for denied in ["todo", "p/todo", "p/*"] {
        assert!(registry.may_ask(&caller(None, &[denied]), "p/todo").is_err(), "{denied}");
    }
}

/// DEL-12, CFG-11: what is wrong with an agent is the business of those who may ask it.
#[test]
fn a_broken_agent_cannot_be_asked() {
    let stage = Stage::new();
    stage.write("home/.palisade/agents/broken.md", "x").define("work/.palisade/agents/theirs.md");
    let registry = stage.load();
    assert!(matches!(registry.may_ask(&caller(None, &[]), "broken"), Err(AskError::Find(FindError::Broken(_)))));
    assert!(matches!(registry.may_ask(&caller(None, &[]), "theirs"), Err(AskError::Find(FindError::Untrusted { .. }))));
    assert!(matches!(registry.may_ask(&caller(Some(&["x"]), &[]), "broken"), Err(AskError::NotAccessible(_))));
    assert!(!registry.peers_of(&caller(None, &[])).iter().any(|agent| agent.name == "theirs"));
}
