//! `execute_sql`: changes a database.

use database_engine::{Request, execute};
use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The input of `execute_sql`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The SQLite database file, relative to the workspace.
    #[serde(alias = "path", alias = "db", alias = "file")]
    database: String,
    /// One statement, or several that are carried out all or not at all.
    #[serde(alias = "query")]
    sql: String,
    /// Values for the `?` of one statement, in their order: texts, numbers, null, or {"hex": "00ff"} for a blob.
    #[serde(default, alias = "params")]
    parameters: Vec<Value>,
    /// Make the database if there is none.
    #[serde(default)]
    create: bool,
    /// How many rows to show of a statement that returns some, at most 1000; 100 if absent.
    limit: Option<usize>,
    /// After how many seconds to give up, at most 25; 10 if absent.
    timeout: Option<u64>,
}

palisade_tool::tool! {
    /// Execute SQL queries that change an SQLite database: one statement, or several as one transaction. Says how many rows
    /// changed, and shows the rows of the last statement if it has some (`RETURNING`). If anything fails or takes too
    /// long, nothing is changed. Put values into `parameters`, not into the text of the statement.
    #[tool(needs = ["fs.read", "fs.write"], read_only = false, idempotent = false)]
    pub fn execute_sql(input: Input) -> Result<String, Failure> {
        let Input { database, sql, parameters, create, limit, timeout } = input;
        execute(&Request { database, sql, parameters, limit, seconds: timeout }, create)
    }
}
