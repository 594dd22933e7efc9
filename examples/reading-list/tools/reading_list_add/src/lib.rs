//! `reading_list_add`.

use palisade_tool::Failure;
use reading_shelf::add;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `reading_list_add`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What it is called.
    title: String,
    /// Where it is, such as `https://example.com/article`.
    #[serde(alias = "link")]
    url: Option<String>,
    /// Words to find it by.
    #[serde(default)]
    tags: Vec<String>,
    /// Why it is worth reading, or anything else.
    notes: Option<String>,
}

palisade_tool::tool! {
    /// Adds an article, paper, book or link to the reading list.
    #[tool(needs = ["storage", "lists.add"], read_only = false, idempotent = false)]
    pub fn reading_list_add(input: Input) -> Result<String, Failure> {
        let Input { title, url, tags, notes } = input;
        add(&title, url.as_deref(), &tags, notes.as_deref())
    }
}
