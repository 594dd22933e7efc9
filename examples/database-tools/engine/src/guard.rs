//! What no statement may do or use up, whatever is in the database.

use std::time::{Duration, Instant};

use rusqlite::{
    Connection,
    config::DbConfig,
    hooks::{AuthAction, AuthContext, Authorization},
    limits::Limit,
};

/// Bytes that SQLite may use.
pub(crate) const MEMORY: usize = 64 << 20;
/// Steps of SQLite's machine between two looks at the clock.
const STEPS: i32 = 2_000;

/// Sets the limits of a connection before any statement of others is run on it. `beat` is called now and then.
pub(crate) fn guard(
    connection: &mut Connection,
    time: Duration,
    mut beat: impl FnMut() + Send + 'static,
) -> rusqlite::Result<()> {
    for (setting, on) in [
        // No statement can write to the schema as text, or switch off what protects the file.
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        // What is stored in the database calls no function that reaches out of it.
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
    ] {
        connection.set_db_config(setting, on)?;
    }
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, 16 << 20),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
        (Limit::SQLITE_LIMIT_COLUMN, 1_000),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 200),
        (Limit::SQLITE_LIMIT_VDBE_OP, 1_000_000),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 50),
    ] {
        connection.set_limit(limit, most)?;
    }
    // Pages are held against their own sizes before they are used: the file may be anybody's.
    connection.execute_batch(&format!("PRAGMA hard_heap_limit = {MEMORY}; PRAGMA cell_size_check = ON;"))?;
    let end = Instant::now() + time;
    connection.progress_handler(
        STEPS,
        Some(move || {
            beat();
            Instant::now() >= end
        }),
    )?;
    connection.authorizer(Some(authorize))
}

/// Other files are not opened, and nothing makes a half-written database the usual case.
fn authorize(context: AuthContext<'_>) -> Authorization {
    match context.action {
        // `VACUUM` attaches a database without a name, in memory.
        AuthAction::Attach { filename: "" } => Authorization::Allow,
        AuthAction::Attach { .. } => Authorization::Deny,
        AuthAction::Pragma { pragma_name, pragma_value: Some(value) } => {
            let is = |name: &str, values: &[&str]| {
                pragma_name.eq_ignore_ascii_case(name) && values.iter().any(|one| value.eq_ignore_ascii_case(one))
            };
            if is("journal_mode", &["off", "memory"]) || is("synchronous", &["off", "0"]) {
                Authorization::Deny
            } else {
                Authorization::Allow
            }
        }
        _ => Authorization::Allow,
    }
}
