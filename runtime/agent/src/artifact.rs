//! Where the whole of an output is kept when the model reads only a part of it.

use crate::ToolCall;

/// Keeps outputs that are too long for a model. What cannot be kept is no reason to stop.
pub trait Artifacts: Send + Sync {
    /// Keeps the output of a call and says where, in words for a person; nothing if it could not.
    fn keep(&self, call: &ToolCall, output: &str) -> Option<String>;
}
