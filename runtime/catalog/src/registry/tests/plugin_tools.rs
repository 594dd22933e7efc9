//! Tools of plugins, as they are declared.

use palisade_grants::{Binding, Identity};

use super::*;

fn stage(tools: &[(&str, &str)]) -> Stage {
    let stage = Stage::new();
    for (plugin, tools) in tools {
        let text = format!(r#"{{"name": "{plugin}", "tools": {tools}}}"#);
        stage.write(&format!("plugins/{plugin}/plugin.json"), text);
    }
    stage
}

fn refused(registry: &Registry) -> Vec<(String, Option<String>)> {
    let tools = registry.plugins().iter().flat_map(|plugin| &plugin.tools);
    tools.map(|tool| (tool.manifest.name.clone(), tool.refused.clone())).collect()
}

/// G1, G5, G6, G9, CF-22, DF-7
#[test]
fn a_required_agent_is_one_of_the_same_plugin() {
    let tools = r#"[{"name": "execute_sql", "required_agent": "database-agent"}, {"name": "list_tables"},
        {"name": "explain_sql", "visible_to": ["database-agent", "reader"]}, {"name": "all", "visible_to": []}]"#;
    let stage = stage(&[("database", tools)]);
    stage.define("plugins/database/agents/database-agent.md").define("home/.palisade/agents/database-agent.md");
    let registry = stage.load();
    let tools = &registry.plugins()[0].tools;
    let own = Identity::of_plugin("database", "database-agent");
    assert_eq!(tools[0].binding, Binding::Requires(own.clone()));
    assert_eq!(tools[1].binding, Binding::Anyone);
    assert_eq!(tools[2].binding, Binding::VisibleTo(vec![own, Identity::of_plugin("database", "reader")]));
    assert_eq!(tools[3].binding, Binding::Anyone);

    let permits = |agent: &str, overrides: &[Identity]| {
        let identity = registry.find(agent).unwrap().identity();
        tools[0].binding.permits("execute_sql", &identity, overrides)
    };
    assert_eq!(permits("database/database-agent", &[]), Ok(()));
    // The name alone now means the user's file, which must not unlock the tool.
    let text = permits("database-agent", &[]).unwrap_err();
    assert!(text.starts_with("Tool 'execute_sql' requires agent 'database-agent' but current agent is"), "{text}");
    assert_eq!(permits("database-agent", &[Identity::of_plugin("database", "database-agent")]), Ok(()));
}

/// G9, CF-22
#[test]
fn a_project_file_does_not_unlock_a_bound_tool() {
    let stage = stage(&[("database", r#"[{"name": "execute_sql", "required_agent": "database-agent"}]"#)]);
    stage.define("work/.palisade/agents/database-agent.md").trust_all();
    let registry = stage.load();
    let identity = registry.find("database-agent").unwrap().identity();
    assert!(registry.plugins()[0].tools[0].binding.permits("execute_sql", &identity, &[]).is_err());
}

/// A tool that is bound to an agent it is not shown to works for nobody.
#[test]
fn two_bindings_must_agree() {
    let tools = r#"[{"name": "a", "required_agent": "x", "visible_to": ["x", "y"]},
        {"name": "b", "required_agent": "x", "visible_to": ["y"]}]"#;
    let registry = stage(&[("p", tools)]).load();
    let tools = &registry.plugins()[0].tools;
    assert_eq!((&tools[0].binding, &tools[0].refused), (&Binding::Requires(Identity::of_plugin("p", "x")), &None));
    assert!(tools[1].refused.as_ref().unwrap().contains("`visible_to` does not show it"));
}

/// D13
#[test]
fn the_tools_of_a_plugin_are_known_as_its_own() {
    let tools = r#"[{"name": "query_db", "description": "d", "command": "python3", "args": ["q.py"]}]"#;
    let registry = stage(&[("database", tools)]).load();
    let plugin = &registry.plugins()[0];
    assert_eq!((plugin.name.as_str(), plugin.tools.len()), ("database", 1));
    assert_eq!(plugin.tools[0].manifest.command.as_deref(), Some("python3"));
    assert_eq!(plugin.tools[0].refused, None);
}

/// DF-22, CFG-09
#[test]
fn a_tool_does_not_take_the_name_of_one_of_the_host() {
    let tools = r#"[{"name": "read"}, {"name": "Write"}, {"name": "BASH"}, {"name": "task"}, {"name": "agents_message"},
        {"name": "parallel_task"}, {"name": "skill"}, {"name": "panels-list"},
        {"name": "agents-message"}, {"name": "system_reset"}, {"name": "system-reset"}, {"name": "query"}]"#;
    let registry = stage(&[("p", tools)]).load();
    let usable: Vec<String> =
        refused(&registry).into_iter().filter(|(_, reason)| reason.is_none()).map(|(name, _)| name).collect();
    assert_eq!(usable, ["query"]);
    for name in
        ["read", "Write", "BASH", "task", "agents_message", "agents-message", "parallel_task", "skill", "panels-list"]
    {
        assert!(
            says(registry.problems(), &[&format!("the tool `{name}` is not loaded: "), "is a tool of this program"]),
            "{name}"
        );
    }
    assert!(says(registry.problems(), &["system_"]));
}

/// CFG-09, CFG-08: neither plugin gets what was meant for the other, whatever they are called.
#[test]
fn a_tool_name_of_two_plugins_is_refused_to_both() {
    let registry = stage(&[
        ("alpha", r#"[{"name": "query"}, {"name": "b-c"}]"#),
        ("zeta", r#"[{"name": "QUERY"}, {"name": "c"}]"#),
    ])
    .load();
    let reasons = refused(&registry);
    assert!(reasons[0].1.as_ref().unwrap().contains("the plugin `zeta` has a tool of that name"));
    assert!(reasons[2].1.as_ref().unwrap().contains("the plugin `alpha` has a tool of that name"));
    assert_eq!((&reasons[1].1, &reasons[3].1), (&None, &None));
}

/// CFG-09: a plugin that is switched off has no tools that could be in the way.
#[test]
fn a_disabled_plugin_frees_its_tool_names() {
    let stage = stage(&[("alpha", r#"[{"name": "query"}]"#), ("zeta", r#"[{"name": "query"}]"#)]);
    stage.write("config.json", r#"{"disabled_plugins": ["zeta"]}"#);
    assert_eq!(refused(&stage.load()), [("query".to_owned(), None)]);
}

/// DF-8: components are opened through the folder that was checked.
#[test]
fn a_component_is_opened_inside_its_plugin() {
    let stage = stage(&[("p", r#"[{"name": "query", "component": "query.wasm"}]"#)]);
    stage.write("plugins/p/query.wasm", "wasm").write("outside.wasm", "secret");
    stage.dir.symlink("../../outside.wasm", "plugins/p/link.wasm").unwrap();
    let registry = stage.load();
    let plugin = &registry.plugins()[0];
    assert!(plugin.open("query.wasm").is_ok());
    for path in ["../../outside.wasm", "link.wasm", "/etc/passwd", ""] {
        assert!(plugin.open(path).is_err(), "{path}");
    }
}
