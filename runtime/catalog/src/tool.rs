//! A tool of an agent, carried out by a sandbox.

use std::sync::Arc;

use async_trait::async_trait;
use palisade_agent::{Cost, FailureKind, Progress, Tool, ToolOutcome, ToolResult, ToolSpec};
use palisade_sandbox::{Call, Description, Failure, Report, Scope};

/// A tool of an agent, carried out by a sandbox.
pub(crate) struct SandboxedTool {
    spec: ToolSpec,
    scope: Arc<Scope>,
}

impl SandboxedTool {
    pub(crate) fn new(description: &Description, scope: Arc<Scope>) -> Self {
        let Description { name, description, input_schema, capabilities, own_capabilities, read_only, idempotent } =
            description.clone();
        let capabilities = capabilities.iter().map(|capability| capability.name().to_owned());
        let spec = ToolSpec {
            name,
            description,
            input_schema: serde_json::from_str(&input_schema).unwrap_or_default(),
            capabilities: capabilities.chain(own_capabilities).collect(),
            read_only,
            idempotent,
        };
        Self { spec, scope }
    }
}

#[async_trait]
impl Tool for SandboxedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, input: &str, progress: &Progress) -> ToolResult {
        let progress = progress.clone();
        let call = Call::new().watched_by(Arc::new(move |message: &str| progress.report(message)));
        result(self.scope.call(&self.spec.name, input.to_owned(), call).await)
    }
}

pub(crate) fn result(report: Report) -> ToolResult {
    let outcome = match report.outcome {
        Ok(text) => ToolOutcome::Done(text),
        Err(failure) => ToolOutcome::Failed { kind: kind(&failure), text: explained(&failure, &report.denials) },
    };
    ToolResult {
        outcome,
        cost: Cost { duration: report.cost.duration, peak_memory: report.cost.peak_memory as u64 },
        denials: report.denials.iter().map(ToString::to_string).collect(),
        artifact: None,
    }
}

/// What the model reads: what went wrong, and what the sandbox refused on the way.
fn explained(failure: &Failure, denials: &[palisade_grants::Denial]) -> String {
    let mut text = failure.to_string();
    for denial in denials {
        text += &format!("\n{denial}");
    }
    text
}

fn kind(failure: &Failure) -> FailureKind {
    match failure {
        Failure::InvalidInput(_) => FailureKind::InvalidInput,
        Failure::Refused(_) | Failure::Denied(_) => FailureKind::Denied,
        Failure::Failed(_) => FailureKind::Failed,
        Failure::OutOfTime { .. }
        | Failure::OutOfMemory { .. }
        | Failure::TooMany { .. }
        | Failure::OutputTooLarge { .. }
        | Failure::Busy { .. } => FailureKind::Limit,
        Failure::Trap { .. } | Failure::BadComponent { .. } | Failure::RunnerEnded { .. } | Failure::Host { .. } => {
            FailureKind::Crashed
        }
        Failure::Cancelled => FailureKind::Cancelled,
    }
}
