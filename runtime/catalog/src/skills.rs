//! Which skills an agent has: the texts it is given at once, those it can read, and why it has no others.

use std::sync::Arc;

use palisade_grants::{Call, Decision, Excluded, Lists, Pattern, WorkspacePath};
use serde_json::json;

use crate::{
    Effective,
    definition::Skill,
    registry::{FoundSkill, Skills},
};

/// The tool with which skills are read.
pub(crate) const TOOL: &str = "skill";

/// Tools that read a file of the workspace.
const READERS: [&str; 2] = ["read", "bash"];

/// The skills of one agent.
#[derive(Clone, Debug, Default)]
pub struct OwnSkills {
    /// Those whose text is part of its instructions, in the order of its definition.
    pub known: Vec<OwnSkill>,
    /// Those that it can read, by name.
    pub readable: Vec<OwnSkill>,
    /// Those that it has not, with the reason.
    pub excluded: Vec<Excluded>,
    /// What its author should know.
    pub warnings: Vec<String>,
}

/// A skill of an agent.
#[derive(Clone, Debug)]
pub struct OwnSkill {
    /// What the agent knows it by: `name`, or `plugin/name` where its definition says so.
    pub name: String,
    /// The skill.
    pub skill: Arc<Skill>,
    /// Its file in the workspace, if the agent can read it there.
    pub path: Option<String>,
}

/// Why an agent has not got a skill, and the rule that decided.
pub(crate) type Reason = (String, Option<String>);

/// Works out which of the skills there are an agent has.
pub fn skills_of(effective: &Effective, skills: &Skills) -> OwnSkills {
    let mut own = OwnSkills::default();
    for name in &effective.agent.skills {
        let found = skills.find(name).ok_or_else(|| skills.unknown(name).to_string());
        match found.and_then(|found| known(effective, name, found).map_err(|(reason, _)| reason)) {
            Ok(skill) if own.known.iter().any(|other| other.skill.origin == skill.skill.origin) => {}
            Ok(skill) => own.known.push(skill),
            Err(reason) => own.warnings.push(format!("the skill `{name}` is left out: {reason}")),
        }
    }
    for found in skills.entries() {
        if own.known.iter().any(|known| known.skill.origin == found.origin) {
            continue;
        }
        match readable(effective, found) {
            Ok(skill) => own.readable.push(skill),
            Err((reason, rule)) => own.excluded.push(Excluded { name: found.name.clone(), reason, rule }),
        }
    }
    own
}

impl OwnSkills {
    /// Whether the agent has any.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty() && self.readable.is_empty()
    }

    pub(crate) fn find(&self, name: &str) -> Option<&OwnSkill> {
        self.known.iter().chain(&self.readable).find(|own| own.name == name)
    }
}

/// A skill that the definition names, to be given at once.
fn known(effective: &Effective, name: &str, found: &FoundSkill) -> Result<OwnSkill, Reason> {
    let skill = permitted(effective, found)?;
    let path = place(effective, found)?;
    Ok(OwnSkill { name: name.to_owned(), skill, path: path.filter(|path| reads(effective, path)) })
}

/// A skill that the agent can read: with the tool for that, or as a file of the workspace.
fn readable(effective: &Effective, found: &FoundSkill) -> Result<OwnSkill, Reason> {
    let skill = permitted(effective, found)?;
    let path = place(effective, found)?.filter(|path| reads(effective, path));
    let names = [Some(found.name.clone()), found.full_name()];
    let verdicts = names.iter().flatten().map(|name| {
        let input = json!({ "name": name });
        effective.agent.scope.decide(&Call::new(TOOL, &input))
    });
    let has_tool = effective.tools.iter().any(|tool| tool.candidate.canonical() == TOOL);
    if !has_tool && path.is_none() {
        let reason = match found.project {
            Some(_) => "the agent has no tool that reads its file",
            None => "it lies outside of the workspace, and the agent has no tool `skill` to read it with",
        };
        return Err((reason.to_owned(), None));
    }
    if has_tool
        && let Some(denied) = verdicts.min_by_key(|verdict| verdict.decision)
        && denied.decision == Decision::Deny
    {
        return Err((denied.reason, denied.rule));
    }
    Ok(OwnSkill { name: found.name.clone(), skill, path })
}

/// The skill, if it can be used and neither lists nor rules are against it.
fn permitted(effective: &Effective, found: &FoundSkill) -> Result<Arc<Skill>, Reason> {
    let skill = found.usable().map_err(|error| (error.to_string(), None))?;
    let full = found.full_name();
    let id = found.origin.plugin.as_deref().unwrap_or(&found.name);
    listed(&effective.agent.skill_lists, id, full.as_deref())?;
    let denied = |name: &str| effective.agent.scope.denies_skill(name);
    if let Some(rule) = denied(&found.name).or_else(|| full.as_deref().and_then(denied)) {
        return Err((format!("denied by `{rule}`"), Some(rule)));
    }
    if skill.for_people_only {
        return Err(("its file says `disable-model-invocation: true`".to_owned(), None));
    }
    Ok(Arc::clone(skill))
}

/// Asks the lists, which are about plugins by their ids; a skill of no plugin is meant by its name.
pub(crate) fn listed(lists: &Lists, id: &str, full: Option<&str>) -> Result<(), Reason> {
    let fits = |pattern: &&Pattern| pattern.matches(id) || full.is_some_and(|full| pattern.matches(full));
    if lists.allow.as_ref().is_some_and(|allow| !allow.iter().any(|pattern| fits(&pattern))) {
        return Err(("not in `skill_allowlist`".to_owned(), None));
    }
    match lists.deny.iter().find(fits) {
        Some(pattern) => Err(("denied by `skill_denylist`".to_owned(), Some(pattern.as_str().to_owned()))),
        None => Ok(()),
    }
}

/// Where a skill of the project lies in the workspace. A file that is hidden from an agent, or outside of its
/// folders, does not reach it as a skill either.
fn place(effective: &Effective, found: &FoundSkill) -> Result<Option<String>, Reason> {
    match &found.project {
        None => Ok(None),
        Some(file) if may_read(effective, &file.relative) => Ok(Some(file.relative.clone())),
        Some(file) => Err((format!("the agent may not read `{}`", file.relative), None)),
    }
}

/// Whether an agent may read a file of the workspace.
pub(crate) fn may_read(effective: &Effective, path: &str) -> bool {
    let files = &effective.grants.files;
    WorkspacePath::parse(path).is_ok_and(|path| !files.hides(&path) && files.access(&path).is_some())
}

/// Whether it has a tool to do it with.
fn reads(effective: &Effective, path: &str) -> bool {
    let Ok(path) = WorkspacePath::parse(path) else { return false };
    let readers = effective.tools.iter().filter(|tool| READERS.contains(&tool.candidate.canonical()));
    let mut files = readers.filter(|tool| tool.unavailable.is_none()).map(|tool| &tool.grants.files);
    files.any(|files| !files.hides(&path) && files.access(&path).is_some())
}

#[cfg(test)]
pub(crate) mod tests;
