//! `reading_list_list`.

use palisade_tool::Failure;
use reading_shelf::{Which, list};
use schemars::JsonSchema;
use serde::Deserialize;

/// Which items.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Not read yet.
    #[default]
    Unread,
    /// Read.
    Read,
    /// All of them.
    All,
}

/// The input of `reading_list_list`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Which items; those not read yet if absent.
    #[serde(default)]
    status: Status,
    /// Only items with this tag.
    tag: Option<String>,
}

palisade_tool::tool! {
    /// Lists what is on the reading list, the oldest first, each with the id that the other tools take.
    #[tool(needs = ["storage", "lists.read"], read_only = true, idempotent = true)]
    pub fn reading_list_list(input: Input) -> Result<String, Failure> {
        let which = match input.status {
            Status::Unread => Which::Unread,
            Status::Read => Which::Read,
            Status::All => Which::All,
        };
        list(which, input.tag.as_deref())
    }
}
