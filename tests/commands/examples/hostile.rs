//! SQL and database files that mean harm: each ends typed, inside, and the next call works.

use std::fs;

use serde_json::{Value, json};

use super::{Packages, native::shop};
use crate::world::World;

/// How a call may end that was asked for harm. Anything else is not the tool's own answer.
const ANSWERED: [&str; 4] = ["ok", "failed", "invalid-input", "refused"];

fn call(packages: &Packages, world: &World, tool: &str, input: &Value) -> Value {
    packages.call(world, "database-tools", tool, "database-agent", input)
}

fn run(packages: &Packages, world: &World, tool: &str, sql: &str) -> Value {
    call(packages, world, tool, &json!({ "database": "shop.db", "sql": sql, "timeout": 1 }))
}

fn works(packages: &Packages, world: &World) {
    let report = run(packages, world, "query_db", "SELECT count(*) FROM orders");
    assert_eq!(report["output"], "[\"count(*)\"]\n[400]\n1 row.", "{report}");
}

#[test]
fn statements_that_never_end_or_want_everything_end_with_a_reason() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    let before = fs::read(world.workspace().join("shop.db")).unwrap();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    let deep = format!("SELECT {}1{}", "(".repeat(5_000), ")".repeat(5_000));
    let wide = format!("SELECT {}", vec!["1"; 5_000].join(","));
    for (sql, reason) in [
        (&*format!("{endless} SELECT count(*) FROM n"), "stopped after 1 s"),
        (&*format!("{endless} SELECT * FROM n WHERE i < 0"), "stopped after 1 s"),
        ("SELECT count(*) FROM orders a, orders b, orders c, orders d, orders e", "stopped after 1 s"),
        ("SELECT zeroblob(1000000000)", "string or blob too big"),
        ("SELECT printf('%.*c', 1000000000, 'x')", "string or blob too big"),
        ("SELECT replace(hex(zeroblob(8000000)), '0', 'xxxxxxxxxx')", "string or blob too big"),
        (&*format!("{endless} SELECT count(DISTINCT randomblob(1000000) || i) FROM n"), "out of memory"),
        (&deep, "Recursion limit"),
        (&wide, "too many columns in result set"),
    ] {
        let start: String = sql.chars().take(80).collect();
        for tool in ["query_db", "execute_sql"] {
            let report = run(&packages, &world, tool, sql);
            assert!(ANSWERED.contains(&report["outcome"].as_str().unwrap()), "{start}: {report}");
            assert!(report["error"].as_str().is_some_and(|error| error.contains(reason)), "{tool} {start}: {report}");
        }
    }
    // Nor does a statement that fills the disk.
    let report = run(
        &packages,
        &world,
        "execute_sql",
        &format!("CREATE TABLE t (a); {endless} INSERT INTO t SELECT zeroblob(100000) FROM n"),
    );
    assert_eq!(report["outcome"], "failed", "{report}");
    assert_eq!(fs::read(world.workspace().join("shop.db")).unwrap(), before);
    assert_eq!(World::files_below(&world.workspace()).len(), 1);
    works(&packages, &world);
}

