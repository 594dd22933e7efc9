//! Tools of MCP servers: an agent has those that its definition names.

use super::ToolScope;
use crate::{Pattern, Rule};

/// What the names of these tools begin with.
const PREFIX: &str = "mcp__";

impl ToolScope {
    /// Whether an allow list names a tool of a server as such: by `mcp__server`, `mcp__server__tool` or a pattern that
    /// begins so. `*` was written by somebody who thought of the tools there were.
    pub(super) fn names_tool_of_server(&self, tool: &str) -> bool {
        self.naming_servers().any(|rule| rule.matches_canonical(tool))
            || self.names.allow.iter().flatten().any(|name| of_server(name.as_str()) && name.matches_canonical(tool))
    }

    /// Whether an allow list may mean a tool of this server.
    pub fn names_server(&self, server: &str) -> bool {
        let prefix = format!("{PREFIX}{}__", server.to_lowercase());
        let listed = self.names.allow.iter().flatten().map(Pattern::as_str).filter(|name| of_server(name));
        self.naming_servers().map(Rule::tool).chain(listed).any(|written| may_mean(&written.to_lowercase(), &prefix))
    }

    fn naming_servers(&self) -> impl Iterator<Item = &Rule> {
        let rules = self.tools.iter().flatten().chain(self.permissions.allow.iter().flatten());
        rules.filter(|rule| of_server(rule.tool()))
    }
}

fn of_server(written: &str) -> bool {
    written.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

/// Whether something that begins with a prefix may fit what was written, as far as its first wildcard tells.
fn may_mean(written: &str, prefix: &str) -> bool {
    match written.split_once('*') {
        Some((literal, _)) => prefix.starts_with(literal) || literal.starts_with(prefix),
        None => written.starts_with(prefix) || format!("{written}__") == prefix,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Candidate, Identity, Surroundings, ToolSource};

    use super::*;

    fn scope(tools: &[&str]) -> ToolScope {
        let tools = tools.iter().map(|text| Rule::parse(text).unwrap()).collect();
        ToolScope { tools: Some(tools), ..ToolScope::default() }
    }

    /// The tools of two servers that a scope has.
    fn resolved(scope: &ToolScope) -> Vec<String> {
        let tool = |server: &str, name: &str| {
            Candidate::new(format!("mcp__{server}__{name}"), [], ToolSource::Server(server.to_owned()))
        };
        let candidates = [tool("hub", "read"), tool("hub", "write"), tool("hubx", "read")];
        let identity = Identity::of("a");
        let around = Surroundings { identity: &identity, native: false, may_delegate: true, binding_overrides: &[] };
        scope.resolve(&candidates, &around).tools.iter().map(|tool| tool.name().to_owned()).collect()
    }

    /// DF-17
    #[test]
    fn an_agent_has_the_tools_of_servers_that_it_names_and_no_others() {
        assert_eq!(resolved(&ToolScope::default()), Vec::<String>::new(), "no list names none of them");
        assert_eq!(resolved(&scope(&["*"])), Vec::<String>::new());
        assert_eq!(resolved(&scope(&["mcp__hub"])), ["mcp__hub__read", "mcp__hub__write"]);
        assert_eq!(resolved(&scope(&["mcp__hub__*"])), ["mcp__hub__read", "mcp__hub__write"]);
        assert_eq!(resolved(&scope(&["MCP__Hub__Read"])), ["mcp__hub__read"]);
        assert_eq!(resolved(&scope(&["mcp__*"])).len(), 3);
        let mut denying = scope(&["mcp__*"]);
        denying.disallowed.push(Rule::parse("mcp__hub").unwrap());
        assert_eq!(resolved(&denying), ["mcp__hubx__read"]);
        let listed = ToolScope {
            names: crate::Lists {
                allow: Some(vec![Pattern::parse("mcp__hub__r*").unwrap()]),
                ..crate::Lists::default()
            },
            ..ToolScope::default()
        };
        assert_eq!(resolved(&listed), ["mcp__hub__read"]);
    }

    #[test]
    fn a_server_is_named_where_one_of_its_tools_may_be_meant() {
        for named in
            ["mcp__hub", "mcp__hub__*", "mcp__hub__read", "mcp__*", "mcp__h*", "mcp__*__read", "MCP__HUB__read"]
        {
            assert!(scope(&[named]).names_server("hub"), "{named}");
        }
        for other in ["mcp__hubx", "mcp__hubx__*", "mcp__hu", "*", "read", "mcp__x*"] {
            assert!(!scope(&[other]).names_server("hub"), "{other}");
        }
        assert!(!ToolScope::default().names_server("hub"));
    }
}
