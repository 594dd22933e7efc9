//! `todo_add`.

use kept::Day;
use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use todo_tasks::add;

/// The input of `todo_add`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What is to be done.
    title: String,
    /// The day until which it has to be done, such as 2026-11-17.
    due: Option<Day>,
    /// The day on which to be reminded of it.
    remind: Option<Day>,
    /// Anything else about it.
    notes: Option<String>,
}

palisade_tool::tool! {
    /// Adds a task to the todo list.
    #[tool(needs = ["storage", "lists.add"], read_only = false, idempotent = false)]
    pub fn todo_add(input: Input) -> Result<String, Failure> {
        let Input { title, due, remind, notes } = input;
        add(&title, due, remind, notes.as_deref())
    }
}
