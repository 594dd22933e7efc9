//! Why a request to another agent is not carried out, as a code for programs and as words for models.

use crate::{FailureKind, RecruitError, StoreError, ToolResult};

/// Why nothing was begun.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    /// For programs.
    pub code: &'static str,
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// For people and models.
    pub text: String,
}

impl Refusal {
    /// The request cannot be understood.
    pub(super) fn invalid(text: impl Into<String>) -> Self {
        Self { code: "invalid_arguments", kind: FailureKind::InvalidInput, text: text.into() }
    }

    /// The request is understood and not allowed.
    pub(super) fn denied(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, kind: FailureKind::Denied, text: text.into() }
    }

    /// Something about the session of the agent.
    pub(super) fn session(text: impl Into<String>) -> Self {
        Self { code: "agent_session_error", kind: FailureKind::Failed, text: text.into() }
    }

    /// The run of the one who asks is over.
    pub(super) fn over() -> Self {
        let text = "the run ended before this call did".to_owned();
        Self { code: "tool_aborted", kind: FailureKind::Cancelled, text }
    }

    /// As `task` and its kin say it.
    pub(super) fn as_envelope(&self) -> ToolResult {
        let error_type = match self.kind {
            FailureKind::InvalidInput => "validation_error",
            _ => self.code,
        };
        let text = serde_json::json!({ "success": false, "error": self.text, "error_type": error_type });
        ToolResult::failed(self.kind, text.to_string())
    }

    /// As the tools `agents_*` say it.
    pub(super) fn as_coded(&self) -> ToolResult {
        let text = serde_json::json!({ "error": { "code": self.code, "message": self.text } });
        ToolResult::failed(self.kind, text.to_string())
    }
}

impl From<RecruitError> for Refusal {
    fn from(error: RecruitError) -> Self {
        let text = error.to_string();
        match error {
            RecruitError::Unknown { .. } => Self { code: "agent_not_found", kind: FailureKind::InvalidInput, text },
            RecruitError::NotAccessible(_) => Self::denied("agent_not_accessible", text),
            RecruitError::Unusable { .. } => Self::session(text),
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSession(_) => Self::session("Session not found"),
            other => Self::session(other.to_string()),
        }
    }
}
