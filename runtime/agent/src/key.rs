//! What an agent is called in the pool: equal keys are a promise that one may be used for the other.

use sha2::{Digest as _, Sha256};

use crate::Agent;

impl Agent {
    /// `agent-{name}`, or `plugin-{plugin}-{name}`. A dash in the plugin's name is doubled, so that
    /// the agent `b-c` of the plugin `a` and the agent `c` of the plugin `a-b` are two.
    pub fn base_key(&self) -> String {
        match &self.origin.plugin {
            Some(plugin) => format!("plugin-{}-{}", plugin.replace('-', "--"), self.name),
            None => format!("agent-{}", self.name),
        }
    }

    /// The base key, and what the prompt and the tools are.
    pub fn pool_key<'a>(&self, tools: impl IntoIterator<Item = &'a str>) -> String {
        let mut tools: Vec<&str> = tools.into_iter().collect();
        tools.sort_unstable();
        let prompt = short_hash(self.prompt.is_some(), self.prompt.as_deref());
        // An agent without a list and one with a list of the same tools differ as soon as a tool is added.
        let tools = short_hash(self.scope.has_allow_list(), tools);
        format!("{}@{prompt}@{tools}", self.base_key())
    }
}

/// Each part is hashed with its length, and whether there was anything at all: `["ab"]`, `["a", "b"]`,
/// `[]` and nothing are four different things.
fn short_hash<'a>(is_said: bool, parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    hash.update([u8::from(is_said)]);
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;

    fn of_plugin(plugin: &str, name: &str) -> Agent {
        Agent { origin: Origin::plugin(plugin, "plugin.json"), ..Agent::new(name, "") }
    }

    /// H1, H22, H23, DF-5
    #[test]
    fn agents_of_two_plugins_never_share_a_key() {
        assert_eq!(Agent::new("code-reviewer", "").base_key(), "agent-code-reviewer");
        assert_eq!(of_plugin("a", "helper").base_key(), "plugin-a-helper");
        assert_eq!(of_plugin("b", "helper").base_key(), "plugin-b-helper");
        assert_ne!(of_plugin("a", "b-c").base_key(), of_plugin("a-b", "c").base_key());
    }

    /// E20, H2, H3, H4, H5, H6, U5, DF-3, R4
    #[test]
    fn another_prompt_or_another_tool_is_another_key() {
        let agent = Agent::new("a", "").with_prompt("Do it.");
        let key = agent.pool_key(["read", "grep"]);
        assert!(key.starts_with("agent-a@") && key.len() == "agent-a@".len() + 17, "{key}");
        assert_eq!(key, agent.pool_key(["grep", "read"]));
        assert_ne!(key, agent.pool_key(["grep"]));
        assert_ne!(key, Agent::new("a", "").with_prompt("Do it!").pool_key(["read", "grep"]));
        assert_ne!(agent.pool_key(["ab"]), agent.pool_key(["a", "b"]));
        let mut listed = agent.clone();
        listed.scope.tools = Some(Vec::new());
        assert_ne!(listed.pool_key([]), agent.pool_key([]));
        assert_ne!(Agent::new("a", "").pool_key([]), Agent::new("a", "").with_prompt("").pool_key([]));
    }
}
