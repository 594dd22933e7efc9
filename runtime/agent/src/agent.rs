//! The definition of an agent, whatever it was read from.

use std::{collections::BTreeMap, time::Duration};

use palisade_grants::{Grants, Identity, Lists, Policy, ToolScope};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Budget, ModelName, Origin};

/// A definition: who an agent is, which tools it has, and what one run may use up.
///
/// Markdown, YAML, configuration files, plugin manifests and code all become this one value. What
/// the definition does not say is absent here, so that it can be written back as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// What it is called by.
    pub name: String,
    /// What people read, if not the name.
    pub display_name: Option<String>,
    /// What it is for, in a sentence.
    pub description: String,
    /// What its model is told beside the base rules; may hold `{{task}}`.
    pub prompt: Option<String>,
    /// The model it speaks to; absent: its parent's, at the root the configured one.
    pub model: Option<ModelName>,
    /// How freely the model chooses its words, 0 to 1.
    pub temperature: Option<f64>,
    /// How long the model thinks.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// How long one reply of the model may be.
    pub max_tokens: Option<u32>,
    /// Which tools it has.
    pub scope: ToolScope,
    /// How its permissions are meant where a rule asks.
    pub permission_mode: Option<PermissionMode>,
    /// Which other agents it sees and may ask.
    pub peers: Lists,
    /// Which plugins it may use as skills.
    pub skill_lists: Lists,
    /// Skills whose text it gets at once.
    pub skills: Vec<String>,
    /// Whether plugins are shown to it as tools or as commands.
    pub exposure: Exposure,
    /// What carries it out.
    pub runtime: Runtime,
    /// Not listed, but it answers when called by name.
    pub hidden: bool,
    /// Not listed and not to be asked by other agents, if false.
    pub ui_visible: bool,
    /// Kept for old files; nothing reads it.
    pub api_exposed: bool,
    /// What it may touch; absent: derived from its tools.
    pub grants: Option<Grants>,
    /// What each of its calls may use up.
    pub limits: CallLimits,
    /// What one run may use up.
    pub budget: RunLimits,
    /// When it was written, as the file says.
    pub created_at: Option<String>,
    /// When it was changed, as the file says.
    pub updated_at: Option<String>,
    /// Settings that mean nothing to us, kept for whoever they mean something to.
    pub extra: BTreeMap<String, Value>,
    /// Part of this program.
    pub native: bool,
    /// Where it was read from.
    pub origin: Origin,
}

/// How long a model thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningEffort {
    /// Shortly.
    Low,
    /// As usual.
    Medium,
    /// Thoroughly.
    High,
    /// As its parent does.
    Inherit,
}

/// What becomes of a call that a rule wants to be asked about, and what the agent is kept to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionMode {
    /// Somebody is asked; without anybody it is refused.
    Default,
    /// Nobody is asked: it is refused.
    DontAsk,
    /// Nothing may be changed, whatever the tools could do.
    Plan,
}

/// Whether plugins are shown to a model as tools, as commands of its shell, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exposure {
    /// As tools.
    #[default]
    Tools,
    /// As commands.
    Skills,
    /// As both.
    Mixed,
}

/// What carries an agent out.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Runtime {
    /// Nothing was said: our loop and the configured model.
    #[default]
    Unsaid,
    /// Our loop, with a provider of the definition's choice and its settings.
    Chat {
        /// `openai`, `openai-compatible`, `claude-cli`, `codex-cli`, `pi-cli`, …
        provider: Option<String>,
        /// What else the definition says for it.
        settings: BTreeMap<String, Value>,
    },
    /// A program elsewhere that is sent messages and answers later.
    External {
        /// Where messages go.
        input_url: String,
        /// Where answers come in.
        callback_base_url: String,
    },
}

/// What each call of an agent may use up, where its definition says less than the standard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallLimits {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Time from start to end.
    pub call_time: Option<Duration>,
    /// Bytes of the result.
    pub output: Option<u64>,
    /// Bytes written to files.
    pub written: Option<u64>,
    /// Files, directories and links created.
    pub created: Option<u64>,
    /// Files and directories open at the same time.
    pub open_files: Option<u64>,
}

/// What one run may use up, where its definition says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunLimits {
    /// Model replies.
    pub steps: Option<u32>,
    /// Tokens, read and written.
    pub tokens: Option<u64>,
    /// Tool calls.
    pub calls: Option<u64>,
    /// Millionths of a dollar.
    pub cost: Option<u64>,
    /// Wall time.
    pub time: Option<Duration>,
    /// Agents that start agents that start agents.
    pub depth: Option<u32>,
}

impl Agent {
    /// An agent that is restricted in nothing and says nothing of how it works.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { name: name.into(), description: description.into(), ui_visible: true, ..Self::default() }
    }

    /// Part of this program.
    pub fn native(mut self) -> Self {
        self.native = true;
        self
    }

    /// Not listed.
    pub fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// With these permission rules.
    pub fn with_permissions(mut self, permissions: Policy) -> Self {
        self.scope.permissions = permissions;
        self
    }

    /// With this model.
    pub fn with_model(mut self, model: ModelName) -> Self {
        self.model = Some(model);
        self
    }

    /// With this prompt.
    pub fn with_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.prompt = Some(prompt.into());
        self
    }

    /// With at most so many steps.
    pub fn with_max_steps(mut self, steps: u32) -> Self {
        self.budget.steps = Some(steps);
        self
    }

    /// What people read.
    pub fn display_name(&self) -> &str {
        self.display_name.as_deref().unwrap_or(&self.name)
    }

    /// Who it is when a tool asks.
    pub fn identity(&self) -> Identity {
        Identity { plugin: self.origin.plugin.clone(), name: self.name.clone() }
    }

    /// What one run may use up, with the usual where the definition says nothing.
    pub fn budget(&self) -> Budget {
        let usual = Budget::default();
        Budget {
            steps: self.budget.steps.unwrap_or(usual.steps),
            tokens: self.budget.tokens.or(usual.tokens),
            calls: self.budget.calls.or(usual.calls),
            cost: self.budget.cost.or(usual.cost),
            time: self.budget.time.unwrap_or(usual.time),
            depth: self.budget.depth.unwrap_or(usual.depth),
        }
    }
}

impl ReasoningEffort {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Inherit => "inherit",
        }
    }
}

impl PermissionMode {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::DontAsk => "dontAsk",
            Self::Plan => "plan",
        }
    }
}

impl Exposure {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Skills => "skills",
            Self::Mixed => "mixed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A6
    #[test]
    fn a_new_agent_says_nothing_it_was_not_told() {
        let agent = Agent::new("a", "b");
        assert_eq!((agent.native, agent.hidden, agent.ui_visible), (false, false, true));
        assert_eq!(agent.scope, ToolScope::default());
        assert_eq!((agent.model, agent.prompt, agent.budget.steps), (None, None, None));
    }

    /// A5, U4
    #[test]
    fn an_agent_can_be_built_in_code() {
        let model = ModelName { provider: Some("anthropic".to_owned()), model: "sonnet".to_owned() };
        let agent = Agent::new("a", "b")
            .native()
            .hidden()
            .with_permissions(Policy { default: Some(palisade_grants::Decision::Deny), ..Policy::default() })
            .with_model(model.clone())
            .with_prompt("Do it.")
            .with_max_steps(7);
        assert!(agent.native && agent.hidden);
        assert_eq!(agent.model, Some(model));
        assert_eq!(agent.prompt.as_deref(), Some("Do it."));
        assert_eq!(agent.budget().steps, 7);
        assert_eq!(agent.scope.permissions.default, Some(palisade_grants::Decision::Deny));
    }
}
