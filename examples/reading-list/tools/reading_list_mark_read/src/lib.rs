//! `reading_list_mark_read`.

use palisade_tool::Failure;
use reading_shelf::mark;
use schemars::JsonSchema;
use serde::Deserialize;

const fn yes() -> bool {
    true
}

/// The input of `reading_list_mark_read`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The id, as the list shows it.
    id: String,
    /// `false` if it should be read again.
    #[serde(default = "yes")]
    read: bool,
}

palisade_tool::tool! {
    /// Marks an item of the reading list as read, or as not read after all.
    #[tool(needs = ["storage", "lists.mark"], read_only = false, idempotent = true)]
    pub fn reading_list_mark_read(input: Input) -> Result<String, Failure> {
        mark(&input.id, input.read)
    }
}
