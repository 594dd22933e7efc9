//! The same SQL by the tools in their sandbox and by Python's SQLite, on the same files.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{Packages, database::WRITER};
use crate::world::World;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/database-tools/tests")
}

/// Python with what it is to do; gives what it prints.
pub(crate) fn python(what: &str, database: &Path, input: &str) -> String {
    let mut child = Command::new("python3")
        .arg(folder().join("native.py"))
        .arg(what)
        .arg(database)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{what} {}", database.display());
    String::from_utf8(output.stdout).unwrap()
}

/// A database of a small shop in the workspace.
pub(crate) fn shop(world: &World) {
    python("make", &world.workspace().join("shop.db"), "");
}

/// What the tool shows, as Python tells it.
fn table(output: &str) -> Value {
    let mut lines = output.lines().filter(|line| line.starts_with('['));
    let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let columns = lines.next().map_or(json!([]), parse);
    json!({ "columns": columns, "rows": lines.map(parse).collect::<Vec<_>>() })
}

/// Numbers may be written in several ways, such as `1e16` and `1e+16`.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Number(one), Value::Number(other)) => {
            one.is_f64() == other.is_f64() && (one == other || one.is_f64() && one.as_f64() == other.as_f64())
        }
        _ => one == other,
    }
}

fn statements(file: &str) -> (String, Vec<(String, Value)>) {
    let text = fs::read_to_string(folder().join(file)).unwrap();
    let statements = serde_json::from_str(&text).unwrap();
    (text, statements)
}

#[test]
fn queries_give_the_rows_that_native_sqlite_gives() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    let (text, statements) = statements("reads.json");
    assert!(statements.len() >= 50);
    let native: Vec<Value> = serde_json::from_str(&python("query", &world.workspace().join("shop.db"), &text)).unwrap();
    for ((sql, parameters), native) in statements.iter().zip(&native) {
        let input = json!({ "database": "shop.db", "sql": sql, "parameters": parameters });
        let report = packages.call(&world, "database-tools", "query_db", "explore", &input);
        assert_eq!(report["outcome"], "ok", "{sql}: {report}");
        let table = table(report["output"].as_str().unwrap());
        for part in ["columns", "rows"] {
            assert!(same(&table[part], &native[part]), "{sql}\nhere:   {}\nnative: {}", table[part], native[part]);
        }
    }
}

#[test]
fn what_is_written_is_what_native_sqlite_writes_and_it_reads_it() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    world.add_agent("writer", WRITER);
    shop(&world);
    let ours = world.workspace().join("shop.db");
    let theirs = world.workspace().join("native.db");
    fs::copy(&ours, &theirs).unwrap();
    let (text, statements) = statements("writes.json");
    let native: Vec<Value> = serde_json::from_str(&python("execute", &theirs, &text)).unwrap();
    for ((sql, parameters), native) in statements.iter().zip(&native) {
        let input = json!({ "database": "shop.db", "sql": sql, "parameters": parameters });
        let report = packages.call(&world, "database-tools", "execute_sql", "writer", &input);
        match native["error"].as_str() {
            Some(error) => {
                assert_eq!(report["outcome"], "failed", "{sql}: {report}");
                assert_eq!(report["error"], error, "{sql}");
            }
            None => {
                assert_eq!(report["outcome"], "ok", "{sql}: {report}");
                let rows = &table(report["output"].as_str().unwrap())["rows"];
                assert!(same(rows, &native["rows"]), "{sql}: {rows}");
            }
        }
    }
    let check = |file: &Path| serde_json::from_str::<Value>(&python("check", file, "")).unwrap();
    let (ours, theirs) = (check(&ours), check(&theirs));
    assert_eq!(ours["verdict"], "ok");
    assert_eq!(ours["dump"], theirs["dump"]);
    assert_eq!(World::files_below(&world.workspace()).len(), 2, "no journal and no lock is left");
}
