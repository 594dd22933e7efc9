//! `todo_complete`.

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use todo_tasks::complete;

const fn yes() -> bool {
    true
}

/// The input of `todo_complete`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The id, as the list shows it.
    id: String,
    /// `false` if it is still to be done.
    #[serde(default = "yes")]
    done: bool,
}

palisade_tool::tool! {
    /// Says that a task is done, or that it is not done after all.
    #[tool(needs = ["storage", "lists.mark"], read_only = false, idempotent = true)]
    pub fn todo_complete(input: Input) -> Result<String, Failure> {
        complete(&input.id, input.done)
    }
}
