//! Whose tools a plugin's agent has, and whom a plugin's tools work for.

use super::*;

fn names_for(scope: &ToolScope, tools: &[Candidate], identity: &Identity) -> Vec<String> {
    resolve(scope, tools, identity).tools.iter().map(|tool| tool.name().to_owned()).collect()
}

fn bound(binding: Binding) -> Vec<Candidate> {
    let sql = Candidate::new("execute_sql", [], ToolSource::Plugin("database".to_owned())).bound(binding);
    vec![Candidate::new("read", ["fs.read".to_owned()], ToolSource::Core), sql]
}

/// E1, E3, E22, V7
#[test]
fn an_agent_of_a_plugin_has_the_core_tools_and_its_own() {
    let tools = tools();
    let own = names_for(&ToolScope::default(), &tools, &Identity::of_plugin("database", "dba"));
    assert!(own.contains(&"query_db".to_owned()) && own.contains(&"read".to_owned()));
    assert!(!own.iter().any(|name| name.starts_with("reading_list")), "{own:?}");
}

/// E1, E2, E22, DF-18
#[test]
fn an_agent_of_a_plugin_with_a_list_has_what_the_list_names() {
    let tools = tools();
    let scope = listing(&["query_db", "reading_list_show"]);
    let own = names_for(&scope, &tools, &Identity::of_plugin("database", "dba"));
    assert_eq!(own, ["system_clock", "reading_list_show", "query_db"]);
}

/// G1, G3, G4, G6, G7, G8, Q1
#[test]
fn a_bound_tool_works_for_its_agent_and_says_so_to_others() {
    let tools = bound(Binding::Requires(Identity::of_plugin("database", "database-agent")));
    let scope = ToolScope::default();
    let right = Identity::of_plugin("database", "database-agent");
    assert_eq!(names_for(&scope, &tools, &right), ["read", "execute_sql"]);
    let wrong = resolve(&scope, &tools, &Identity::of_plugin("database", "helper")).excluded;
    assert_eq!(wrong[0].reason, "Tool 'execute_sql' requires agent 'database-agent' but current agent is 'helper'");
}

/// G9, DF-7, CF-22
#[test]
fn an_agent_of_the_same_name_from_elsewhere_does_not_unlock_a_bound_tool() {
    let tools = bound(Binding::Requires(Identity::of_plugin("database", "database-agent")));
    for impostor in [Identity::of("database-agent"), Identity::of_plugin("other", "database-agent")] {
        let scope = listing(&["read", "execute_sql"]);
        let resolution = resolve(&scope, &tools, &impostor);
        assert_eq!(resolution.tools.len(), 1, "{impostor}");
        let reason = &resolution.excluded[0].reason;
        assert!(
            reason.starts_with("Tool 'execute_sql' requires agent 'database-agent' but current agent is"),
            "{reason}"
        );
    }
}

/// CF-22
#[test]
fn the_operator_may_let_another_agent_of_that_name_in() {
    let tools = bound(Binding::Requires(Identity::of_plugin("database", "database-agent")));
    let identity = Identity::of("database-agent");
    let overrides = [Identity::of_plugin("database", "database-agent")];
    let around = Surroundings { identity: &identity, native: false, may_delegate: true, binding_overrides: &overrides };
    assert_eq!(ToolScope::default().resolve(&tools, &around).tools.len(), 2);
}

/// G5, CF-22
#[test]
fn a_tool_visible_to_some_agents_is_visible_to_those() {
    let some = vec![Identity::of_plugin("database", "a"), Identity::of_plugin("database", "b")];
    let tools = bound(Binding::VisibleTo(some));
    let scope = ToolScope::default();
    assert_eq!(names_for(&scope, &tools, &Identity::of_plugin("database", "b")).len(), 2);
    let reason = resolve(&scope, &tools, &Identity::of("c")).excluded[0].reason.clone();
    assert_eq!(reason, "Tool 'execute_sql' is only visible to agents: [a, b]. Current agent is 'c'");
    assert_eq!(names_for(&scope, &bound(Binding::VisibleTo(vec![])), &Identity::of("c")).len(), 2);
    assert_eq!(names_for(&scope, &bound(Binding::Anyone), &Identity::of("c")).len(), 2);
}
