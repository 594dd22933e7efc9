//! `database-tools`: who may call what, and what a call leaves behind.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::{Value, json};

use super::{
    Packages, names,
    native::{python, shop},
    reason,
};
use crate::world::World;

/// An agent of the user's that may write in the workspace and has no list of tools.
pub(crate) const WRITER: &str = "---\nname: writer\ndescription: Writes\n---\nYou write.\n";
/// One that may only read.
pub(crate) const READER: &str = "---\nname: reader\ndescription: Reads\ntools: [query_db, explain_query, execute_sql]\ngrants:\n  files: { \".\": read }\n---\nYou read.\n";

const PLUGIN: &str = "database-tools";

/// Every file of the workspace with what is in it.
fn tree(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    World::files_below(&world.workspace()).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn query(packages: &Packages, world: &World, sql: &str) -> Value {
    packages.call(world, PLUGIN, "query_db", "explore", &json!({ "database": "shop.db", "sql": sql }))
}

fn execute(packages: &Packages, world: &World, sql: &str) -> Value {
    packages.call(world, PLUGIN, "execute_sql", "database-agent", &json!({ "database": "shop.db", "sql": sql }))
}

/// D1, D2, D8, D9, D10, D13, D16, D17. The manifest and the agent's file are those of the design they come from; the
/// manifest's list of tools goes before the file's.
#[test]
fn the_database_agent_loads_from_its_package_without_a_warning() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    let explained = packages.explain(&world, "database-agent");
    assert_eq!((&explained["source"], &explained["plugin"]), (&json!("plugin"), &json!(PLUGIN)));
    assert_eq!(explained["model"], "claude-3-5-sonnet-20241022");
    assert_eq!(names(&explained["tools"]), ["read", "query_db", "explain_query", "execute_sql"]);
    assert!(explained["prompt"].as_str().unwrap().starts_with("You are a database specialist with expertise in SQL."));
    let list = packages.palisade(&world, &["agents", "list", "--json"]).with_code(0);
    let agents = list.json();
    let agent = agents.as_array().unwrap().iter().find(|agent| agent["name"] == "database-agent").unwrap();
    assert_eq!(agent["description"], "SQL expert and query optimizer");
}

/// G1, G3, G6, G7, G8, G9
#[test]
fn execute_sql_is_there_for_the_database_agent_and_for_no_other() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    for (name, text) in [("writer", WRITER), ("reader", READER)] {
        world.add_agent(name, text);
        let explained = packages.explain(&world, name);
        assert_eq!(
            reason(&explained, "execute_sql"),
            format!("Tool 'execute_sql' requires agent 'database-agent' but current agent is '{name}'")
        );
        let tools = names(&explained["tools"]);
        assert!(tools.contains(&"query_db") && tools.contains(&"explain_query"), "{tools:?}");
    }
    // An agent of that name that is not the plugin's is another agent.
    world.add_agent("database-agent", "---\nname: database-agent\ndescription: Not the one\n---\n");
    let explained = packages.explain(&world, "database-agent");
    assert!(reason(&explained, "execute_sql").starts_with("Tool 'execute_sql' requires agent 'database-agent'"));
}

#[test]
fn a_read_only_agent_reads_a_database_and_leaves_everything_as_it_was() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    world.add_agent("reader", READER);
    shop(&world);
    let before = tree(&world);
    let input =
        json!({ "database": "shop.db", "sql": "SELECT name FROM customers WHERE city = ?", "parameters": ["London"] });
    for agent in ["explore", "reader"] {
        let report = packages.call(&world, PLUGIN, "query_db", agent, &input);
        assert_eq!(report["output"], "[\"name\"]\n[\"Ada\"]\n1 row.", "{report}");
        assert_eq!(report["written"], 0);
    }
    for (sql, kind) in [
        ("DELETE FROM orders", "refused"),
        ("CREATE TABLE t (a)", "refused"),
        ("PRAGMA journal_mode = WAL", "refused"),
        ("PRAGMA user_version = 1", "refused"),
        ("SELECT 1; DELETE FROM orders", "invalid-input"),
        ("BEGIN", "invalid-input"),
    ] {
        let report = query(&packages, &world, sql);
        assert_eq!(report["outcome"], kind, "{sql}: {report}");
    }
    // Nor does the tool that writes, where nothing may be written.
    let report = packages.call(
        &world,
        PLUGIN,
        "execute_sql",
        "reader",
        &json!({ "database": "shop.db", "sql": "DELETE FROM orders" }),
    );
    assert_eq!(report["outcome"], "refused", "{report}");
    assert_eq!(tree(&world), before);
}

