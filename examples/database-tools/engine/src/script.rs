//! Several statements: all of them or none.

use palisade_tool::text::count;
use rusqlite::{Batch, Connection, fallible_iterator::FallibleIterator as _};

use crate::{
    Request,
    fault::Fault,
    rows::{Past, Table},
    value,
};

/// Statements that begin or end a transaction themselves, or cannot be part of one.
const ALONE: [&str; 9] = ["BEGIN", "SAVEPOINT", "COMMIT", "END", "ROLLBACK", "RELEASE", "VACUUM", "PRAGMA", "ATTACH"];

/// Runs the statements of a request. What they changed stays only if all of them worked.
pub(crate) fn run(connection: &Connection, request: &Request) -> Result<String, Fault> {
    let together = !ALONE.contains(&first_word(&request.sql).to_ascii_uppercase().as_str());
    if together {
        connection.execute_batch("BEGIN IMMEDIATE")?;
    }
    let done = each(connection, request);
    let left_open = !connection.is_autocommit();
    match done {
        Ok(said) if together => connection.execute_batch("COMMIT").map(|()| said).map_err(Fault::Sql),
        Ok(_) if left_open => {
            connection.execute_batch("ROLLBACK")?;
            Err(Fault::Input("a transaction was begun and not ended, so it was undone; add `COMMIT`".to_owned()))
        }
        Ok(said) => Ok(said),
        Err(fault) => {
            if left_open {
                // The first error is the one to tell; closing undoes what this did not.
                drop(connection.execute_batch("ROLLBACK"));
            }
            Err(fault)
        }
    }
}

fn each(connection: &Connection, request: &Request) -> Result<String, Fault> {
    let before = connection.total_changes();
    let (mut statements, mut table) = (0, None);
    let mut batch = Batch::new(connection, &request.sql);
    while let Some(mut statement) = batch.next()? {
        statements += 1;
        match request.parameters.is_empty() {
            true => value::bind(&mut statement, &[])?,
            false if statements == 1 => value::bind(&mut statement, &request.parameters)?,
            false => return Err(Fault::Input("parameters are for one statement, and there are several".to_owned())),
        }
        let rows = Table::of(&mut statement, request.limit(), Past::All)?;
        table = (statement.column_count() > 0).then_some(rows);
    }
    if statements == 0 {
        return Err(Fault::Input("`sql` has no statement".to_owned()));
    }
    let changed = usize::try_from(connection.total_changes() - before).unwrap_or(usize::MAX);
    let statements = count(statements, "statement", "statements");
    let mut said = format!("{statements} done, {} changed.", count(changed, "row", "rows"));
    if changed > 0 && connection.last_insert_rowid() != 0 {
        said += &format!(" The last row inserted has the id {}.", connection.last_insert_rowid());
    }
    Ok(match table {
        Some(table) => format!("{table}\n{said}"),
        None => said,
    })
}

/// The word that a statement begins with, after blanks and comments.
fn first_word(sql: &str) -> &str {
    let mut rest = sql.trim_start_matches(|letter: char| letter.is_whitespace() || letter == ';');
    loop {
        let comment = rest.strip_prefix("--").map(|line| line.split_once('\n'));
        let comment = comment.or_else(|| rest.strip_prefix("/*").map(|block| block.split_once("*/")));
        match comment {
            Some(Some((_, after))) => {
                rest = after.trim_start_matches(|letter: char| letter.is_whitespace() || letter == ';');
            }
            Some(None) => return "",
            None => break,
        }
    }
    let end = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::first_word;

    #[test]
    fn the_first_word_is_found_behind_comments() {
        for (sql, word) in [
            ("SELECT 1", "SELECT"),
            ("  ;\n-- a\n/* b */ vacuum;", "vacuum"),
            ("/* open", ""),
            ("-- nothing", ""),
            ("", ""),
            ("(VALUES (1))", ""),
        ] {
            assert_eq!(first_word(sql), word, "{sql}");
        }
    }
}
