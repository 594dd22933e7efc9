//! From a package to a call: installed with what it asks for, and called by its name through the agent that has it.

use serde_json::{Value, json};

use super::{
    Packages,
    database::{READER, WRITER},
    native::shop,
};
use crate::world::{Ended, World};

fn install(packages: &Packages, world: &World, plugin: &str, granted: &[&str]) {
    let folder = packages.folder.join(plugin);
    let mut arguments = vec!["plugins", "install", folder.to_str().unwrap(), "--yes"];
    arguments.extend(granted.iter().flat_map(|word| ["--grant", *word]));
    packages.start(world, &arguments).with_code(0);
}

fn call(packages: &Packages, world: &World, tool: &str, agent: &str, input: &Value) -> Ended {
    packages.start(world, &["tools", "call", tool, "--agent", agent, "--input", &input.to_string(), "--json"])
}

/// What a scripted model's calls came to, as the agent's transcript has it.
fn transcript(packages: &Packages, world: &World, agent: &str, calls: Value) -> String {
    let script = world.script("script.json", &json!([{ "calls": calls }, { "text": "done" }]).to_string());
    let arguments = ["run", agent, "--model", &script, "--json", "--transcript", "go"];
    packages.start(world, &arguments).with_code(0).json()["transcript"].to_string()
}

/// D17, G1, G3, G6, G8
#[test]
fn the_database_agent_works_with_its_tools_and_others_are_told_why_not() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    install(&packages, &world, "database-tools", &["fs.read", "fs.write"]);
    let insert =
        json!({ "database": "shop.db", "sql": "INSERT INTO customers (name) VALUES (?)", "parameters": ["Eve"] });
    let report = call(&packages, &world, "execute_sql", "database-agent", &insert).with_code(0).json();
    assert!(report["output"].as_str().unwrap().starts_with("1 statement done, 1 row changed."), "{report}");
    let count = json!({ "database": "shop.db", "sql": "SELECT count(*) FROM customers" });
    world.add_agent("reader", READER);
    world.add_agent("writer", WRITER);
    for agent in ["database-agent", "reader", "writer"] {
        let report = call(&packages, &world, "query_db", agent, &count).with_code(0).json();
        assert_eq!(report["output"], "[\"count(*)\"]\n[6]\n1 row.", "{agent}");
    }
    let calls = json!([{ "tool": "execute_sql", "input": insert }, { "tool": "query_db", "input": count }]);
    let said = transcript(&packages, &world, "writer", calls.clone());
    assert!(
        said.contains("Tool 'execute_sql' requires agent 'database-agent' but current agent is 'writer'"),
        "{said}"
    );
    assert!(said.contains("[6]"), "the other call is made: {said}");
    let said = transcript(&packages, &world, "database-agent", json!([calls[0]]));
    assert!(said.contains("1 statement done, 1 row changed."), "{said}");
}

/// A plugin that was granted reading alone reads, and its tool that writes cannot.
#[test]
fn what_was_granted_to_the_plugin_bounds_its_tools() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    shop(&world);
    install(&packages, &world, "database-tools", &["fs.read"]);
    let before = std::fs::read(world.workspace().join("shop.db")).unwrap();
    let input = json!({ "database": "shop.db", "sql": "SELECT count(*) FROM customers" });
    let report = call(&packages, &world, "query_db", "database-agent", &input).with_code(0).json();
    assert_eq!(report["output"], "[\"count(*)\"]\n[5]\n1 row.");
    let input = json!({ "database": "shop.db", "sql": "DELETE FROM customers" });
    assert_ne!(call(&packages, &world, "execute_sql", "database-agent", &input).code, 0);
    assert_eq!(std::fs::read(world.workspace().join("shop.db")).unwrap(), before);
    assert_eq!(World::files_below(&world.workspace()).len(), 1);
}

/// E21, P14
#[test]
fn lists_last_from_one_start_of_the_program_to_the_next() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    for plugin in ["reading-list", "todo", "journal"] {
        install(&packages, &world, plugin, &["storage"]);
    }
    for (agent, add, input, list) in [
        ("reading-list", "reading_list_add", json!({ "title": "A paper" }), "reading_list_list"),
        ("todo", "todo_add", json!({ "title": "A task" }), "todo_list"),
        ("journal", "journal_write", json!({ "text": "A day" }), "journal_list"),
    ] {
        call(&packages, &world, add, agent, &input).with_code(0);
        let report = call(&packages, &world, list, agent, &json!({})).with_code(0).json();
        let output = report["output"].as_str().unwrap();
        assert!(output.starts_with("1 ") && output.contains("A "), "{agent}: {output}");
    }
    let ended = call(&packages, &world, "reading_list_delete", "reading-list", &json!({ "id": "x" }));
    assert!(ended.stderr.contains("is not in the scope of `reading-list`"), "{}", ended.stderr);
}
