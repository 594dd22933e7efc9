//! The rows of a result: as many as fit, and how many did not.

use std::fmt;

use palisade_tool::text::count;
use rusqlite::Statement;
use serde_json::Value;

use crate::value::shown;

/// Bytes of all rows that are shown.
const BYTES: usize = 48 << 10;
/// Rows that are counted and not shown, where nothing depends on going through them.
const COUNTED: usize = 10_000;

/// What becomes of the rows after those that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Past {
    /// Some are counted.
    Counted,
    /// All are gone through, since the statement changes something with each.
    All,
}

/// The result of a statement.
pub(crate) struct Table {
    columns: Vec<String>,
    lines: Vec<String>,
    /// Rows that are not shown.
    more: usize,
    /// There are rows that were not even counted.
    uncounted: bool,
    /// Values that are not shown whole.
    shortened: usize,
}

impl Table {
    /// Goes through the rows of a statement that has its parameters.
    pub(crate) fn of(statement: &mut Statement<'_>, limit: usize, past: Past) -> rusqlite::Result<Self> {
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let width = columns.len();
        let mut table = Self { columns, lines: Vec::new(), more: 0, uncounted: false, shortened: 0 };
        let mut bytes = 0;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            if table.more == 0 && table.lines.len() < limit && bytes < BYTES {
                let mut values = Vec::with_capacity(width);
                for column in 0..width {
                    let (value, whole) = shown(row.get_ref(column)?);
                    table.shortened += usize::from(!whole);
                    values.push(value);
                }
                let line = Value::Array(values).to_string();
                bytes += line.len();
                table.lines.push(line);
                continue;
            }
            table.more += 1;
            if past == Past::Counted && table.more > COUNTED {
                table.uncounted = true;
                break;
            }
        }
        Ok(table)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", Value::from(self.columns.clone()))?;
        for line in &self.lines {
            writeln!(formatter, "{line}")?;
        }
        write!(formatter, "{}", count(self.lines.len(), "row", "rows"))?;
        match (self.more, self.uncounted) {
            (0, _) => write!(formatter, ".")?,
            (_, true) => write!(formatter, " shown; more than {COUNTED} others are left out.")?,
            (more, false) => write!(formatter, " shown; {more} more left out.")?,
        }
        if self.more > 0 {
            write!(formatter, " Use LIMIT and OFFSET, choose fewer columns, or aggregate.")?;
        }
        match self.shortened {
            0 => Ok(()),
            shortened => {
                write!(formatter, " {} shortened; `substr` shows the rest.", count(shortened, "value is", "values are"))
            }
        }
    }
}
