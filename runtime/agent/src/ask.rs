//! Somebody who can be asked in the middle of a run.

use async_trait::async_trait;

use crate::ToolCall;

/// Somebody who can be asked whether a call may be made. Without one, what would be asked is refused.
#[async_trait]
pub trait Asker: Send + Sync {
    /// Asks about a call; `why` says which rule wants it so. The future may be dropped at any time, when
    /// the run is cancelled or out of time.
    async fn ask(&self, call: &ToolCall, why: &str) -> Answer;
}

/// What somebody said to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It may be made.
    Yes,
    /// It may not.
    No,
}
