//! `query_db`: reads a database with SQL. It has no right to write, so whatever the statement says, nothing changes.

use database_engine::{Request, query};
use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The input of `query_db`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The SQLite database file, relative to the workspace.
    #[serde(alias = "path", alias = "db", alias = "file")]
    database: String,
    /// One statement that reads, such as `SELECT name FROM customers WHERE id = ?`.
    #[serde(alias = "query")]
    sql: String,
    /// Values for the `?` of the statement, in their order: texts, numbers, null, or {"hex": "00ff"} for a blob.
    #[serde(default, alias = "params")]
    parameters: Vec<Value>,
    /// How many rows to show, at most 1000; 100 if absent.
    limit: Option<usize>,
    /// After how many seconds to give up, at most 25; 10 if absent.
    timeout: Option<u64>,
}

palisade_tool::tool! {
    /// Reads an SQLite database with one SQL statement. The first line of the result is the names of the columns as
    /// JSON, each further one a row, the last says how many there are. `SELECT name, sql FROM sqlite_schema` shows the
    /// tables. Put values into `parameters`, not into the text of the statement.
    #[tool(needs = ["fs.read"], read_only = true, idempotent = true)]
    pub fn query_db(input: Input) -> Result<String, Failure> {
        let Input { database, sql, parameters, limit, timeout } = input;
        query(&Request { database, sql, parameters, limit, seconds: timeout })
    }
}
