//! What an agent is told of the place it works in.

use std::path::Path;

use cap_std::fs::Dir;
use palisade_agent::{Skill, Surroundings};
use palisade_grants::WorkspacePath;

use crate::{Effective, OwnSkill, OwnSkills, Registry, registry::read_below, shell_commands, skills_of};

/// Where a workspace says how work is done in it.
const GUIDANCE: &str = "AGENTS.md";

/// Looks around: skills, the agents that can be asked, and what the workspace says. Made anew for every run.
pub fn surroundings(effective: &Effective, registry: &Registry, workspace: &Path) -> Surroundings {
    // Who gives tasks finds the agents in the description of that tool.
    let asks = effective.tools.iter().any(|tool| tool.candidate.canonical() == "agents_message");
    let peers = registry.peer_section(&effective.agent).filter(|_| asks);
    let own = skills_of(effective, &registry.skills());
    let skills = shell_commands::told(effective, &own);
    let OwnSkills { known, readable, .. } = own;
    Surroundings {
        skills,
        known_skills: known.into_iter().map(|own| Skill { text: own.skill.text.clone(), ..told(own) }).collect(),
        readable_skills: readable.into_iter().map(told).collect(),
        peers,
        guidance: guidance(effective, workspace),
        ..Surroundings::default()
    }
}

/// What is told of a skill before it is read.
fn told(own: OwnSkill) -> Skill {
    let description = own.skill.description.clone();
    Skill { name: own.name, description, path: own.path.unwrap_or_default(), ..Skill::default() }
}

/// What the workspace says, if the agent may read it there: a file that is hidden from it, or outside
/// of its folders, does not reach it through its instructions either.
fn guidance(effective: &Effective, workspace: &Path) -> Option<String> {
    let path = WorkspacePath::parse(GUIDANCE).ok()?;
    let files = &effective.grants.files;
    if files.hides(&path) || files.access(&path).is_none() {
        return None;
    }
    let dir = Dir::open_ambient_dir(workspace, cap_std::ambient_authority()).ok()?;
    // A link could lead to what is hidden from the agent, also inside of the workspace.
    if !dir.symlink_metadata(GUIDANCE).ok()?.is_file() {
        return None;
    }
    let bytes = read_below(&dir, GUIDANCE)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Presence, Source, parse_markdown};
    use crate::{available, effective};

    #[expect(clippy::disallowed_methods, reason = "makes a workspace of its own")]
    fn guided(definition: &str, prepare: impl FnOnce(&Path)) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("outside.md"), "stolen").unwrap();
        let workspace = folder.path().join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        prepare(&workspace);
        let registry = Registry::built_in();
        let origin = palisade_agent::Origin::default();
        let description = Presence::Required;
        let source = Source { file: "a.md", origin, fallback_name: None, required_name: None, description };
        let agent = parse_markdown(definition.as_bytes(), &source).unwrap().agent;
        let effective = effective(&agent, &available(&registry), &registry);
        surroundings(&effective, &registry, &workspace).guidance
    }

    #[expect(clippy::disallowed_methods, reason = "makes a workspace of its own")]
    fn put(workspace: &Path) {
        std::fs::write(workspace.join("AGENTS.md"), "Run `make test`.").unwrap();
    }

    const READER: &str = "---\nname: a\ndescription: b\n---\n";
    const BLIND: &str = "---\nname: a\ndescription: b\npermissions: { deny: [\"Read(AGENTS.md)\"] }\n---\n";
    const ELSEWHERE: &str = "---\nname: a\ndescription: b\ngrants: { files: { src: read } }\n---\n";

    #[test]
    fn the_workspaces_own_words_reach_an_agent_that_may_read_them() {
        assert_eq!(guided(READER, put).as_deref(), Some("Run `make test`."));
        assert_eq!(guided(READER, |_| ()), None);
        assert_eq!(guided(BLIND, put), None);
        assert_eq!(guided(ELSEWHERE, put), None);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes a link in a workspace of its own")]
    fn a_link_is_not_followed_out_of_the_workspace_or_to_what_is_hidden() {
        let link = |workspace: &Path| std::os::unix::fs::symlink("../outside.md", workspace.join("AGENTS.md")).unwrap();
        assert_eq!(guided(READER, link), None);
        let hidden = "---\nname: a\ndescription: b\npermissions: { deny: [\"Read(.env)\"] }\n---\n";
        let inside = |workspace: &Path| {
            std::fs::write(workspace.join(".env"), "secret").unwrap();
            std::os::unix::fs::symlink(".env", workspace.join("AGENTS.md")).unwrap();
        };
        assert_eq!(guided(hidden, inside), None);
    }
}
