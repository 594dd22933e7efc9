//! What a run was given holds for as long as nobody takes it back.

use std::sync::Arc;

use crate::{Ceiling, Toolbox};

/// What is left of what an agent at work was given. Asked before each of its calls, so it has to be cheap as long as
/// nothing changes. What was taken back once stays taken back for this run.
pub trait Warrant: Send + Sync {
    /// What the agent may do now; or why it may do nothing any more.
    fn ceiling(&self) -> Result<Ceiling, String>;

    /// The tools that its next call is made with, if they are not those it began with; or why it has none.
    fn tools(&self) -> Result<Option<Arc<Toolbox>>, String>;
}
