//! Sessions that become files and other sessions.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{id, said};
use crate::world::World;

#[test]
fn what_is_exported_can_be_imported_and_forked() {
    let world = World::new();
    let first = world.asked(&["parcels", "--session-name", "river"]);
    world.asked(&["ferry", "--continue"]);
    world.sessions(&["export", "river", "-o", "river.json"]).with_code(0);
    let mode = world.workspace().join("river.json").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let ended = world.sessions(&["export", "river", "-o", "river.json"]).with_code(1);
    assert!(ended.stderr.contains("river.json cannot be written"), "{}", ended.stderr);
    let printed = world.sessions(&["export", "river"]).with_code(0).stdout;
    assert_eq!(printed.trim(), world.read("river.json").unwrap().trim());
    let markdown = world.sessions(&["export", "river", "--format", "markdown"]).with_code(0).stdout;
    assert!(markdown.contains("parcels") && markdown.contains("src/harbour.rs"), "{markdown}");

    // The same machine still has it, so the copy is another one.
    let copy = world.sessions(&["import", "river.json", "--json"]).with_code(0).json();
    assert_ne!(copy["sessionId"], first["session"]);
    let entries = |session: &str| -> Vec<Value> {
        world.shown(session)["entries"].as_array().unwrap().iter().map(|entry| entry["entry"].clone()).collect()
    };
    assert_eq!(entries(copy["sessionId"].as_str().unwrap()), entries(id(&first)));
    // Another one does not.
    let other = World::new();
    let imported = other.palisade_reading(&["sessions", "import", "-", "--json"], &printed).with_code(0).json();
    assert_eq!((&imported["sessionId"], &imported["name"]), (&first["session"], &json!("river")));

    let forked = world.sessions(&["fork", id(&first), "--at", "1", "--name", "brook", "--json"]).with_code(0).json();
    assert_eq!((&forked["entries"], &forked["name"]), (&json!(1), &json!("brook")));
    let went_on = world.asked(&["sea", "--session", "brook", "--transcript"]);
    assert_eq!(said(&went_on["transcript"]), ["parcels", "sea"]);
    assert_eq!(said(&world.shown(id(&first))["entries"]), ["parcels", "ferry"]);
}

#[test]
fn a_session_comes_back_from_markdown() {
    let world = World::new();
    let first = world.asked(&["parcels", "--session-name", "river"]);
    world.sessions(&["export", "river", "--format", "markdown", "-o", "river.md"]).with_code(0);
    let other = World::new();
    let text = world.read("river.md").unwrap();
    let imported = other.palisade_reading(&["sessions", "import", "-", "--json"], &text).with_code(0).json();
    assert_eq!((&imported["sessionId"], &imported["name"]), (&first["session"], &json!("river")));
    let entries = |world: &World| world.shown("river")["entries"].clone();
    assert_eq!(entries(&other), entries(&world));
    assert_eq!(other.sessions(&["export", "river", "--format", "markdown"]).with_code(0).stdout, text);
    // Here the id and the name are taken.
    let ended = world.sessions(&["import", "river.md"]).with_code(0);
    assert!(ended.stderr.contains("another session is called `river`"), "{}", ended.stderr);
    assert_eq!(world.listed(&[]).len(), 2);

    let by_hand = "## User\n\nWhen does it leave?\n\n## Assistant\n\nAt noon.\n";
    let ended = world.palisade_reading(&["sessions", "import", "-"], by_hand).with_code(1);
    assert!(ended.stderr.contains("--agent"), "{}", ended.stderr);
    let arguments = ["sessions", "import", "-", "--agent", "explore", "--json"];
    let imported = world.palisade_reading(&arguments, by_hand).with_code(0).json();
    let went_on = world.asked(&["ferry", "--session", imported["sessionId"].as_str().unwrap(), "--transcript"]);
    assert_eq!(said(&went_on["transcript"]), ["When does it leave?", "ferry"]);
}

#[test]
fn what_is_no_session_is_not_imported() {
    let world = World::new();
    for text in ["", "{}", "[1]", "{\"version\": 1}", "nonsense", &"[".repeat(100_000)] {
        let ended = world.palisade_reading(&["sessions", "import", "-"], text).with_code(1);
        assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
    }
    assert_eq!(world.listed(&["--all"]), Vec::<Value>::new());
    let ended = world.sessions(&["import", "missing.json"]).with_code(1);
    assert!(ended.stderr.starts_with("error: missing.json cannot be read"), "{}", ended.stderr);
}

/// L15, CF-31: what an agent began holds to what that agent may do, whoever goes on with it.
#[test]
fn a_session_that_an_agent_began_goes_on_under_what_that_one_may_do() {
    let world = World::new();
    let writes = r#"[{"calls": [{"tool": "write", "input": {"path": "new.txt", "content": "x"}}]}, {"text": "Done."}]"#;
    let model = world.script("writes.json", writes);
    world.palisade(&["run", "general", "go", "--session-name", "river", "--model", &model]).with_code(0);
    assert!(world.workspace().join("new.txt").exists());
    let exported = world.sessions(&["export", "river"]).with_code(0).stdout;
    let mut document: Value = serde_json::from_str(&exported).unwrap();
    document["session"]["parent"] = json!("another");
    document["session"]["chain"] = json!(["plan"]);
    document["session"]["name"] = json!("brook");
    document["session"]["ceiling"] = json!({ "grants": { "files": { ".": "read" } }, "limits": {} });
    world.palisade_reading(&["sessions", "import", "-"], &document.to_string()).with_code(0);
    // It is nobody's latest.
    assert_eq!((world.listed(&[]).len(), world.listed(&["--all"]).len()), (1, 2));
    assert_eq!(world.listed(&[])[0]["name"], "river");

    let model = world.script("writes.json", &writes.replace("new.txt", "other.txt"));
    let arguments = ["run", "general", "more", "--session", "brook", "--model", &model];
    let ended = world.palisade(&arguments).with_code(0);
    assert!(ended.stderr.contains("read-only"), "what was cut is said: {}", ended.stderr);
    assert!(!world.workspace().join("other.txt").exists());
    // A copy holds to it, too.
    let copy = world.sessions(&["fork", "brook", "--json"]).with_code(0).json();
    assert_eq!(copy["ceiling"]["grants"], document["session"]["ceiling"]["grants"]);
    world.palisade(&["run", "general", "more", "--continue", "--model", &model]).with_code(0);
    assert!(world.workspace().join("other.txt").exists());
}
