//! Who may ask other agents, and which.

use super::{ToolScope, stricter};
use crate::{
    Call, Policy, Verdict,
    names::{DELEGATION, WITH_TASK},
};

impl ToolScope {
    /// Why an agent has not got a tool for asking others, as long as only the default scope is looked at: it
    /// gives tasks only if its definition names `task`, or restricts nothing and is not built in.
    pub(super) fn may_not_delegate(&self, tool: &str, native: bool) -> Option<String> {
        if !DELEGATION.contains(&tool) || self.names_tool(tool) {
            return None;
        }
        let gives_tasks = tool == "task" || WITH_TASK.contains(&tool);
        if gives_tasks && (self.names_tool("task") || !native && !self.has_allow_list()) || !gives_tasks && !native {
            return None;
        }
        let wanted = if gives_tasks { "task" } else { tool };
        Some(format!("an agent delegates only if its definition names `{wanted}`"))
    }

    /// Whether a tool is there because `task` is.
    pub(super) fn comes_with_task(&self, tool: &str) -> bool {
        WITH_TASK.contains(&tool) && !self.names_tool(tool)
    }

    /// Decides about a call of a tool that comes with `task`: what is denied of either is denied; the agents
    /// that it names are those of `task`; without any, it is about tasks that were allowed.
    pub(super) fn decide_as_task(&self, call: &Call<'_>, [listed, permitted]: &[Policy; 2]) -> Verdict {
        if let Some(denied) = listed.denied(call).or_else(|| permitted.denied(call)) {
            return denied;
        }
        match call.as_task() {
            Some(task) => stricter(listed.decide(&task), permitted.decide(&task)),
            None => stricter(listed.possible("task"), permitted.possible("task")),
        }
    }

    /// Whether an agent may not be asked, in whatever way, because a deny rule names it.
    pub fn denies_agent(&self, agent: &str) -> Option<String> {
        let input = serde_json::json!({ "agent": agent });
        let call = Call::new("task", &input);
        let mut rules = self.disallowed.iter().chain(&self.permissions.deny);
        rules.find(|rule| rule.specifier().is_some() && rule.denies(&call)).map(ToString::to_string)
    }

    /// Whether a definition names a tool with which other agents are asked.
    pub fn asks_others(&self) -> bool {
        DELEGATION.iter().any(|tool| self.names_tool(tool))
    }

    /// Whether an allow list names a tool, and not merely everything.
    fn names_tool(&self, tool: &str) -> bool {
        let rules = self.tools.iter().flatten().chain(self.permissions.allow.iter().flatten());
        rules.filter(|rule| !rule.as_str().starts_with('*')).any(|rule| rule.matches_canonical(tool))
            || self
                .names
                .allow
                .iter()
                .flatten()
                .any(|pattern| !pattern.is_universal() && pattern.matches_canonical(tool))
    }
}
