//! Which tools an agent has.
//!
//! Every way to say it (a list of names, permission rules, four lists of globs) is kept as it was
//! written in one [`ToolScope`]. [`ToolScope::resolve`] decides tool by tool before a run, when only
//! names are known; the linker and the toolbox are built from its result and nothing else.
//! [`ToolScope::decide`] decides about one call, when its arguments are known too.

mod delegation;
mod handing;
mod narrowing;
mod servers;
mod skills;

use serde::{Deserialize, Serialize};

use crate::{
    Call, Decision, Pattern, Policy, Rule, Verdict,
    candidate::{Candidate, Identity, ToolSource},
    lists::Lists,
    names::DELEGATION,
};

/// Which tools an agent has, as its definition says it. The default restricts nothing.
///
/// Allow lists intersect: a tool must be accepted by each that is there. Deny lists unite, and deny
/// wins. An absent list accepts everything, an empty one nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolScope {
    /// `tools`: the only ones it has.
    pub tools: Option<Vec<Rule>>,
    /// `disallowed_tools`: those it has not.
    pub disallowed: Vec<Rule>,
    /// `permissions`: rules with a decision.
    pub permissions: Policy,
    /// `tool_allowlist` and `tool_denylist`: globs over names.
    pub names: Lists,
    /// `capability_allowlist` and `capability_denylist`: globs over what a tool needs.
    pub capabilities: Lists,
}

/// What besides the definition decides which tools there are.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Who runs.
    pub identity: &'a Identity,
    /// A built-in agent: it delegates only if its definition names the tool.
    pub native: bool,
    /// Whether the run may still delegate; a spent depth removes the tools for it.
    pub may_delegate: bool,
    /// Plugin agents whose bound tools an agent of the same name from elsewhere may use; the
    /// operator's decision.
    pub binding_overrides: &'a [Identity],
}

/// The tools an agent has, and those it has not, with the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution<'a> {
    /// The tools it has: core tools first, then those of plugins, each in their own order.
    pub tools: Vec<&'a Candidate>,
    /// The others.
    pub excluded: Vec<Excluded>,
}

/// A tool an agent has not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excluded {
    /// The tool.
    pub name: String,
    /// Why, in words.
    pub reason: String,
    /// The rule or pattern that decided, as it was written.
    pub rule: Option<String>,
}

/// Tools with this beginning belong to the host: allow lists do not concern them, and only a deny
/// that names them so removes them.
const SYSTEM: &str = "system_";

impl ToolScope {
    /// Decides tool by tool which ones an agent has. Linear in the number of tools.
    pub fn resolve<'a>(&self, candidates: &'a [Candidate], around: &Surroundings<'_>) -> Resolution<'a> {
        let mut resolution = Resolution::default();
        let policies = self.policies();
        let core = candidates.iter().filter(|tool| tool.source == ToolSource::Core);
        let others = candidates.iter().filter(|tool| tool.source != ToolSource::Core);
        for tool in core.chain(others) {
            match self.exclude(tool, &policies, around) {
                None => resolution.tools.push(tool),
                Some((reason, rule)) => {
                    resolution.excluded.push(Excluded { name: tool.name().to_owned(), reason, rule });
                }
            }
        }
        resolution
    }

    /// Decides about one call of a tool that the agent has.
    pub fn decide(&self, call: &Call<'_>) -> Verdict {
        let [listed, permitted] = self.policies();
        if call.tool().starts_with(SYSTEM) {
            let denies = |policy: &Policy| {
                policy.deny.iter().find(|rule| names_system(&rule.to_string()) && rule.denies(call)).cloned()
            };
            return match denies(&listed).or_else(|| denies(&permitted)) {
                Some(rule) => Verdict {
                    decision: Decision::Deny,
                    rule: Some(rule.to_string()),
                    reason: format!("`{rule}` denies it"),
                },
                None => Verdict { decision: Decision::Allow, rule: None, reason: "a tool of the host".to_owned() },
            };
        }
        if self.comes_with_task(call.tool()) {
            return self.decide_as_task(call, &[listed, permitted]);
        }
        stricter(listed.decide(call), permitted.decide(call))
    }

    /// Whether any list says which tools there are. Without one the default scope applies.
    pub fn has_allow_list(&self) -> bool {
        self.tools.is_some() || self.permissions.allow.is_some() || self.names.allow.is_some()
    }

    /// Tools in allow lists, without wildcards, that no candidate is: often a slip of the pen, sometimes
    /// a plugin that is not there yet.
    pub fn unknown(&self, candidates: &[Candidate]) -> Vec<String> {
        let rules = self.tools.iter().flatten().chain(self.permissions.allow.iter().flatten());
        let written = rules.map(|rule| rule.as_str().split('(').next().unwrap_or_default());
        let written = written.chain(self.names.allow.iter().flatten().map(Pattern::as_str));
        let mut unknown: Vec<String> = Vec::new();
        for name in written.map(str::trim).filter(|name| !name.contains('*')) {
            let is_known = Rule::parse(name)
                .is_ok_and(|rule| candidates.iter().any(|tool| rule.matches_canonical(tool.canonical())));
            if !is_known && !unknown.iter().any(|other| other == name) {
                unknown.push(name.to_owned());
            }
        }
        unknown
    }

