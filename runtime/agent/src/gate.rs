//! Who shares the machine with others waits at a gate before a tool works for it.

use std::any::Any;

use async_trait::async_trait;

/// Lets calls of sandboxed tools in.
#[async_trait]
pub trait Gate: Send + Sync {
    /// Waits until one more call may be made. It is over when what this gives is dropped; the future may be dropped
    /// while it waits. An error is for the model to read.
    async fn enter(&self) -> Result<Box<dyn Any + Send>, String>;
}
