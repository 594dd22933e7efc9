//! SQL over a database file of the workspace: what the tools of `database-tools` share.
//!
//! The engine is SQLite, so the files are ordinary SQLite databases. WebAssembly has no locks on files, so what
//! SQLite does with them is done here: who writes holds a file beside the database ([`lock`]), and who reads looks
//! at the database before and after and reads again if it changed ([`session`]).

mod fault;
mod file;
mod guard;
mod lock;
mod plan;
mod rows;
mod script;
mod session;
mod value;

use std::time::Duration;

use palisade_tool::Failure;
use rusqlite::Connection;
use serde_json::Value;

use crate::{
    fault::Fault,
    file::DatabaseFile,
    rows::{Past, Table},
};

/// How many rows a tool shows unless it is told otherwise, and at most.
pub const ROWS: (usize, usize) = (100, 1000);
/// How long a call works unless it is told otherwise, and at most, in seconds.
pub const SECONDS: (u64, u64) = (10, 25);

/// What to run, and on what.
#[derive(Clone, Debug)]
pub struct Request {
    /// The database, relative to the workspace.
    pub database: String,
    /// The statement or statements.
    pub sql: String,
    /// What `?` stands for.
    pub parameters: Vec<Value>,
    /// How many rows to show.
    pub limit: Option<usize>,
    /// After how many seconds to give up.
    pub seconds: Option<u64>,
}

impl Request {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(ROWS.0).clamp(1, ROWS.1)
    }

    fn time(&self) -> Duration {
        Duration::from_secs(self.seconds.unwrap_or(SECONDS.0).clamp(1, SECONDS.1))
    }
}

/// Reads: one statement that changes nothing, its rows as lines of JSON.
pub fn query(request: &Request) -> Result<String, Failure> {
    let file = DatabaseFile::named(&request.database)?;
    session::read(&file, request.time(), |connection| {
        let mut statement = connection.prepare(&request.sql)?;
        if !statement.readonly() {
            return Err(Fault::Refused("this statement writes, and here is only read; use `execute_sql`".to_owned()));
        }
        if statement.column_count() == 0 {
            return Err(Fault::Input("this statement has no result; give one that does, such as `SELECT`".to_owned()));
        }
        value::bind(&mut statement, &request.parameters)?;
        Ok(Table::of(&mut statement, request.limit(), Past::Counted)?.to_string())
    })
}

/// Says how a statement would be carried out, without doing it.
pub fn explain(request: &Request) -> Result<String, Failure> {
    let file = DatabaseFile::named(&request.database)?;
    session::read(&file, request.time(), |connection| plan::of(connection, &request.sql))
}

/// Carries statements out, all of them or none. A database that is not there is made if `create` says so.
pub fn execute(request: &Request, create: bool) -> Result<String, Failure> {
    let file = DatabaseFile::named(&request.database)?;
    session::write(&file, create, request.time(), |connection: &Connection| script::run(connection, request))
}

#[cfg(test)]
mod tests;
