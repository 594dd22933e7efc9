//! What goes wrong in a database, and what that means for whoever uses the store. No statement and nothing that
//! was stored is told.

use palisade_agent::StoreError;
use sqlx::{error::DatabaseError, postgres::PgDatabaseError, sqlite::SqliteError};

/// What went wrong while working.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The store refuses.
    Refused(StoreError),
    /// The database failed.
    Failed(sqlx::Error),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(error) => error,
            Fault::Failed(error) => meaning(&error),
        }
    }
}

impl Fault {
    /// Whether another transaction was in the way, so that the same work may succeed at once.
    pub(crate) fn is_conflict(&self) -> bool {
        // Serialization failure, deadlock, and two that insert the same.
        self.code().is_some_and(|code| ["40001", "40P01", "23505"].contains(&code.as_str()))
    }

    /// Whether the connection is gone.
    pub(crate) fn is_disconnection(&self) -> bool {
        match self {
            Self::Refused(_) => false,
            Self::Failed(error) => is_disconnection(error),
        }
    }

    fn code(&self) -> Option<String> {
        match self {
            Self::Failed(sqlx::Error::Database(error)) => error.code().map(Into::into),
            Self::Failed(_) | Self::Refused(_) => None,
        }
    }
}

/// Whether an error says that there is no connection any more.
pub(crate) fn is_disconnection(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => true,
        // An administrator ended it, or the server went down.
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|code| code.starts_with("57P") || code.starts_with("08"))
        }
        _ => false,
    }
}

fn meaning(error: &sqlx::Error) -> StoreError {
    match error {
        sqlx::Error::Database(error) => {
            let error: &dyn DatabaseError = error.as_ref();
            match (error.try_downcast_ref::<SqliteError>(), error.try_downcast_ref::<PgDatabaseError>()) {
                (Some(_), _) => of_sqlite(error.code().and_then(|code| code.parse().ok()).unwrap_or_default()),
                (_, Some(error)) => of_postgres(error.code()),
                (None, None) => StoreError::Unavailable("it refused, and did not say why".to_owned()),
            }
        }
        // What a check of ours found wrong with a connection.
        sqlx::Error::AnyDriverError(error) => error.downcast_ref().cloned().unwrap_or_else(unclear),
        sqlx::Error::Io(error) => StoreError::Unavailable(format!("the connection failed: {}", error.kind())),
        sqlx::Error::Tls(_) => StoreError::Unavailable("no secure connection could be made".to_owned()),
        sqlx::Error::PoolTimedOut => StoreError::Unavailable("no connection became free in time".to_owned()),
        sqlx::Error::PoolClosed => StoreError::Unavailable("it was closed".to_owned()),
        sqlx::Error::WorkerCrashed => StoreError::Unavailable("the connection broke down".to_owned()),
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
            StoreError::Corrupt("something stored is not of the kind it should be".to_owned())
        }
        sqlx::Error::Configuration(_) => StoreError::Invalid("the address of the database is none".to_owned()),
        _ => unclear(),
    }
}

fn unclear() -> StoreError {
    StoreError::Unavailable("it did not do what it should".to_owned())
}

/// The meaning of a code of SQLite; its lower eight bits are the kind.
fn of_sqlite(code: i32) -> StoreError {
    const SHORT_READ: i32 = 522;
    const READ: i32 = 266;
    const CORRUPT_FILES: i32 = 8458;
    match (code, code & 0xff) {
        (CORRUPT_FILES, _) | (_, 11 | 26) => StoreError::Corrupt("its file is not what it should be".to_owned()),
        (READ | SHORT_READ, _) => StoreError::Unavailable("its file cannot be read".to_owned()),
        (_, 13) => StoreError::Full("the database has no room to grow".to_owned()),
        (_, 10) => StoreError::Full(format!("the database could not be written (code {code})")),
        (_, 5 | 6) => StoreError::Unavailable("another process is writing for too long".to_owned()),
        (_, 8) => StoreError::Unavailable("it may only be read; check to whom its file and folder belong".to_owned()),
        (_, 14) => StoreError::Unavailable("its file cannot be opened; check to whom it belongs".to_owned()),
        _ => StoreError::Unavailable(format!("it refused with code {code}")),
    }
}

/// The meaning of a code of Postgres; its first two characters are the class.
fn of_postgres(code: &str) -> StoreError {
    match (code, code.get(..2).unwrap_or_default()) {
        ("53100", _) => StoreError::Full("the server's disk is full".to_owned()),
        ("53200" | "53300" | "53400", _) => StoreError::Unavailable("the server has no more room for work".to_owned()),
        ("XX001" | "XX002", _) => StoreError::Corrupt("the server says so".to_owned()),
        ("3D000", _) => StoreError::Unavailable("there is no database of that name; create it first".to_owned()),
        ("42501", _) => StoreError::Unavailable("the user lacks rights in it; grant them".to_owned()),
        ("55P03" | "57014", _) => StoreError::Unavailable("somebody else holds what is needed for too long".to_owned()),
        (_, "28") => StoreError::Unavailable("the user or the password is not accepted".to_owned()),
        (_, "57" | "08") => StoreError::Unavailable("the server ended the connection".to_owned()),
        (_, "40") => StoreError::Unavailable("too many write the same at once".to_owned()),
        _ => StoreError::Unavailable(format!("it refused with code {code}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// STO-06, STO-08
    #[test]
    fn codes_of_databases_become_what_a_user_can_act_on() {
        for code in [13, 10, 778, 1034] {
            assert!(matches!(of_sqlite(code), StoreError::Full(_)), "{code}");
        }
        for code in [5, 261, 517, 6, 14, 8, 266, 522] {
            assert!(matches!(of_sqlite(code), StoreError::Unavailable(_)), "{code}");
        }
        for code in [11, 26, 267, 779, 8458] {
            assert!(matches!(of_sqlite(code), StoreError::Corrupt(_)), "{code}");
        }
        assert!(matches!(of_postgres("53100"), StoreError::Full(_)));
        assert!(matches!(of_postgres("XX001"), StoreError::Corrupt(_)));
        for code in ["57P01", "08006", "40001", "28P01", "42601", ""] {
            assert!(matches!(of_postgres(code), StoreError::Unavailable(_)), "{code}");
        }
    }
}
