//! The definition of an agent, whatever file it was read from.

use serde::{Deserialize, Serialize};

use crate::Budget;

/// A definition: who the agent is, which tools it has, and what one run may use up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// What it is called by.
    pub name: String,
    /// What it is for, in a sentence.
    pub description: String,
    /// What its model is told beside the base rules; may hold `{{task}}`.
    pub prompt: Option<String>,
    /// The names of its tools. A tool that is not named here is not in its toolbox.
    pub tools: Vec<String>,
    /// What one run may use up.
    pub budget: Budget,
}
