//! One agent's tools: finds the one that is called, refuses input that is no object, asks the rules,
//! bounds the output.

use std::sync::Arc;

use palisade_grants::{Call, Decision, ToolScope, canonical_tool};
use thiserror::Error;

use crate::{Answer, Asker, FailureKind, Progress, Tool, ToolCall, ToolResult, ToolSpec};

/// The longest output of one call that reaches the model, in bytes: a context window is small, and a
/// tool chooses how much it says.
pub const OUTPUT_LIMIT: usize = 64 * 1024;

/// The tools of one agent.
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
    specs: Vec<ToolSpec>,
    scope: ToolScope,
    asker: Option<Arc<dyn Asker>>,
}

/// Two tools want the same name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("two tools are called `{name}`; rename one or leave one out")]
pub struct DuplicateTool {
    /// The name.
    pub name: String,
}

impl Toolbox {
    /// A toolbox of these tools, in this order.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Result<Self, DuplicateTool> {
        let mut specs: Vec<ToolSpec> = Vec::with_capacity(tools.len());
        for tool in &tools {
            let spec = tool.spec().clone();
            let name = canonical_tool(&spec.name);
            if specs.iter().any(|other| canonical_tool(&other.name) == name) {
                return Err(DuplicateTool { name: spec.name });
            }
            specs.push(spec);
        }
        Ok(Self { tools, specs, scope: ToolScope::default(), asker: None })
    }

    /// The same tools, each call of which the rules of a scope are asked about first.
    pub fn ruled_by(mut self, scope: ToolScope) -> Self {
        self.scope = scope;
        self
    }

    /// The same, with somebody to ask where a rule wants it.
    pub fn asking(mut self, asker: Arc<dyn Asker>) -> Self {
        self.asker = Some(asker);
        self
    }

    /// What the model is told about the tools.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Makes one call. Whatever is wrong with it is a result the model can read.
    pub async fn call(&self, call: &ToolCall, progress: &Progress) -> ToolResult {
        let Some(tool) = self.find(&call.tool) else {
            return self.unknown(&call.tool);
        };
        if !call.input.is_object() {
            let text = format!("the input of `{}` must be a JSON object, such as {{\"name\": \"value\"}}", call.tool);
            return ToolResult::failed(FailureKind::InvalidInput, text);
        }
        if let Err(reason) = self.permit(tool, call).await {
            return ToolResult::failed(FailureKind::Denied, format!("`{}` is refused: {reason}", call.tool));
        }
        tool.call(&call.input.to_string(), progress).await.clipped(OUTPUT_LIMIT)
    }

    /// Asks the rules, and where they want it, somebody.
    async fn permit(&self, tool: &dyn Tool, call: &ToolCall) -> Result<(), String> {
        let verdict = self.scope.decide(&Call::new(&tool.spec().name, &call.input));
        match (verdict.decision, &self.asker) {
            (Decision::Allow, _) => Ok(()),
            (Decision::Ask, Some(asker)) => match asker.ask(call, &verdict.reason).await {
                Answer::Yes => Ok(()),
                Answer::No => Err(format!("{}; the user said no", verdict.reason)),
            },
            (Decision::Ask | Decision::Deny, _) => Err(verdict.without_asking().reason),
        }
    }

    /// Models write a name in many ways; it is the same tool.
    fn find(&self, name: &str) -> Option<&dyn Tool> {
        let name = canonical_tool(name);
        let at = self.specs.iter().position(|spec| canonical_tool(&spec.name) == name)?;
        self.tools.get(at).map(AsRef::as_ref)
    }

    fn unknown(&self, name: &str) -> ToolResult {
        let name = crate::clip(name, 128);
        let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        let text = if names.is_empty() {
            format!("there is no tool `{name}`; this agent has no tools")
        } else {
            format!("there is no tool `{name}`; this agent has: {}", names.join(", "))
        };
        ToolResult::failed(FailureKind::UnknownTool, text)
    }
}
