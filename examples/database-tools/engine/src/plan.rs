//! How SQLite would carry a statement out.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::fault::Fault;

/// One step of a plan, and the step that it belongs to.
struct Step {
    id: i64,
    parent: i64,
    detail: String,
}

/// The plan of a statement as a tree, and what about it may be slow.
pub(crate) fn of(connection: &Connection, sql: &str) -> Result<String, Fault> {
    // Prepared alone first: what is wrong with it is told at its own place, and two statements are refused.
    let explained = connection.prepare(sql)?.is_explain();
    if explained != 0 {
        return Err(Fault::Input("give the statement itself, without `EXPLAIN` before it".to_owned()));
    }
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
    let steps =
        statement.raw_query().mapped(|row| Ok(Step { id: row.get(0)?, parent: row.get(1)?, detail: row.get(3)? }));
    let steps: Vec<Step> = steps.collect::<Result<_, _>>()?;
    if steps.is_empty() {
        return Ok("Nothing is searched: the statement needs no plan.".to_owned());
    }
    let depths = depths(&steps);
    let mut text = String::from("Plan:\n");
    for (step, depth) in steps.iter().zip(depths) {
        text += &format!("{}- {}\n", "  ".repeat(depth), step.detail);
    }
    for note in notes(connection, &steps)? {
        text += &format!("Note: {note}\n");
    }
    Ok(text.trim_end().to_owned())
}

fn depths(steps: &[Step]) -> Vec<usize> {
    let mut depths: BTreeMap<i64, usize> = BTreeMap::new();
    steps
        .iter()
        .map(|step| {
            let depth = depths.get(&step.parent).map_or(0, |above| above + 1);
            depths.insert(step.id, depth);
            depth
        })
        .collect()
}

fn notes(connection: &Connection, steps: &[Step]) -> Result<Vec<String>, Fault> {
    let mut notes = Vec::new();
    for step in steps {
        if let Some(table) = scanned(&step.detail) {
            notes.push(match indexes(connection, table)? {
                // A name that the statement gave it; which table it is, the plan does not say.
                None => format!("every row of `{table}` is read"),
                Some(none) if none.is_empty() => format!("every row of `{table}` is read; it has no index"),
                Some(some) => format!("every row of `{table}` is read; its indexes: {}", some.join(", ")),
            });
        } else if let Some(sorted) = step.detail.strip_prefix("USE TEMP B-TREE FOR ") {
            notes.push(format!("{sorted} is done by sorting in memory; an index in that order would spare it"));
        } else if step.detail.contains("AUTOMATIC") {
            notes.push("an index is made for this statement alone; one that stays would be faster".to_owned());
        }
    }
    Ok(notes)
}

/// The table that a step reads from beginning to end without an index.
fn scanned(detail: &str) -> Option<&str> {
    let rest = detail.strip_prefix("SCAN ")?;
    let is_plain = !rest.contains(' ') || rest.contains(" AS ");
    rest.split(' ').next().filter(|name| is_plain && !name.starts_with('('))
}

/// The indexes of a table with their columns, if there is a table of that name.
fn indexes(connection: &Connection, table: &str) -> Result<Option<Vec<String>>, Fault> {
    if !connection.prepare("SELECT 1 FROM pragma_table_list WHERE name = ?1")?.exists([table])? {
        return Ok(None);
    }
    let sql = "SELECT list.name, group_concat(coalesce(info.name, '(expression)'), ', ')
        FROM pragma_index_list(?1) AS list, pragma_index_info(list.name) AS info GROUP BY list.name ORDER BY list.name";
    let mut statement = connection.prepare(sql)?;
    let names = statement
        .query_map([table], |row| Ok(format!("{}({})", row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    Ok(Some(names.collect::<Result<_, _>>()?))
}
