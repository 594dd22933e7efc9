//! What went wrong, in SQLite's own words, and what would help.

use palisade_tool::{Failure, text::clip};
use rusqlite::{Error, ErrorCode, ffi};

use crate::{file::DatabaseFile, guard, session::GROWTH};

/// Why a statement was not carried out.
#[derive(Debug)]
pub(crate) enum Fault {
    /// What was asked makes no sense.
    Input(String),
    /// It is not done here.
    Refused(String),
    /// SQLite says so.
    Sql(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl Fault {
    /// What the model reads.
    pub(crate) fn about(self, file: &DatabaseFile, seconds: u64) -> Failure {
        match self {
            Self::Input(text) => Failure::InvalidInput(text),
            Self::Refused(text) => Failure::Denied(text),
            Self::Sql(Error::SqlInputError { msg, sql, offset, .. }) => {
                Failure::InvalidInput(placed(&msg, &sql, offset))
            }
            Self::Sql(Error::MultipleStatement) => {
                Failure::InvalidInput("there are several statements; give one, or use `execute_sql`".to_owned())
            }
            Self::Sql(Error::NulError(_)) => Failure::InvalidInput("the SQL contains the character 0".to_owned()),
            Self::Sql(Error::SqliteFailure(error, message)) => {
                failed(file, seconds, error, message.unwrap_or_else(|| error.to_string()))
            }
            Self::Sql(error) => Failure::Failed(error.to_string()),
        }
    }
}

/// A message with the place in the SQL that it is about.
fn placed(message: &str, sql: &str, offset: i32) -> String {
    let place = usize::try_from(offset).ok().and_then(|offset| sql.get(offset..)).filter(|place| !place.is_empty());
    match place {
        Some(place) => format!("{message}, at: {}", clip(place, 60).0),
        None => message.to_owned(),
    }
}

fn failed(file: &DatabaseFile, seconds: u64, error: ffi::Error, message: String) -> Failure {
    let shown = file.shown();
    match error.code {
        // SQLite's word for a statement that is wrong, where it does not say at which place.
        ErrorCode::Unknown if error.extended_code == ffi::SQLITE_ERROR => Failure::InvalidInput(message),
        ErrorCode::OperationInterrupted => Failure::Failed(format!(
            "stopped after {seconds} s, and nothing was changed; narrow the statement, or give a larger `timeout`"
        )),
        ErrorCode::AuthorizationForStatementDenied => Failure::Denied(format!(
            "{message}: other files, and settings that would endanger this one, are not reached"
        )),
        ErrorCode::ReadOnly if error.extended_code == ffi::SQLITE_READONLY_ROLLBACK => file.unfinished(),
        ErrorCode::ReadOnly => Failure::Denied(format!("{shown}: {message}; this agent may not write there")),
        ErrorCode::NotADatabase => {
            Failure::Failed(format!("{shown}: {message}; it is no SQLite database, or encrypted"))
        }
        ErrorCode::DatabaseCorrupt => {
            Failure::Failed(format!("{shown}: {message}; `PRAGMA integrity_check` says what is damaged"))
        }
        ErrorCode::OutOfMemory => {
            Failure::Failed(format!("{message}: the statement needs more than {} MiB", guard::MEMORY >> 20))
        }
        ErrorCode::DiskFull => Failure::Failed(format!(
            "{message}: a database grows by at most {} MiB in one call; do the work in several",
            GROWTH >> 20
        )),
        ErrorCode::SystemIoFailure => Failure::Failed(format!(
            "{shown}: {message}; a call may write only so much. Nothing of this call stays; if it left a journal, the next \
             call of `execute_sql` undoes what was begun"
        )),
        ErrorCode::CannotOpen => Failure::Failed(format!("{shown}: {message}")),
        _ => Failure::Failed(message),
    }
}
