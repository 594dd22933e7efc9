//! An agent's definition: Markdown, with its settings in front.

use std::time::Duration;

use palisade_agent::{Agent, Budget};
use palisade_grants::{Access, Capability, FilesGrant, Grants};
use palisade_sandbox::Limits;
use serde::Deserialize;

use crate::BuiltIn;

/// An agent and what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Who it is.
    pub agent: Agent,
    /// What it may touch.
    pub grants: Grants,
    /// What each of its calls may use up.
    pub limits: Limits,
}

/// Why a text is no definition.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// There are no settings in front.
    #[error("Invalid markdown format: missing YAML frontmatter; begin the file with `---`, the settings, and `---`")]
    NoFrontmatter,
    /// The settings do not fit.
    #[error("Failed to parse agent frontmatter: {0}")]
    Frontmatter(#[from] serde_yaml::Error),
    /// The name is missing.
    #[error("Agent name is required")]
    NoName,
    /// A tool that does not exist.
    #[error("there is no tool `{0}`; there are {known}", known = BuiltIn::all().map(|tool| tool.name).collect::<Vec<_>>().join(", "))]
    UnknownTool(String),
}

/// The settings as they are written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frontmatter {
    name: String,
    description: String,
    tools: Vec<String>,
    max_steps: Option<u32>,
    /// Seconds.
    timeout: Option<u64>,
    grants: Option<Grants>,
}

impl Definition {
    /// Parses a Markdown file with frontmatter.
    pub fn parse(text: &str) -> Result<Self, DefinitionError> {
        let (frontmatter, body) = split(text).ok_or(DefinitionError::NoFrontmatter)?;
        let Frontmatter { name, description, tools, max_steps, timeout, grants } = serde_yaml::from_str(frontmatter)?;
        if name.is_empty() {
            return Err(DefinitionError::NoName);
        }
        let writes = tools_write(&tools)?;
        let prompt = Some(body.trim().to_owned()).filter(|body| !body.is_empty());
        let default = Budget::default();
        let budget = Budget {
            steps: max_steps.unwrap_or(default.steps),
            time: timeout.map_or(default.time, Duration::from_secs),
        };
        Ok(Self {
            agent: Agent { name, description, prompt, tools, budget },
            grants: grants.unwrap_or_else(|| derived(writes)),
            limits: Limits::STANDARD,
        })
    }
}

/// The grants of a definition that names none: the workspace, read-only unless one of its tools
/// writes.
fn derived(writes: bool) -> Grants {
    let access = if writes { Access::ReadWrite } else { Access::Read };
    Grants { files: FilesGrant::workspace(access), storage: None }
}

fn tools_write(tools: &[String]) -> Result<bool, DefinitionError> {
    let mut writes = false;
    for name in tools {
        let tool = BuiltIn::find(name).ok_or_else(|| DefinitionError::UnknownTool(name.clone()))?;
        writes |= tool.description().capabilities.contains(&Capability::FsWrite);
    }
    Ok(writes)
}

/// The settings between two lines of `---`, and what follows.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches('\u{feff}');
    let rest = text.strip_prefix("---")?;
    let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
    let mut offset = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..offset], &rest[offset + line.len()..]));
        }
        offset += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(tools: &str) -> Result<Definition, DefinitionError> {
        Definition::parse(&format!("---\nname: a\ndescription: b\ntools: [{tools}]\n---\nDo it.\n---\nReally.\n"))
    }

    #[test]
    fn an_agent_without_a_writing_tool_gets_the_workspace_read_only() {
        assert_eq!(parse("read, grep").unwrap().grants.files, FilesGrant::workspace(Access::Read));
        assert_eq!(parse("read, write").unwrap().grants.files, FilesGrant::workspace(Access::ReadWrite));
    }

    #[test]
    fn the_body_is_the_prompt_and_may_hold_rules() {
        assert_eq!(parse("read").unwrap().agent.prompt.as_deref(), Some("Do it.\n---\nReally."));
    }

    #[test]
    fn what_is_misspelt_is_an_error() {
        assert!(matches!(parse("raed"), Err(DefinitionError::UnknownTool(name)) if name == "raed"));
        let text = "---\nname: a\ndescription: b\ntools: []\nmax_stepps: 3\n---\n";
        assert!(matches!(Definition::parse(text), Err(DefinitionError::Frontmatter(_))));
        assert!(matches!(Definition::parse("plain text"), Err(DefinitionError::NoFrontmatter)));
    }
}
