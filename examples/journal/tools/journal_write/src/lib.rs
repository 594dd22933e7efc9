//! `journal_write`.

use journal_entries::write;
use kept::Day;
use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `journal_write`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What to write down.
    text: String,
    /// How they felt, in a word or two.
    mood: Option<String>,
    /// The day it is about, such as 2026-11-17; today (UTC) if absent.
    day: Option<Day>,
}

palisade_tool::tool! {
    /// Writes an entry into the user's journal, in their own words.
    #[tool(needs = ["storage", "journal.write"], read_only = false, idempotent = false)]
    pub fn journal_write(input: Input) -> Result<String, Failure> {
        let Input { text, mood, day } = input;
        write(&text, mood.as_deref(), day)
    }
}
