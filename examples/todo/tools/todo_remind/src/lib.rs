//! `todo_remind`.

use kept::Day;
use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use todo_tasks::remind;

/// The input of `todo_remind`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The id, as the list shows it.
    id: String,
    /// The day, such as 2026-11-17; without one there is no reminder any more.
    on: Option<Day>,
}

palisade_tool::tool! {
    /// Sets the day of a reminder of a task, or takes it away. On that day and after it, the list of what is due
    /// has the task.
    #[tool(needs = ["storage", "lists.mark"], read_only = false, idempotent = true)]
    pub fn todo_remind(input: Input) -> Result<String, Failure> {
        remind(&input.id, input.on)
    }
}