#[test]
fn execute_sql_changes_the_database_file_and_nothing_else() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    world.add("notes.txt", "mine");
    let before = tree(&world);
    let report = execute(&packages, &world, "UPDATE customers SET city = 'Kyoto' WHERE id = 3");
    assert_eq!(report["output"], "1 statement done, 1 row changed.", "{report}");
    let mut after = tree(&world);
    let database = world.workspace().join("shop.db");
    assert_ne!(after[&database], before[&database]);
    after.insert(database.clone(), before[&database].clone());
    assert_eq!(after, before, "no journal, no lock, nothing else");
    assert_eq!(
        query(&packages, &world, "SELECT city FROM customers WHERE id = 3")["output"],
        "[\"city\"]\n[\"Kyoto\"]\n1 row."
    );
}

#[test]
fn several_statements_are_done_all_or_not_at_all() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    let before = tree(&world);
    let count = "SELECT count(*) FROM customers";
    for sql in [
        "INSERT INTO customers (name) VALUES ('x'); INSERT INTO customers (nme) VALUES ('y')",
        "BEGIN; INSERT INTO customers (name) VALUES ('x')",
        "INSERT INTO customers (name) VALUES ('x'); INSERT INTO customers (id, name) VALUES (1, 'y')",
    ] {
        let report = execute(&packages, &world, sql);
        assert_ne!(report["outcome"], "ok", "{sql}");
        assert_eq!(query(&packages, &world, count)["output"], "[\"count(*)\"]\n[5]\n1 row.", "{sql}: {report}");
    }
    assert_eq!(tree(&world).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    let sql =
        "BEGIN; INSERT INTO customers (name) VALUES ('x'); SAVEPOINT a; DELETE FROM orders; ROLLBACK TO a; COMMIT";
    assert_eq!(execute(&packages, &world, sql)["outcome"], "ok");
    assert_eq!(
        query(&packages, &world, "SELECT count(*) > 100 FROM orders")["output"],
        "[\"count(*) > 100\"]\n[1]\n1 row."
    );
}

#[test]
fn a_new_database_is_made_only_if_that_is_meant() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    let mut input = json!({ "database": "new/shelf.db", "sql": "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)" });
    let call = |input: &Value| packages.call(&world, PLUGIN, "execute_sql", "database-agent", input);
    let report = call(&input);
    assert!(report["error"].as_str().unwrap().contains("with \"create\": true it is made"), "{report}");
    assert_eq!(tree(&world), BTreeMap::new());
    input["create"] = true.into();
    assert_eq!(call(&input)["output"], "2 statements done, 2 rows changed. The last row inserted has the id 2.");
    let check: Value = serde_json::from_str(&python("check", &world.workspace().join("new/shelf.db"), "")).unwrap();
    assert_eq!(check["verdict"], "ok");
    // One that comes to nothing leaves nothing.
    let report = call(&json!({ "database": "other.db", "sql": "CREATE TALE t (a)", "create": true }));
    assert_eq!(report["error"], "near \"TALE\": syntax error, at: TALE t (a)");
    assert_eq!(tree(&world).len(), 1);
}

#[test]
fn long_results_say_what_was_left_out() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    let output = |sql: &str| query(&packages, &world, sql)["output"].as_str().unwrap().to_owned();
    let orders = output("SELECT id FROM orders");
    assert_eq!(orders.lines().count(), 102);
    assert!(
        orders
            .ends_with("100 rows shown; 300 more left out. Use LIMIT and OFFSET, choose fewer columns, or aggregate."),
        "{orders}"
    );
    let many = output("SELECT a.id FROM orders a, orders b");
    assert!(many.contains("100 rows shown; more than 10000 others are left out."), "{many}");
    let long = output("SELECT printf('%.*c', 5000, 'x')");
    assert!(long.contains("x… (1000 more characters)") && long.contains("1 value is shortened"), "{long}");
    let wide = output("SELECT printf('%.*c', 3900, 'x') FROM orders");
    assert!(wide.len() < 60_000 && wide.contains("more left out"), "{}", wide.len());
    let input = json!({ "database": "shop.db", "sql": "SELECT id FROM orders", "limit": 2 });
    let report = packages.call(&world, PLUGIN, "query_db", "explore", &input);
    assert!(report["output"].as_str().unwrap().contains("2 rows shown; 398 more left out."), "{report}");
}

#[test]
fn errors_are_sqlites_own_with_the_place() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    for (sql, error) in [
        ("SELECT nme FROM customers", "no such column: nme, at: nme FROM customers"),
        ("SELECT * FROM custmers", "no such table: custmers"),
        ("SELECT 1; SELECT 2", "there are several statements; give one, or use `execute_sql`"),
        ("SELECT ?", "the statement has 1 parameters and `parameters` 0; give one value for each `?`"),
    ] {
        let report = query(&packages, &world, sql);
        assert_eq!((&report["outcome"], report["error"].as_str()), (&json!("invalid-input"), Some(error)), "{sql}");
    }
    let missing =
        packages.call(&world, PLUGIN, "query_db", "explore", &json!({ "database": "none.db", "sql": "SELECT 1" }));
    assert!(missing["error"].as_str().unwrap().starts_with("none.db does not exist"), "{missing}");
    world.add("text.db", "this is no database, and longer than the beginning of one would be: ".repeat(3));
    let text = packages.call(
        &world,
        PLUGIN,
        "query_db",
        "explore",
        &json!({ "database": "text.db", "sql": "SELECT 1 FROM a" }),
    );
    assert!(text["error"].as_str().unwrap().contains("file is not a database"), "{text}");
}

