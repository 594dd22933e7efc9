//! The tools of a plugin, as its manifest declares them.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use palisade_agent::{Progress, Tool, ToolResult, ToolSpec};
use palisade_grants::{Candidate, Capability, CommandsGrant, Grants, ToolSource};
use palisade_sandbox::{Call, ProgramCall, Scope};
use serde_json::json;

use crate::{
    Available, EffectiveTool,
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

/// The tools that a plugin brings and that were not refused.
pub(crate) fn available(plugin: &Plugin) -> Vec<Available> {
    let tools = plugin.tools.iter().filter(|tool| tool.refused.is_none());
    tools.map(|tool| one(plugin, tool)).collect()
}

fn one(plugin: &Plugin, tool: &PluginTool) -> Available {
    let manifest = &tool.manifest;
    let mut capabilities = manifest.capabilities.clone();
    let (mut unavailable, mut native) = (None, None);
    match (&manifest.component, &manifest.command) {
        (Some(_), _) => unavailable = Some("plugins are not run yet; its component is not loaded".to_owned()),
        (None, Some(program)) => {
            // Manifests from before there were capabilities name none, and read what they are asked about.
            for needed in [Capability::Exec, Capability::FsRead].map(Capability::name) {
                if !capabilities.iter().any(|capability| capability == needed) {
                    capabilities.push(needed.to_owned());
                }
            }
            native = Some(NativeCommand {
                program: program.clone(),
                arguments: manifest.args.clone(),
                folder: plugin.place(),
                description: manifest.description.clone(),
                schema: manifest.schema.clone().unwrap_or_else(|| json!({ "type": "object" })).to_string(),
            });
        }
        (None, None) => unavailable = Some("its manifest names neither a component nor a command".to_owned()),
    }
    let source = ToolSource::Plugin(plugin.name.clone());
    let candidate = Candidate::new(manifest.name.as_str(), capabilities, source).bound(tool.binding.clone());
    Available { candidate, unavailable, command: native }
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
