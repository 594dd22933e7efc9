//! What the tools do, natively; in the sandbox they are called by the tests of Palisade.

use std::fs;

use serde_json::json;

use super::*;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        place
            .execute(
                "CREATE TABLE t (id INTEGER PRIMARY KEY, a); INSERT INTO t (a) VALUES (1), ('two'), (NULL), (x'0a')",
            )
            .unwrap();
        place
    }

    fn request(&self, sql: &str, parameters: &[Value]) -> Request {
        let database = self.folder.path().join("a.db").to_str().unwrap().to_owned();
        Request { database, sql: sql.to_owned(), parameters: parameters.to_vec(), limit: Some(3), seconds: None }
    }

    fn execute(&self, sql: &str) -> Result<String, Failure> {
        execute(&self.request(sql, &[]), true)
    }

    fn query(&self, sql: &str, parameters: &[Value]) -> Result<String, Failure> {
        query(&self.request(sql, parameters))
    }

    fn files(&self) -> usize {
        fs::read_dir(self.folder.path()).unwrap().count()
    }
}

#[test]
fn rows_are_lines_of_json_and_the_last_line_counts_them() {
    let place = Place::new();
    let shown = place.query("SELECT a FROM t", &[]).unwrap();
    assert_eq!(shown.lines().take(4).collect::<Vec<_>>(), ["[\"a\"]", "[1]", "[\"two\"]", "[null]"]);
    assert!(shown.contains("3 rows shown; 1 more left out."), "{shown}");
    assert_eq!(
        place.query("SELECT id FROM t WHERE a = ?", &[json!({ "hex": "0A" })]).unwrap(),
        "[\"id\"]\n[4]\n1 row."
    );
    assert_eq!(
        place.query("SELECT 1e999, -0.0, 1.0", &[]).unwrap().lines().nth(1),
        Some("[{\"real\":\"inf\"},-0.0,1.0]")
    );
}

#[test]
fn parameters_are_values_and_never_sql() {
    let place = Place::new();
    let rows = place.query("SELECT count(*) FROM t WHERE a = ?", &[json!("'; DROP TABLE t; --")]).unwrap();
    assert_eq!(rows, "[\"count(*)\"]\n[0]\n1 row.");
    for wrong in [json!([1]), json!({ "hex": "0" }), json!({ "hex": "zz" }), json!({ "a": 1 })] {
        assert!(
            matches!(place.query("SELECT ?", std::slice::from_ref(&wrong)), Err(Failure::InvalidInput(_))),
            "{wrong}"
        );
    }
}

#[test]
fn what_fails_changes_nothing_and_leaves_nothing() {
    let place = Place::new();
    let before = fs::read(place.folder.path().join("a.db")).unwrap();
    for sql in ["DELETE FROM t; SELECT no", "DELETE FROM t; INSERT INTO t (id) VALUES (1), (1)", "", "-- nothing"] {
        assert!(place.execute(sql).is_err(), "{sql}");
        assert_eq!((fs::read(place.folder.path().join("a.db")).unwrap() == before, place.files()), (true, 1), "{sql}");
    }
}

#[test]
fn a_database_grows_by_so_much_in_a_call() {
    let place = Place::new();
    let flood = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO t (a) SELECT zeroblob(1000000) FROM n";
    let Failure::Failed(text) = place.execute(flood).unwrap_err() else { panic!("full") };
    assert!(text.starts_with("database or disk is full: a database grows by at most 32 MiB"), "{text}");
    assert_eq!(place.files(), 1);
    assert!(place.query("SELECT count(*) FROM t", &[]).unwrap().contains("[4]"));
}

#[test]
fn a_plan_is_a_tree() {
    let place = Place::new();
    let plan = explain(&place.request("SELECT * FROM t WHERE id = 1 UNION SELECT * FROM t", &[])).unwrap();
    assert!(plan.starts_with("Plan:\n- MERGE (UNION)\n  - LEFT\n    - SEARCH t USING"), "{plan}");
    assert!(plan.contains("Note: every row of `t` is read; it has no index"), "{plan}");
    let plan = explain(&place.request("SELECT * FROM t AS other", &[])).unwrap();
    assert!(plan.ends_with("Note: every row of `other` is read"), "{plan}");
}