    /// The two sets of rules a call must pass. A list of tools says what is allowed, so beside one
    /// `permissions` without an allow list of its own only takes away.
    fn policies(&self) -> [Policy; 2] {
        let listed = Policy {
            allow: self.tools.clone(),
            ask: Vec::new(),
            deny: self.disallowed.clone(),
            default: self.tools.is_none().then_some(Decision::Allow),
        };
        let mut permitted = self.permissions.clone();
        if permitted.allow.is_none() && (self.tools.is_some() || self.names.allow.is_some()) {
            permitted.default = permitted.default.or(Some(Decision::Allow));
        }
        [listed, permitted]
    }

    fn exclude(
        &self,
        tool: &Candidate,
        policies: &[Policy; 2],
        around: &Surroundings<'_>,
    ) -> Option<(String, Option<String>)> {
        let name = tool.canonical();
        // What comes with `task` is there where that is, unless it is denied by its own name.
        let listed = if self.comes_with_task(name) { "task" } else { name };
        let is_system = name.starts_with(SYSTEM);
        let because = |reason: &str| Some((reason.to_owned(), None));
        if let Some(reason) = self.outside_default_scope(tool, around).filter(|_| !is_system) {
            return Some((reason, None));
        }
        for (policy, field) in policies.iter().zip(["tools", "permissions"]) {
            let hides = |rule: &&Rule| {
                rule.covers_all_arguments()
                    && (rule.matches_canonical(name) || rule.matches_canonical(listed))
                    && (!is_system || names_system(&rule.to_string()))
            };
            if let Some(rule) = policy.deny.iter().find(hides) {
                return Some((format!("denied by `{rule}`"), Some(rule.to_string())));
            }
            if !is_system && policy.rules_out(listed) {
                return Some((format!("not in the allow list of `{field}`"), policy.possible(listed).rule));
            }
        }
        let denies = |pattern: &Pattern| pattern.matches_canonical(name) || pattern.matches_canonical(listed);
        if let Some(pattern) =
            self.names.denies(|pattern| denies(pattern) && (!is_system || names_system(pattern.as_str())))
        {
            return Some(("denied by `tool_denylist`".to_owned(), Some(pattern.to_owned())));
        }
        if !is_system {
            if !self.names.allows(|pattern| pattern.matches_canonical(listed)) {
                return because("not in `tool_allowlist`");
            }
            for capability in tool.capabilities() {
                if let Some(pattern) = self.capabilities.denies(|pattern| pattern.matches(capability)) {
                    return Some((
                        format!("it needs `{capability}`, which `capability_denylist` denies"),
                        Some(pattern.to_owned()),
                    ));
                }
                if !self.capabilities.allows(|pattern| pattern.matches(capability)) {
                    return Some((format!("it needs `{capability}`, which is not in `capability_allowlist`"), None));
                }
            }
        }
        if let Err(reason) = tool.binding.permits(tool.name(), around.identity, around.binding_overrides) {
            return Some((reason, None));
        }
        if !around.may_delegate && DELEGATION.contains(&name) {
            return because("the run may not delegate any further");
        }
        None
    }

    /// Without an allow list a plugin's agent has the core tools and its own plugin's, and only
    /// agents that are neither built in nor restricted may start others.
    fn outside_default_scope(&self, tool: &Candidate, around: &Surroundings<'_>) -> Option<String> {
        if let Some(reason) = self.may_not_delegate(tool.canonical(), around.native) {
            return Some(reason);
        }
        match (&tool.source, &around.identity.plugin) {
            (ToolSource::Server(server), _) if !self.names_tool_of_server(tool.canonical()) => Some(format!(
                "a tool of the MCP server `{server}`; an agent has those that its `tools` name, as `mcp__{server}__*` does"
            )),
            (ToolSource::Plugin(theirs), Some(own)) if theirs != own && !self.has_allow_list() => Some(format!(
                "a tool of the plugin `{theirs}`; an agent of `{own}` without a tool list has the core tools and those of its own plugin"
            )),
            _ => None,
        }
    }
}

/// Of two verdicts, the one that counts.
fn stricter(listed: Verdict, permitted: Verdict) -> Verdict {
    if listed.decision >= permitted.decision && listed.rule.is_some() || listed.decision > permitted.decision {
        listed
    } else {
        permitted
    }
}

fn names_system(pattern: &str) -> bool {
    pattern.get(..SYSTEM.len()).is_some_and(|start| start.eq_ignore_ascii_case(SYSTEM))
}

#[cfg(test)]
mod tests;
