//! `reading_list_search`.

use palisade_tool::Failure;
use reading_shelf::search;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `reading_list_search`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// One or several words.
    query: String,
}

palisade_tool::tool! {
    /// Searches the reading list, also what was read: items that have every word in their title, address, tags or
    /// notes.
    #[tool(needs = ["storage", "lists.read"], read_only = true, idempotent = true)]
    pub fn reading_list_search(input: Input) -> Result<String, Failure> {
        search(&input.query)
    }
}
