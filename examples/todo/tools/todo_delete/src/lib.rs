//! `todo_delete`.

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use todo_tasks::delete;

/// The input of `todo_delete`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The id, as the list shows it.
    id: String,
}

palisade_tool::tool! {
    /// Deletes a task. To say that it is done, use `todo_complete`.
    #[tool(needs = ["storage", "lists.write"], read_only = false, idempotent = false)]
    pub fn todo_delete(input: Input) -> Result<String, Failure> {
        delete(&input.id)
    }
}
