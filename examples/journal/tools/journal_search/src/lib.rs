//! `journal_search`.

use journal_entries::search;
use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `journal_search`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// One or several words.
    query: String,
}

palisade_tool::tool! {
    /// Searches the journal: entries that have every word in their text or mood, the latest first.
    #[tool(needs = ["storage", "journal.read"], read_only = true, idempotent = true)]
    pub fn journal_search(input: Input) -> Result<String, Failure> {
        search(&input.query)
    }
}
