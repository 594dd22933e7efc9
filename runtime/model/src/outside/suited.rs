//! Definitions that would rely on what nobody can enforce outside of the sandbox.

use palisade_agent::{Agent, PermissionMode};
use thiserror::Error;

/// A definition says what would not hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{agent}` cannot run as {provider}, which decides itself what it does: nothing would enforce {}; remove that from \
     the definition, or give the agent a model",
    .settings.join(", ")
)]
pub struct Unenforceable {
    /// The agent's name.
    pub agent: String,
    /// What it would run as.
    pub provider: String,
    /// The settings that would have no effect.
    pub settings: Vec<&'static str>,
}

/// Refuses an agent that is restricted in a way that holds only in the sandbox: approvals, rules, a choice
/// of tools, grants. Without them it would do more than its definition says, and nobody would see it.
pub fn suited(agent: &Agent, provider: &str) -> Result<(), Unenforceable> {
    let (scope, rules) = (&agent.scope, &agent.scope.permissions);
    let said = [
        (!rules.ask.is_empty(), "`permissions.ask`"),
        (!rules.deny.is_empty(), "`permissions.deny`"),
        (rules.allow.is_some(), "`permissions.allow`"),
        (rules.default.is_some(), "the default of `permissions`"),
        (agent.permission_mode == Some(PermissionMode::Plan), "`permission_mode: plan`"),
        (scope.tools.is_some(), "`tools`"),
        (!scope.disallowed.is_empty(), "`disallowed_tools`"),
        (scope.names != Default::default(), "the lists of tools"),
        (scope.capabilities != Default::default(), "the lists of capabilities"),
        (agent.grants.is_some(), "`grants`"),
    ];
    let settings: Vec<&'static str> = said.into_iter().filter(|(said, _)| *said).map(|(_, name)| name).collect();
    match settings.is_empty() {
        true => Ok(()),
        false => Err(Unenforceable { agent: agent.name.clone(), provider: provider.to_owned(), settings }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_relies_on_rules_does_not_run_outside() {
        let mut agent = Agent::new("careful", "asks first");
        assert_eq!(suited(&agent, "claude-cli"), Ok(()));
        agent.permission_mode = Some(PermissionMode::Plan);
        agent.scope.tools = Some(Vec::new());
        agent.grants = Some(Default::default());
        let error = suited(&agent, "claude-cli").unwrap_err();
        assert_eq!(error.settings, ["`permission_mode: plan`", "`tools`", "`grants`"]);
        assert!(error.to_string().starts_with("`careful` cannot run as claude-cli"), "{error}");
    }

    #[test]
    fn tool_approvals_are_refused() {
        let mut agent = Agent::new("careful", "asks first");
        agent.scope.permissions = serde_json::from_value(serde_json::json!({ "ask": ["bash"] })).unwrap();
        assert_eq!(suited(&agent, "pi-cli").unwrap_err().settings, ["`permissions.ask`"]);
    }
}
