//! How a connection to SQLite has to be set, and the check that it is. A setting that the library or the file
//! system silently did not take would only be noticed after a power cut.

use std::{path::Path, time::Duration};

use palisade_agent::StoreError;
use sqlx::{
    ConnectOptions, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use crate::sql::{Fault, Link};

/// The oldest SQLite that is used.
const OLDEST: [u64; 3] = [3, 51, 3];
/// How long SQLite waits for another process, in milliseconds.
const BUSY: u64 = 10_000;

/// How connections are made.
pub(super) fn options(path: &Path) -> SqliteConnectOptions {
    bare_options(path).journal_mode(SqliteJournalMode::Wal).pragma("cache_size", "-8000")
}

/// How a connection is made that makes a new file.
pub(super) fn bare_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_millis(BUSY))
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        // Statements carry what people say.
        .disable_statement_logging()
}

/// Makes a connection that is set as it has to be.
pub(super) async fn connect(options: &SqliteConnectOptions) -> Result<SqliteConnection, StoreError> {
    let mut connection = options.connect().await.map_err(Fault::from)?;
    check(&mut connection).await.map_err(Fault::from)?;
    Ok(connection)
}

/// Refuses a connection that is not set as it has to be.
pub(super) async fn check(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    checked(connection).await.map_err(|error| sqlx::Error::AnyDriverError(Box::new(error)))
}

async fn checked(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let mut link = Link::sqlite(connection, 0);
    let version = text(&mut link, "SELECT sqlite_version()").await?;
    let parts: Vec<u64> = version.split('.').map_while(|part| part.parse().ok()).collect();
    if parts.as_slice() < OLDEST.as_slice() {
        return Err(unfit("SQLite", &version, "3.51.3 or newer"));
    }
    let mode = text(&mut link, "PRAGMA journal_mode").await?;
    if mode != "wal" {
        return Err(unfit("journal_mode", &mode, "wal, which this file system may not be able to do"));
    }
    let settings = [
        ("synchronous", "PRAGMA synchronous", 2),
        ("foreign_keys", "PRAGMA foreign_keys", 1),
        ("trusted_schema", "PRAGMA trusted_schema", 0),
        ("busy_timeout", "PRAGMA busy_timeout", BUSY.cast_signed()),
    ];
    for (name, sql, expected) in settings {
        let found = link.row(sql, &[]).await?.map_or(Ok(-1), |row| row.number(0))?;
        if found != expected {
            return Err(unfit(name, &found.to_string(), &expected.to_string()));
        }
    }
    Ok(())
}

async fn text(link: &mut Link<'_>, sql: &'static str) -> Result<String, StoreError> {
    let row = link.row(sql, &[]).await?;
    Ok(row.map_or_else(|| Ok(String::new()), |row| row.text(0))?)
}

fn unfit(what: &str, found: &str, expected: &str) -> StoreError {
    StoreError::Unavailable(format!("{what} is {found} and has to be {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// STO-05
    #[tokio::test]
    async fn a_connection_that_is_not_set_as_it_has_to_be_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        // Each has a file of its own: a connection that was refused takes a while to be gone.
        let right = |name: &str| options(&folder.path().join(name)).create_if_missing(true);
        connect(&right("right")).await.unwrap();
        let wrong = [
            ("synchronous", right("1").synchronous(SqliteSynchronous::Normal)),
            ("foreign_keys", right("2").foreign_keys(false)),
            ("trusted_schema", right("3").pragma("trusted_schema", "ON")),
            ("busy_timeout", right("4").busy_timeout(Duration::ZERO)),
            ("journal_mode", right("5").journal_mode(SqliteJournalMode::Delete)),
        ];
        for (name, options) in wrong {
            let error = connect(&options).await.map(drop).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
