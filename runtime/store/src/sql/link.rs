//! One connection to either database.

use palisade_agent::StoreError;
use sqlx::{
    AssertSqlSafe, PgConnection, Row as _, SqlSafeStr, SqlStr, SqliteConnection, postgres::PgRow, sqlite::SqliteRow,
};

use super::Fault;

/// A connection and what time it is there.
pub(crate) struct Link<'c> {
    /// Microseconds since 1970, by the clock of the database.
    pub(crate) now: i64,
    wire: Wire<'c>,
}

enum Wire<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

/// A value in a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'v> {
    /// A number, or none.
    Number(Option<i64>),
    /// A text, or none.
    Text(Option<&'v str>),
    /// Bytes.
    Bytes(&'v [u8]),
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::Number(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
    }
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(text: &'v str) -> Self {
        Self::Text(Some(text))
    }
}

impl<'v> From<&'v String> for Value<'v> {
    fn from(text: &'v String) -> Self {
        Self::Text(Some(text))
    }
}

impl<'v> From<&'v [u8]> for Value<'v> {
    fn from(bytes: &'v [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'v> From<Option<&'v str>> for Value<'v> {
    fn from(text: Option<&'v str>) -> Self {
        Self::Text(text)
    }
}

impl<'v> From<&'v Option<String>> for Value<'v> {
    fn from(text: &'v Option<String>) -> Self {
        Self::Text(text.as_deref())
    }
}

/// The values of a statement, in the order of its `$1`, `$2`, …
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$(crate::sql::Value::from($value)),*] };
}
pub(crate) use values;

/// Binds all values to a statement of either kind.
macro_rules! bound {
    ($sql:expr, $values:expr) => {
        $values.iter().fold(sqlx::query($sql), |query, value| match *value {
            Value::Number(number) => query.bind(number),
            Value::Text(text) => query.bind(text),
            Value::Bytes(bytes) => query.bind(bytes),
        })
    };
}

impl<'c> Link<'c> {
    pub(crate) fn sqlite(connection: &'c mut SqliteConnection, now: i64) -> Self {
        Self { now, wire: Wire::Sqlite(connection) }
    }

    pub(crate) fn postgres(connection: &'c mut PgConnection, now: i64) -> Self {
        Self { now, wire: Wire::Postgres(connection) }
    }

    /// Does what a statement says; returns how many rows it changed.
    pub(crate) async fn run(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, Fault> {
        Ok(match &mut self.wire {
            Wire::Sqlite(connection) => bound!(sql, values).execute(&mut **connection).await?.rows_affected(),
            Wire::Postgres(connection) => bound!(sql, values).execute(&mut **connection).await?.rows_affected(),
        })
    }

    /// The rows that a statement finds.
    pub(crate) async fn rows(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        self.found(sql.into_sql_str(), values).await
    }

    /// The rows that a statement finds which was put together from fixed parts.
    pub(crate) async fn assembled(&mut self, sql: String, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        self.found(AssertSqlSafe(sql).into_sql_str(), values).await
    }

    /// The row that a statement finds, if it does.
    pub(crate) async fn row(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Option<Row>, Fault> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// The row that is worked on. Until the transaction ends nobody else changes it: SQLite lets only one write,
    /// Postgres is told.
    pub(crate) async fn locked(
        &mut self,
        sql: &'static str,
        locking: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<Row>, Fault> {
        match &self.wire {
            Wire::Sqlite(_) => self.row(sql, values).await,
            Wire::Postgres(_) => self.row(locking, values).await,
        }
    }

    async fn found(&mut self, sql: SqlStr, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        Ok(match &mut self.wire {
            Wire::Sqlite(connection) => {
                bound!(sql, values).fetch_all(&mut **connection).await?.into_iter().map(Row::Sqlite).collect()
            }
            Wire::Postgres(connection) => {
                bound!(sql, values).fetch_all(&mut **connection).await?.into_iter().map(Row::Postgres).collect()
            }
        })
    }
}

/// A row that was found. Columns are counted from zero.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

macro_rules! column {
    ($row:expr, $column:expr) => {
        match $row {
            Row::Sqlite(row) => row.try_get($column),
            Row::Postgres(row) => row.try_get($column),
        }
        .map_err(Fault::from)
    };
}

impl Row {
    pub(crate) fn number(&self, column: usize) -> Result<i64, Fault> {
        column!(self, column)
    }

    /// A number that is never negative.
    pub(crate) fn count(&self, column: usize) -> Result<u64, Fault> {
        let number = self.number(column)?;
        let corrupt = || StoreError::Corrupt(format!("{number} is no number that can have been stored"));
        Ok(u64::try_from(number).map_err(|_| corrupt())?)
    }

    pub(crate) fn maybe_number(&self, column: usize) -> Result<Option<i64>, Fault> {
        column!(self, column)
    }

    pub(crate) fn text(&self, column: usize) -> Result<String, Fault> {
        column!(self, column)
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<String>, Fault> {
        column!(self, column)
    }

    pub(crate) fn bytes(&self, column: usize) -> Result<Vec<u8>, Fault> {
        column!(self, column)
    }

    /// What was stored as JSON.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, column: usize) -> Result<T, Fault> {
        parse(&self.text(column)?)
    }
}

/// Reads what was stored as JSON.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Fault> {
    // What it says is somebody's words, so only the place is told.
    let corrupt = |error: serde_json::Error| {
        StoreError::Corrupt(format!("what was stored cannot be read from column {} on", error.column()))
    };
    Ok(serde_json::from_str(text).map_err(corrupt)?)
}
