//! `todo_list`.

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use todo_tasks::{Which, list};

/// Which tasks.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Show {
    /// Still to do.
    #[default]
    Open,
    /// Still to do, and their day or that of their reminder has come.
    Due,
    /// Done.
    Done,
    /// All of them.
    All,
}

/// The input of `todo_list`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Which tasks; those still to do if absent.
    #[serde(default)]
    show: Show,
}

palisade_tool::tool! {
    /// Lists tasks, what is due first, each with the id that the other tools take.
    #[tool(needs = ["storage", "lists.read"], read_only = true, idempotent = true)]
    pub fn todo_list(input: Input) -> Result<String, Failure> {
        list(match input.show {
            Show::Open => Which::Open,
            Show::Due => Which::Due,
            Show::Done => Which::Done,
            Show::All => Which::All,
        })
    }
}
