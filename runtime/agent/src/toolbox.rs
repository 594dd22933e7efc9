//! One agent's tools: finds the one that is called, refuses input that is no object, bounds the output.

use std::sync::Arc;

use thiserror::Error;

use crate::{FailureKind, Progress, Tool, ToolCall, ToolResult, ToolSpec};

/// The longest output of one call that reaches the model, in bytes: a context window is small, and a
/// tool chooses how much it says.
pub const OUTPUT_LIMIT: usize = 64 * 1024;

/// The tools of one agent.
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
    specs: Vec<ToolSpec>,
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
            if specs.iter().any(|other| other.name == spec.name) {
                return Err(DuplicateTool { name: spec.name });
            }
            specs.push(spec);
        }
        Ok(Self { tools, specs })
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
        tool.call(&call.input.to_string(), progress).await.clipped(OUTPUT_LIMIT)
    }

    fn find(&self, name: &str) -> Option<&dyn Tool> {
        let at = self.specs.iter().position(|spec| spec.name == name)?;
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