#[test]
fn no_statement_reaches_another_file_or_switches_the_guards_off() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    fs::copy(world.workspace().join("shop.db"), world.workspace().join("other.db")).unwrap();
    let outside = world.add_outside("secret.db", &fs::read(world.workspace().join("shop.db")).unwrap());
    let attach = format!("ATTACH '{outside}' AS o");
    let into = format!("VACUUM INTO '{}'", outside.replace("secret", "stolen"));
    for (sql, reason) in [
        (&*attach, "are not reached"),
        ("ATTACH '../secret.db' AS o", "are not reached"),
        ("ATTACH 'other.db' AS o", "are not reached"),
        ("ATTACH 'file:other.db?mode=rwc' AS o", "are not reached"),
        (&into, "are not reached"),
        ("VACUUM INTO 'copy.db'", "are not reached"),
        ("SELECT load_extension('./evil.so')", "no such function: load_extension"),
        ("SELECT readfile('/etc/passwd')", "no such function: readfile"),
        ("SELECT writefile('x', 'y')", "no such function: writefile"),
        ("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'x'", "table sqlite_master may not be modified"),
        ("PRAGMA journal_mode = OFF", "are not reached"),
        ("PRAGMA synchronous = OFF", "are not reached"),
        ("DELETE FROM sqlite_schema", "table sqlite_master may not be modified"),
    ] {
        let report = run(&packages, &world, "execute_sql", sql);
        assert!(report["error"].as_str().is_some_and(|error| error.contains(reason)), "{sql}: {report}");
        if !sql.contains(';') {
            let report = run(&packages, &world, "query_db", sql);
            assert!(ANSWERED[1..].contains(&report["outcome"].as_str().unwrap()), "{sql}: {report}");
        }
    }
    for path in ["../secret.db", &outside, "/etc/passwd", "file:other.db", ":memory:", "", "shop.db/", "."] {
        for tool in ["query_db", "execute_sql"] {
            let input = json!({ "database": path, "sql": "SELECT count(*) FROM customers" });
            let report = call(&packages, &world, tool, &input);
            assert!(ANSWERED[1..].contains(&report["outcome"].as_str().unwrap()), "{path}: {report}");
        }
    }
    world.link("link.db", "../secret.db");
    world.link("way", "..");
    for path in ["link.db", "way/secret.db"] {
        let input = json!({ "database": path, "sql": "SELECT count(*) FROM customers" });
        let report = call(&packages, &world, "query_db", &input);
        assert!(ANSWERED[1..].contains(&report["outcome"].as_str().unwrap()), "{path}: {report}");
    }
    let mut names: Vec<String> = World::files_below(&world.workspace())
        .iter()
        .filter(|path| path.parent() == Some(&world.workspace()))
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["link.db", "other.db", "shop.db"]);
    assert!(!fs::exists(outside.replace("secret", "stolen")).unwrap());
    works(&packages, &world);
}

#[test]
fn damaged_databases_are_answered_and_not_crashed_on() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    let whole = fs::read(world.workspace().join("shop.db")).unwrap();
    let mut number = 0x2026_1117_u64;
    let mut random = |below: usize| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(number >> 33).unwrap() % below
    };
    let mut damaged = 0;
    for round in 0..20 {
        let mut bytes = whole.clone();
        for _ in 0..=round {
            // The first page has the schema and the headers of what follows: damage there goes furthest.
            let place = if round % 2 == 0 { random(4096) } else { random(bytes.len()) };
            bytes[place.max(16)] = u8::try_from(random(256)).unwrap();
        }
        if round % 5 == 4 {
            bytes.truncate(random(whole.len()));
        }
        fs::write(world.workspace().join("bad.db"), &bytes).unwrap();
        let sql = "SELECT count(*), sum(amount), max(day) FROM orders JOIN customers c ON c.id = customer";
        let report = call(&packages, &world, "query_db", &json!({ "database": "bad.db", "sql": sql }));
        assert!(ANSWERED.contains(&report["outcome"].as_str().unwrap()), "{report}");
        damaged += usize::from(report["outcome"] != "ok");
        let sql =
            "UPDATE orders SET day = 'x' WHERE id % 3 = 0; DELETE FROM customers WHERE id = 9; PRAGMA integrity_check";
        let report = call(&packages, &world, "execute_sql", &json!({ "database": "bad.db", "sql": sql, "timeout": 5 }));
        assert!(ANSWERED.contains(&report["outcome"].as_str().unwrap()), "{report}");
    }
    assert!(damaged > 5, "only {damaged} were noticed");
    works(&packages, &world);
}

#[test]
fn a_schema_that_calls_functions_behind_ones_back_is_not_trusted() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    // A view and a trigger that an attacker put there: they work with what is in the database and no more.
    let trap = "CREATE VIEW trap AS SELECT load_extension('x') AS a; CREATE TRIGGER t AFTER DELETE ON orders BEGIN \
                SELECT load_extension('x'); END";
    assert_eq!(run(&packages, &world, "execute_sql", trap)["outcome"], "ok");
    for (tool, sql) in [("query_db", "SELECT * FROM trap"), ("execute_sql", "DELETE FROM orders WHERE id = 1")] {
        let report = run(&packages, &world, tool, sql);
        assert!(report["error"].as_str().is_some_and(|error| error.contains("no such function")), "{report}");
    }
    works(&packages, &world);
}

