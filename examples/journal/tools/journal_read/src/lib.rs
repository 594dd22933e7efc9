//! `journal_read`.

use journal_entries::read;
use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `journal_read`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The id, as the list shows it, or a day such as 2026-11-17.
    #[serde(alias = "day")]
    id: String,
}

palisade_tool::tool! {
    /// Reads one journal entry, or all entries of a day.
    #[tool(needs = ["storage", "journal.read"], read_only = true, idempotent = true)]
    pub fn journal_read(input: Input) -> Result<String, Failure> {
        read(&input.id)
    }
}
