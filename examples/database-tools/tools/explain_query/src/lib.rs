//! `explain_query`: how a statement would be carried out.

use database_engine::{Request, explain};
use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `explain_query`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The SQLite database file, relative to the workspace.
    #[serde(alias = "path", alias = "db", alias = "file")]
    database: String,
    /// The statement, without `EXPLAIN` before it; it is not carried out.
    #[serde(alias = "query")]
    sql: String,
}

palisade_tool::tool! {
    /// Explains how SQLite would carry a statement out, without doing it: which tables it reads from beginning to end,
    /// which indexes it uses, where it sorts. Also shows whether the syntax is right.
    #[tool(needs = ["fs.read"], read_only = true, idempotent = true)]
    pub fn explain_query(input: Input) -> Result<String, Failure> {
        let Input { database, sql } = input;
        explain(&Request { database, sql, parameters: Vec::new(), limit: None, seconds: None })
    }
}