/// The time of the agent's calls is shorter than the tool's own: the sandbox is ended in the middle of a transaction.
#[test]
fn a_writer_that_is_ended_in_the_middle_leaves_nothing_half_done() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    world.add_agent("hasty", "---\nname: hasty\ndescription: d\nlimits: { call_time: 2s }\n---\n");
    let whole = fs::read(world.workspace().join("shop.db")).unwrap();
    let sql = "PRAGMA cache_size = 2; BEGIN; UPDATE orders SET day = printf('%.*c', 200, 'x'); \
               WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let input = json!({ "database": "shop.db", "sql": sql, "timeout": 25 });
    let report = packages.call(&world, "database-tools", "execute_sql", "hasty", &input);
    assert_eq!(report["outcome"], "out-of-time", "{report}");
    assert_ne!(fs::read(world.workspace().join("shop.db")).unwrap(), whole, "half of it was written");
    // The next one who writes finds the lock of one that is gone, and undoes what it began.
    let report = run(&packages, &world, "execute_sql", "SELECT count(*) FROM orders WHERE length(day) = 200");
    assert!(report["output"].as_str().is_some_and(|output| output.contains("[0]")), "{report}");
    assert_eq!(fs::read(world.workspace().join("shop.db")).unwrap(), whole);
    assert_eq!(World::files_below(&world.workspace()).len(), 1);
    works(&packages, &world);
}

/// What a call may write is used up before it can undo what it began; the next one does.
#[test]
fn a_writer_that_may_write_no_more_leaves_it_to_the_next_to_undo_it() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    world.add_agent("frugal", "---\nname: frugal\ndescription: d\nlimits: { written: 40KiB }\n---\n");
    let whole = fs::read(world.workspace().join("shop.db")).unwrap();
    let sql = "PRAGMA cache_size = 2; BEGIN; UPDATE orders SET day = printf('%.*c', 200, 'x'); COMMIT";
    let input = json!({ "database": "shop.db", "sql": sql });
    let report = packages.call(&world, "database-tools", "execute_sql", "frugal", &input);
    assert_eq!(report["outcome"], "failed", "{report}");
    assert!(report["error"].as_str().unwrap().contains("a call may write only so much"), "{report}");
    assert_ne!(fs::read(world.workspace().join("shop.db")).unwrap(), whole, "half of it was written");
    let report = run(&packages, &world, "query_db", "SELECT 1 FROM orders");
    assert!(report["error"].as_str().unwrap().contains("`execute_sql` undoes what it left half done"), "{report}");
    let report = run(&packages, &world, "execute_sql", "SELECT count(*) FROM orders WHERE length(day) = 200");
    assert!(report["output"].as_str().is_some_and(|output| output.contains("[0]")), "{report}");
    assert_eq!(fs::read(world.workspace().join("shop.db")).unwrap(), whole);
    assert_eq!(World::files_below(&world.workspace()).len(), 1);
}

#[test]
fn writers_at_the_same_time_take_turns() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    works(&packages, &world);
    let add = "INSERT INTO customers (name) SELECT 'new' FROM orders";
    let reports: Vec<Value> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| call(&packages, &world, "execute_sql", &json!({ "database": "shop.db", "sql": add })))
            })
            .collect();
        let reader = scope.spawn(|| run(&packages, &world, "query_db", "SELECT count(*) % 400 FROM customers"));
        let mut reports: Vec<Value> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        // Whenever it was read, it was between two of them.
        let read = reader.join().unwrap();
        assert!(read["output"].as_str().is_some_and(|output| output.contains("\n[5]\n")), "{read}");
        reports.retain(|report| report["outcome"] != "ok");
        reports
    });
    assert_eq!(reports, Vec::<Value>::new());
    let report = run(&packages, &world, "query_db", "SELECT count(*) FROM customers");
    assert!(report["output"].as_str().unwrap().contains("[2405]"), "{report}");
    let check: Value =
        serde_json::from_str(&super::native::python("check", &world.workspace().join("shop.db"), "")).unwrap();
    assert_eq!(check["verdict"], "ok");
    assert_eq!(World::files_below(&world.workspace()).len(), 1);
}
