//! Tools of plugins as commands of an agent's shell, for agents that want them so.
//!
//! A command is another way to a tool that is in scope, and no way to one that is not: which there are is
//! taken from what the agent has, and each call is decided by the same rules.

mod arguments;

use std::sync::Arc;

use palisade_agent::{Exposure, Skill};
use palisade_grants::ToolSource;
use palisade_sandbox::{CommandTool, ShellCommand};

use crate::{Effective, EffectiveTool, OwnSkills, equip::gate, skills::listed};

/// The tool whose commands they are.
pub(crate) const SHELL: &str = "bash";

impl Effective {
    /// Whether a tool is shown to the model as one.
    pub(crate) fn is_shown(&self, tool: &EffectiveTool) -> bool {
        self.agent.exposure != Exposure::Skills || !matches!(tool.candidate.source, ToolSource::Plugin(_))
    }

    /// The tools of plugins that are commands of the agent's shell, with the plugins' names.
    pub(crate) fn commands(&self) -> impl Iterator<Item = (&EffectiveTool, &str)> {
        let wanted = self.agent.exposure != Exposure::Tools && has_shell(self);
        let tools = self.tools.iter().filter(move |tool| wanted && tool.unavailable.is_none());
        tools.filter_map(|tool| match &tool.candidate.source {
            ToolSource::Plugin(plugin) if tool.command.is_some() || tool.component.is_some() => {
                listed(&self.agent.skill_lists, plugin, None).ok().map(|()| (tool, plugin.as_str()))
            }
            _ => None,
        })
    }
}

impl EffectiveTool {
    /// What its manifest says that it does.
    fn description(&self) -> &str {
        let native = self.command.as_ref().map(|command| command.description());
        native.or_else(|| self.component.as_ref()?.description()).unwrap_or_default()
    }

    /// What its manifest says of its input.
    fn schema(&self) -> &str {
        let native = self.command.as_ref().map(|command| command.schema());
        native.or_else(|| self.component.as_ref()?.schema()).unwrap_or("{}")
    }
}

pub(crate) fn has_shell(effective: &Effective) -> bool {
    let is_shell = |tool: &EffectiveTool| tool.candidate.canonical() == SHELL && tool.unavailable.is_none();
    effective.tools.iter().any(is_shell)
}

/// The commands, for the shell.
pub(crate) fn shell_commands(effective: &Effective) -> Vec<ShellCommand> {
    let one = |(tool, _): (&EffectiveTool, &str)| {
        let name = tool.candidate.name().to_owned();
        let usage = arguments::Usage::new(&name, tool.description(), tool.schema());
        ShellCommand {
            gate: gate(name.clone(), effective),
            read: Arc::new(move |arguments, piped| usage.read(arguments, piped)),
            tool: match &tool.command {
                Some(command) => CommandTool::Program(command.call(Vec::new()), Box::new(tool.grants.clone())),
                None => CommandTool::Linked(name.clone()),
            },
            name,
        }
    };
    effective.commands().map(one).collect()
}

/// What an agent is told of them: each with the text that says how it is used, if its plugin brings one.
pub(crate) fn told(effective: &Effective, skills: &OwnSkills) -> Vec<Skill> {
    let one = |(tool, plugin): (&EffectiveTool, &str)| {
        let name = tool.candidate.name();
        let mut own = skills.known.iter().chain(&skills.readable);
        let text = own.find(|own| {
            own.skill.origin.plugin.as_deref() == Some(plugin) && [name, plugin].contains(&own.skill.name.as_str())
        });
        let path = text.map(|own| own.path.clone().unwrap_or_else(|| format!("{}/SKILL.md", own.name)));
        Skill {
            name: name.to_owned(),
            description: tool.description().to_owned(),
            path: path.unwrap_or_else(|| format!("{name} --help")),
            command: Some(name.to_owned()),
            text: String::new(),
        }
    };
    effective.commands().map(one).collect()
}
