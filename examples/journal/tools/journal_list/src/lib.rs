//! `journal_list`.

use journal_entries::list;
use kept::Day;
use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `journal_list`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The first day.
    from: Option<Day>,
    /// The last day.
    to: Option<Day>,
}

palisade_tool::tool! {
    /// Lists journal entries, the latest first, with the first line of each and the id that `journal_read` takes.
    #[tool(needs = ["storage", "journal.read"], read_only = true, idempotent = true)]
    pub fn journal_list(input: Input) -> Result<String, Failure> {
        list(input.from, input.to)
    }
}
