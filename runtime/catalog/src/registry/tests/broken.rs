//! A file that is wrong keeps its name.

use super::*;

/// DF-19, CF-6, A18, A19
#[test]
fn a_broken_file_never_lets_a_weaker_agent_through() {
    let stage = Stage::new();
    stage.define("cli/explore.md").write("home/.palisade/agents/explore.md", "---\nname: explore\ntools: [\n---\n");
    let registry = stage.load();
    let error = registry.find("explore").unwrap_err();
    assert!(matches!(&error, FindError::Broken(rejected) if rejected.notices[0].line.is_some()), "{error}");
    assert!(error.to_string().contains("Failed to parse agent file"), "{error}");
    assert_eq!(registry.get("explore"), None);
    assert!(!registry.list().iter().any(|agent| agent.name == "explore"));
    let entries = registry.entries();
    let entry = entries.iter().find(|entry| entry.name == "explore").unwrap();
    assert_eq!((entry.status, entry.agent, entry.shadows.len()), (Status::Broken, None, 2));
    assert!(entry.advice().contains("explore.md"));
}

/// DF-19
#[test]
fn a_broken_file_is_known_by_the_name_it_declares_or_else_by_its_own() {
    let check = |file: &str, text: &str, name: &str| {
        let stage = Stage::new();
        stage.write(&format!("home/.palisade/agents/{file}"), text);
        let registry = stage.load();
        assert!(matches!(registry.find(name), Err(FindError::Broken(_))), "{file}: {text:?}");
        assert_eq!(registry.len(), if name == "explore" { 4 } else { 5 });
    };
    check("x.md", "---\nname: explore\ntools: [\n---\n", "explore");
    check("x.md", "\u{feff}---\r\nname: \"explore\" # mine\r\ntools: [\r\n---\r\n", "explore");
    check("x.yaml", "agentId: 'explore'\ntools: [\n", "explore");
    check("explore.md", "---\ntools: [\n---\nname: general\n", "explore");
    check("explore.md", "name: general\nno settings at all\n", "explore");
    check("explore.yaml", "name: [\n", "explore");
    check("mine.md", "---\nname: mine\ndescription: [\n---\n", "mine");
    check("mine.md", "---\nname: not a name\ndescription: d\n---\n", "mine");
}

/// DF-19: what could be no agent's name stands in nobody's way.
#[test]
fn a_broken_file_without_any_name_is_only_reported() {
    let stage = Stage::new();
    stage.write("home/.palisade/agents/my notes.md", "just notes");
    let registry = stage.load();
    assert_eq!(registry.entries().len(), 5);
    assert!(says(registry.problems(), &["my notes.md", "missing YAML frontmatter"]));
}

/// DF-19, D7
#[test]
fn a_broken_plugin_agent_keeps_its_name_too() {
    let stage = Stage::new();
    stage.write(
        "plugins/p/plugin.json",
        r#"{"name": "p", "agents": [{"name": "explore", "system_prompt_file": "x.md"}]}"#,
    );
    let registry = stage.load();
    assert!(matches!(registry.find("explore"), Err(FindError::Broken(_))));
    assert!(matches!(registry.find("p/explore"), Err(FindError::Broken(_))));
}

/// DF-19: a stronger file that is right is not held up by a weaker one that is wrong.
#[test]
fn a_broken_file_below_a_good_one_is_only_reported() {
    let stage = Stage::new();
    stage.write("cli/a.md", "broken").define("home/.palisade/agents/a.md");
    let registry = stage.load();
    assert_eq!(description(&registry, "a"), "home/.palisade/agents/a.md");
    assert_eq!(registry.problems().len(), 1);
}

/// CFG-04, CFG-05, CFG-06
#[test]
fn what_would_lift_a_restriction_if_overlooked_is_an_error() {
    for settings in ["name: a\nname: b", "name: a\ndeny_tool: [bash]", "name: a\ntools: 3", "name: a\ntools: [[read]]"]
    {
        let stage = Stage::new();
        stage.write("home/.palisade/agents/a.md", format!("---\n{settings}\ndescription: d\n---\n"));
        let registry = stage.load();
        assert!(matches!(registry.find("a"), Err(FindError::Broken(_))), "{settings}");
    }
}
