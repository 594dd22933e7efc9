//! The tool `skill`: the host reads a skill for an agent. It reaches the skills that the agent has and what lies
//! in their folders, and changes nothing.

use std::{fmt::Write as _, sync::Arc, time::Instant};

use async_trait::async_trait;
use palisade_agent::{FailureKind, Progress, Tool, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use crate::{
    Effective, Registry,
    registry::{FoundSkill, SkillPlaces},
    skills::{TOOL, may_read, skills_of},
};

/// The tool with which an agent reads its skills; nothing if it has none to read, or not the tool.
pub fn skill_tool(effective: &Effective, registry: &Registry) -> Option<Arc<dyn Tool>> {
    let is_there = effective.tools.iter().any(|tool| tool.candidate.canonical() == TOOL);
    let places = registry.skill_places().filter(|_| is_there)?;
    (!skills_of(effective, &places.look()).is_empty())
        .then(|| {
            Arc::new(SkillTool { spec: spec(), reader: Arc::new(Reader { effective: effective.clone(), places }) })
        })
        .map(|tool| tool as Arc<dyn Tool>)
}

fn spec() -> ToolSpec {
    let text = json!({ "type": "string" });
    ToolSpec {
        name: TOOL.to_owned(),
        description: "Reads a skill: how something is done. With `file`, reads a file that belongs to it.".to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": { "name": text, "file": text },
            "required": ["name"],
            "additionalProperties": false,
        }),
        capabilities: Vec::new(),
        read_only: true,
        idempotent: true,
    }
}

struct SkillTool {
    spec: ToolSpec,
    reader: Arc<Reader>,
}

/// What is read anew for each call, with what the agent may do.
struct Reader {
    effective: Effective,
    places: SkillPlaces,
}

#[derive(Deserialize)]
struct Input {
    name: String,
    file: Option<String>,
}

#[async_trait]
impl Tool for SkillTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, input: &str, _: &Progress) -> ToolResult {
        let since = Instant::now();
        let input: Input = match serde_json::from_str(input) {
            Ok(input) => input,
            Err(error) => return ToolResult::failed(FailureKind::InvalidInput, error.to_string()),
        };
        let reader = Arc::clone(&self.reader);
        let read = tokio::task::spawn_blocking(move || reader.read(&input)).await;
        let mut result = match read {
            Ok(Ok(text)) => ToolResult::done(text),
            Ok(Err(why)) => ToolResult::failed(FailureKind::Failed, why),
            Err(error) => ToolResult::failed(FailureKind::Crashed, error.to_string()),
        };
        result.cost.duration = since.elapsed();
        result
    }
}

impl Reader {
    fn read(&self, input: &Input) -> Result<String, String> {
        let skills = self.places.look();
        let own = skills_of(&self.effective, &skills);
        let name = input.name.trim();
        let Some((skill, found)) = own.find(name).zip(skills.find(name)) else {
            let why = own.excluded.iter().find(|excluded| excluded.name == name);
            let why = why.map_or_else(
                || skills.unknown(name).to_string(),
                |excluded| format!("the skill `{name}` cannot be read: {}", excluded.reason),
            );
            let names: Vec<&str> = own.known.iter().chain(&own.readable).map(|own| own.name.as_str()).collect();
            return Err(format!("{why}; there are: {}", names.join(", ")));
        };
        match &input.file {
            Some(file) => self.file(found, file),
            None => Ok(format!("{}\n{}", skill.skill.text, self.files(found))),
        }
    }

    /// A file of a project's skill is a file of the workspace: it is read if the agent may read it there.
    fn file(&self, found: &FoundSkill, file: &str) -> Result<String, String> {
        if !self.may_read(found, file) {
            return Err(format!("the agent may not read the file `{file}` of the skill `{}`", found.name));
        }
        found.file(file)
    }

    fn may_read(&self, found: &FoundSkill, file: &str) -> bool {
        let folder = found.project.as_ref().and_then(|project| project.relative.rsplit_once('/'));
        folder.is_none_or(|(folder, _)| may_read(&self.effective, &format!("{folder}/{file}")))
    }

    fn files(&self, found: &FoundSkill) -> String {
        let mut text = String::new();
        if let Some((folder, _)) = found.project.as_ref().and_then(|project| project.relative.rsplit_once('/')) {
            let _ = write!(text, "\nThe folder of the skill is `{folder}`.");
        }
        let files: Vec<_> = found.files().into_iter().filter(|file| self.may_read(found, &file.path)).collect();
        if !files.is_empty() {
            text.push_str("\nFiles of the skill, to be read with `file`:");
        }
        for file in files {
            let _ = write!(text, "\n- {} ({} bytes)", file.path, file.size);
        }
        text
    }
}

#[cfg(test)]
mod tests;
