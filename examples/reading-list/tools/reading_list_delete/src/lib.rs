//! `reading_list_delete`.

use palisade_tool::Failure;
use reading_shelf::delete;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `reading_list_delete`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The id, as the list shows it.
    id: String,
}

palisade_tool::tool! {
    /// Deletes an item from the reading list. To say that it was read, use `reading_list_mark_read`.
    #[tool(needs = ["storage", "lists.write"], read_only = false, idempotent = false)]
    pub fn reading_list_delete(input: Input) -> Result<String, Failure> {
        delete(&input.id)
    }
}