#[test]
fn a_plan_shows_what_is_read_whole_and_which_index_helps() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    let before = tree(&world);
    let explain = |sql: &str| {
        let input = json!({ "database": "shop.db", "sql": sql });
        packages.call(&world, PLUGIN, "explain_query", "explore", &input)
    };
    let plan = explain("SELECT * FROM orders WHERE day = '2024-02-01' ORDER BY amount")["output"].to_string();
    assert!(plan.contains("- SCAN orders") && plan.contains("every row of `orders` is read"), "{plan}");
    assert!(plan.contains("its indexes: orders_by_customer(customer)"), "{plan}");
    assert!(plan.contains("ORDER BY is done by sorting"), "{plan}");
    let plan = explain("SELECT * FROM orders WHERE customer = ?")["output"].to_string();
    assert!(plan.contains("USING INDEX orders_by_customer") && !plan.contains("Note"), "{plan}");
    // What would write is only explained.
    assert_eq!(explain("DELETE FROM orders")["outcome"], "ok");
    assert_eq!(explain("EXPLAIN SELECT 1")["outcome"], "invalid-input");
    assert_eq!(tree(&world), before);
}

#[test]
fn an_unfinished_transaction_is_told_to_readers_and_undone_by_who_may_write() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    let whole = fs::read(world.workspace().join("shop.db")).unwrap();
    // A call that was ended in the middle leaves the database half changed, its journal, and its lock.
    let journal = native_journal(&world);
    let database = world.workspace().join("shop.db");
    assert_ne!(fs::read(&database).unwrap(), whole);
    let before = tree(&world);
    let report = query(&packages, &world, "SELECT count(*) FROM orders");
    assert_eq!(report["outcome"], "failed");
    assert!(
        report["error"]
            .as_str()
            .unwrap()
            .contains("has the journal of a transaction that is not finished (shop.db-journal)"),
        "{report}"
    );
    assert_eq!(tree(&world), before);
    // Without a lock of ours the journal is that of another program, which may be at work.
    let report = execute(&packages, &world, "DELETE FROM settings");
    assert!(report["error"].as_str().unwrap().contains("that another program began"), "{report}");
    assert_eq!(tree(&world), before);
    fs::write(world.workspace().join("shop.db-palisade-lock"), "0123456789abcdef 00000003\n").unwrap();
    let report = execute(&packages, &world, "SELECT count(*) FROM orders");
    assert!(report["output"].as_str().unwrap().contains("[400]"), "{report}");
    assert!(!journal.exists() && World::files_below(&world.workspace()).len() == 1);
    assert_eq!(fs::read(&database).unwrap(), whole);
}

/// Leaves the workspace as a writer would that was stopped while it wrote.
fn native_journal(world: &World) -> PathBuf {
    let database = world.workspace().join("shop.db");
    python("break", &database, "");
    world.workspace().join("shop.db-journal")
}

#[test]
fn a_database_with_a_write_ahead_log_is_read_when_the_log_is_empty() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    let database = world.workspace().join("shop.db");
    python(
        "query",
        &database,
        r#"[["PRAGMA journal_mode = WAL", []], ["UPDATE customers SET city = 'Bergen' WHERE id = 2", []]]"#,
    );
    assert_eq!(World::files_below(&world.workspace()).len(), 1);
    let before = tree(&world);
    let city = "SELECT city FROM customers WHERE id = 2";
    assert_eq!(query(&packages, &world, city)["output"], "[\"city\"]\n[\"Bergen\"]\n1 row.");
    assert_eq!(tree(&world), before);
    assert_eq!(execute(&packages, &world, "UPDATE customers SET city = 'Lund' WHERE id = 2")["outcome"], "ok");
    assert_eq!(query(&packages, &world, city)["output"], "[\"city\"]\n[\"Lund\"]\n1 row.");
    assert_eq!(World::files_below(&world.workspace()).len(), 1);
    // A log with something in it is not overlooked.
    fs::write(world.workspace().join("shop.db-wal"), [1; 64]).unwrap();
    let report = query(&packages, &world, city);
    assert!(report["error"].as_str().unwrap().contains("has a log with changes that are not in it yet"), "{report}");
    fs::write(world.workspace().join("shop.db-shm"), "").unwrap();
    let report = execute(&packages, &world, "DELETE FROM orders");
    assert!(report["error"].as_str().unwrap().contains("is open in another program"), "{report}");
}
