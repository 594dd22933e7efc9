//! A tool of a server, as one of an agent.

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use palisade_agent::{Cost, FailureKind, Progress, Tool, ToolResult, ToolSpec, clip};
use palisade_mcp::{ClientError, Said};
use palisade_sandbox::Failure;

use super::link::{Link, Unserved};
use crate::{EffectiveTool, ServerTool};

/// A tool of a server, as one of an agent.
pub(crate) struct ServedTool {
    spec: ToolSpec,
    own: String,
    link: Arc<Link>,
    /// The most bytes of an answer.
    output: usize,
}

impl ServedTool {
    pub(crate) fn new(tool: &EffectiveTool, served: &ServerTool, link: &Arc<Link>, output: usize) -> Self {
        let spec = ToolSpec {
            name: tool.candidate.name().to_owned(),
            description: served.description.clone(),
            input_schema: served.schema.clone(),
            capabilities: tool.candidate.capabilities().to_vec(),
            // The operator's word; that of the server counts for nothing.
            read_only: served.reads,
            idempotent: false,
        };
        Self { spec, own: served.own.clone(), link: Arc::clone(link), output }
    }
}

#[async_trait]
impl Tool for ServedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, input: &str, progress: &Progress) -> ToolResult {
        let started = Instant::now();
        let result = match serde_json::from_str(input) {
            Ok(input) => match self.link.call(&self.own, input, progress).await {
                Ok(Said { text, is_error: false }) => ToolResult::done(clip(&text, self.output)),
                Ok(Said { text, .. }) => ToolResult::failed(FailureKind::Failed, clip(&text, self.output)),
                Err(unserved) => ToolResult::failed(kind(&unserved), unserved.to_string()),
            },
            Err(error) => ToolResult::failed(FailureKind::InvalidInput, error.to_string()),
        };
        let denials = match &result.outcome {
            palisade_agent::ToolOutcome::Failed { kind: FailureKind::Denied, text } => vec![text.clone()],
            _ => Vec::new(),
        };
        ToolResult { cost: Cost { duration: started.elapsed(), peak_memory: 0 }, denials, ..result }
    }
}

fn kind(unserved: &Unserved) -> FailureKind {
    /// What the protocol calls input that does not fit.
    const INVALID_PARAMS: i32 = -32602;
    match unserved {
        Unserved::Changed(_) => FailureKind::Denied,
        Unserved::Denied(Failure::Denied(_) | Failure::Refused(_)) => FailureKind::Denied,
        Unserved::Denied(_) => FailureKind::Failed,
        Unserved::Server(error, _) => match error {
            ClientError::OutOfTime(_) | ClientError::TooMuch(_) => FailureKind::Limit,
            ClientError::Refused { code: INVALID_PARAMS, .. } => FailureKind::InvalidInput,
            ClientError::Refused { .. } => FailureKind::Failed,
            ClientError::Beginning(_) | ClientError::Ended(_) | ClientError::Wrong(_) => FailureKind::Crashed,
        },
    }
}
