//! Which skills the rules of a scope speak of.

use super::ToolScope;
use crate::Call;

impl ToolScope {
    /// The deny rule that speaks of a skill. It holds for the skill's text wherever an agent would get it from,
    /// also if the agent has no tool to read skills with.
    pub fn denies_skill(&self, skill: &str) -> Option<String> {
        let input = serde_json::json!({ "name": skill });
        let call = Call::new("skill", &input);
        let mut rules = self.disallowed.iter().chain(&self.permissions.deny);
        rules.find(|rule| rule.tool() == "skill" && rule.denies(&call)).map(ToString::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rule;

    /// N7
    #[test]
    fn a_rule_about_a_skill_denies_that_one_and_a_bare_one_all() {
        let denied = |rule: &str, skill: &str| {
            let scope = ToolScope { disallowed: vec![Rule::parse(rule).unwrap()], ..ToolScope::default() };
            scope.denies_skill(skill).is_some()
        };
        assert!(denied("Skill(deploy)", "deploy") && denied("Skill(deploy *)", "deploy"));
        assert!(denied("Skill(ops/*)", "ops/deploy") && denied("skill", "deploy"));
        assert!(!denied("Skill(deploy)", "deployment") && !denied("Read", "deploy") && !denied("*", "deploy"));
    }
}
