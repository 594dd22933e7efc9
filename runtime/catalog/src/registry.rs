//! The agents there are.

use crate::{Definition, DefinitionError};

/// The agents there are, by name.
pub struct Registry {
    definitions: Vec<Definition>,
}

/// There is no agent of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no agent `{name}`; there are {}", known.join(", "))]
pub struct UnknownAgent {
    /// The name that was asked for.
    pub name: String,
    /// The names there are.
    pub known: Vec<String>,
}

const BUILT_IN: [&str; 2] = [include_str!("../../../agents/explore.md"), include_str!("../../../agents/general.md")];

impl Registry {
    /// The agents that are part of this program.
    pub fn built_in() -> Result<Self, DefinitionError> {
        let definitions = BUILT_IN.into_iter().map(Definition::parse).collect::<Result<_, _>>()?;
        Ok(Self { definitions })
    }

    /// Finds an agent.
    pub fn find(&self, name: &str) -> Result<&Definition, UnknownAgent> {
        self.definitions
            .iter()
            .find(|definition| definition.agent.name == name)
            .ok_or_else(|| UnknownAgent { name: name.to_owned(), known: self.names() })
    }

    /// Every agent.
    pub fn all(&self) -> &[Definition] {
        &self.definitions
    }

    /// The names of all agents.
    pub fn names(&self) -> Vec<String> {
        self.definitions.iter().map(|definition| definition.agent.name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_agents_load_and_are_what_they_say() {
        let registry = Registry::built_in().unwrap();
        assert_eq!(registry.names(), ["explore", "general"]);
        assert!(!registry.find("explore").unwrap().grants.files.writes());
        assert!(registry.find("general").unwrap().grants.files.writes());
        assert_eq!(
            registry.find("exploer").unwrap_err().to_string(),
            "there is no agent `exploer`; there are explore, general"
        );
    }
}
