//! A tool of a plugin that is a native program.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use palisade_agent::{Progress, Tool, ToolResult, ToolSpec};
use palisade_grants::{CommandsGrant, Grants};
use palisade_sandbox::{Call, ProgramCall, Scope};
use serde_json::json;

use crate::{
    EffectiveTool,
    plugin_tools::told,
    registry::{Plugin, PluginTool},
    tool::result,
};

/// A tool that is a native program: called with its arguments, given its input as JSON on its standard
/// input, and what it prints is its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeCommand {
    /// The program.
    pub program: String,
    /// What it is called with.
    pub arguments: Vec<String>,
    /// Where it is run: the plugin's folder, which it may read.
    folder: PathBuf,
    description: String,
    schema: String,
}

impl NativeCommand {
    pub(super) fn new(plugin: &Plugin, tool: &PluginTool, program: &str) -> Self {
        let manifest = &tool.manifest;
        Self {
            program: program.to_owned(),
            arguments: manifest.args.clone(),
            folder: plugin.place(),
            description: told::text(&manifest.description),
            schema: manifest.schema.clone().unwrap_or_else(|| json!({ "type": "object" })).to_string(),
        }
    }

    /// What it does.
    pub(crate) fn description(&self) -> &str {
        &self.description
    }

    /// What its input looks like, as JSON Schema.
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// A call of it with some input.
    pub(crate) fn call(&self, input: Vec<u8>) -> ProgramCall {
        let Self { program, arguments, folder, .. } = self.clone();
        ProgramCall { program, arguments, folder, input }
    }

    /// Why it may not be run, with what would allow it.
    pub(crate) fn refused_by(&self, grant: &CommandsGrant) -> Option<String> {
        grant.permit(&self.program, &self.arguments).err().map(|denial| format!("it is a native command. {denial}"))
    }
}

/// A native program as a tool of an agent.
pub(crate) struct NativeTool {
    spec: ToolSpec,
    command: NativeCommand,
    grants: Grants,
    scope: Arc<Scope>,
}

impl NativeTool {
    pub(crate) fn new(tool: &EffectiveTool, command: &NativeCommand, scope: Arc<Scope>) -> Self {
        let spec = ToolSpec {
            name: tool.candidate.name().to_owned(),
            description: command.description.clone(),
            input_schema: serde_json::from_str(&command.schema).unwrap_or_default(),
            capabilities: tool.candidate.capabilities().to_vec(),
            read_only: false,
            idempotent: false,
        };
        Self { spec, command: command.clone(), grants: tool.grants.clone(), scope }
    }
}

#[async_trait]
impl Tool for NativeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, input: &str, _progress: &Progress) -> ToolResult {
        let program = self.command.call(input.as_bytes().to_vec());
        result(self.scope.run_program(program, &self.grants, Call::new()).await)
    }
}
