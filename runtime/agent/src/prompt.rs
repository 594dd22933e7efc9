//! The instructions a model is given. They are put together anew for every run: who the agent is, how
//! it works, then one section for each thing that is around it. Sections inform; what an agent may do is
//! decided elsewhere.

mod fill;
mod sections;

use crate::{Agent, Panels, ToolSpec};
pub(crate) use fill::fill;

const BASE: &str = include_str!("prompt/base.md");
const DEFAULT: &str = include_str!("prompt/default.md");
const TASK: &str = include_str!("prompt/task.md");

/// What is around a run: all that the instructions tell of besides the agent and its tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Plugins that are used as commands, for agents that want them so.
    pub skills: Vec<Skill>,
    /// Texts of skills that the agent wants to have at once.
    pub known_skills: Vec<Skill>,
    /// Skills whose text the agent can read when it needs it.
    pub readable_skills: Vec<Skill>,
    /// Things the user keeps, such as lists and notes, for agents with tools for them.
    pub items: Vec<Item>,
    /// Whether the client puts a line of context before what its user says.
    pub context_lines: bool,
    /// What the user has open.
    pub panels: Panels,
    /// The agents that can be asked, one line for each, and how.
    pub peers: Option<String>,
    /// What the workspace says about working in it: the text of its `AGENTS.md`.
    pub guidance: Option<String>,
}

/// A skill: a text that says how something is done, and maybe a command that does it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skill {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where its text is, if that is a file the agent can read.
    pub path: String,
    /// The command, if it has one.
    pub command: Option<String>,
    /// The text itself.
    pub text: String,
}

/// Something the user keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// `lists`, `notes`, …
    pub kind: String,
    /// What the tools know it by.
    pub id: String,
    /// What the user calls it.
    pub name: String,
}

/// Builds the instructions for one run. `task` is what the conversation began with: it takes the place
/// of `{{task}}`, or follows at the end.
pub fn instructions(agent: &Agent, tools: &[ToolSpec], around: &Surroundings, task: &str) -> String {
    let own = agent.prompt.as_deref().map(str::trim).filter(|prompt| !prompt.is_empty());
    let base = own.map_or_else(|| introduction(agent), |prompt| fill(prompt, &[("task", task)]));
    let mut parts = vec![fill(BASE, &[("base", &base)])];
    parts.extend(sections::all(agent, tools, around));
    if !own.is_some_and(|prompt| fill::holds(prompt, "task")) && !task.trim().is_empty() {
        parts.push(fill(TASK, &[("task", task)]));
    }
    parts.iter().map(|part| part.trim_end()).collect::<Vec<_>>().join("\n\n")
}

/// What an agent without a prompt is told of itself.
fn introduction(agent: &Agent) -> String {
    if agent.name.is_empty() {
        return DEFAULT.trim_end().to_owned();
    }
    format!("You are {}. {}", agent.display_name(), agent.description).trim_end().to_owned()
}

#[cfg(test)]
mod tests;
