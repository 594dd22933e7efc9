//! The tools of the example plugins that keep something, each in its own sandbox, over one storage.

use std::{fs, path::Path, sync::Arc};

use palisade_sandbox::{Artifact, Compiled, Description, digest, precompile};
use palisade_tests::{memory_storage::MemoryStorage, world::World};
use serde_json::{Value, json};

use crate::layout::root;

/// A plugin of `examples/`, as `just examples` puts it together.
struct Plugin {
    name: &'static str,
    world: World,
    tools: Vec<(Compiled, Description)>,
    manifest: Value,
}

impl Plugin {
    /// The plugin with this much storage, if it was built. Where everything is to be tested, it must have been.
    #[expect(clippy::print_stderr, reason = "says that a test is left out")]
    fn load(name: &'static str, storage: &Arc<MemoryStorage>, bytes: u64) -> Option<Self> {
        let package = root().join("target/examples").join(name);
        let Ok(manifest) = fs::read_to_string(package.join("plugin.json")) else {
            let why = "SKIPPED: the example plugins are not built; `just examples` does it";
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
            eprintln!("{why}");
            return None;
        };
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let world = World::new().storing(storage.clone(), bytes);
        let component = |tool: &Value| load(&world, &package.join(tool["component"].as_str().unwrap()));
        let tools = manifest["tools"].as_array().unwrap().iter().map(component).collect();
        Some(Self { name, world, tools, manifest })
    }

    /// Calls a tool; gives its answer, or what went wrong.
    fn call(&self, tool: &str, input: &Value) -> Result<String, String> {
        let (compiled, description) = self.tools.iter().find(|(_, description)| description.name == tool).unwrap();
        let scope = self.world.empty_scope();
        scope.add(compiled, description, self.name).unwrap();
        let report = scope.call_here(tool, &input.to_string(), &palisade_sandbox::Call::new());
        report.outcome.map_err(|failure| format!("{}: {failure}", failure.kind()))
    }

    /// Calls a tool that must work.
    fn works(&self, tool: &str, input: &Value) -> String {
        self.call(tool, input).unwrap_or_else(|failure| panic!("{tool} {input}: {failure}"))
    }
}

fn load(world: &World, file: &Path) -> (Compiled, Description) {
    let wasm = fs::read(file).unwrap();
    let code = precompile(&wasm).unwrap();
    let compiled = Compiled::load(world.engine(), &Artifact::built_in(digest(&wasm), Vec::leak(code))).unwrap();
    let description = compiled.describe(world.engine()).unwrap();
    (compiled, description)
}

/// The id that an answer begins with, after its first word.
fn id(answer: &str) -> String {
    answer.split_whitespace().nth(1).unwrap().to_owned()
}

/// D3, D13. What a manifest says of its tools is what the components say of themselves.
#[test]
fn manifests_and_components_agree() {
    for name in ["database-tools", "reading-list", "todo", "journal"] {
        let Some(plugin) = Plugin::load(name, &Arc::default(), 1 << 20) else { return };
        for (tool, (_, description)) in plugin.manifest["tools"].as_array().unwrap().iter().zip(&plugin.tools) {
            assert_eq!(tool["name"], description.name);
            assert_eq!(tool["description"], description.description.replace('\n', " "));
            let host = description.capabilities.iter().map(|capability| capability.name().to_owned());
            let all: Vec<String> = host.chain(description.own_capabilities.iter().cloned()).collect();
            assert_eq!(tool["capabilities"], json!(all), "{}", description.name);
            let reads = all.last().is_some_and(|capability| capability.ends_with(".read"));
            assert_eq!(description.read_only, reads, "{}", description.name);
        }
    }
}

/// P14
#[test]
fn a_reading_list_is_kept_from_call_to_call() {
    let storage = Arc::new(MemoryStorage::default());
    let Some(list) = Plugin::load("reading-list", &storage, 1 << 20) else { return };
    let added = list.works(
        "reading_list_add",
        &json!({ "title": "A paper", "url": "https://example.com/paper", "tags": ["wasm"] }),
    );
    let paper = id(&added);
    list.works("reading_list_add", &json!({ "title": "A book", "notes": "about harbours" }));
    let all = list.works("reading_list_list", &json!({}));
    assert!(all.starts_with("2 items:") && all.contains("A paper <https://example.com/paper> #wasm"), "{all}");
    assert!(list.works("reading_list_search", &json!({ "query": "HARBOURS" })).contains("A book"));
    list.works("reading_list_mark_read", &json!({ "id": paper }));
    let read = list.works("reading_list_list", &json!({ "status": "read" }));
    assert!(read.starts_with("1 item:") && read.contains(&paper), "{read}");
    list.works("reading_list_delete", &json!({ "id": paper }));
    assert!(list.works("reading_list_list", &json!({ "status": "all" })).starts_with("1 item:"));
    let failure = list.call("reading_list_delete", &json!({ "id": paper })).unwrap_err();
    assert!(failure.starts_with("invalid-input: "), "{failure}");
    assert!(storage.all().keys().all(|(space, _)| space == "reading-list"));
}

/// P14
#[test]
fn tasks_have_days_and_reminders() {
    let storage = Arc::new(MemoryStorage::default());
    let Some(todo) = Plugin::load("todo", &storage, 1 << 20) else { return };
    let late = id(&todo.works("todo_add", &json!({ "title": "Pay", "due": "2001-01-01" })));
    let milk = id(&todo.works("todo_add", &json!({ "title": "Buy milk" })));
    let due = todo.works("todo_list", &json!({ "show": "due" }));
    assert!(due.starts_with("1 task:") && due.contains("Pay (overdue since 2001-01-01)"), "{due}");
    todo.works("todo_remind", &json!({ "id": milk, "on": "2001-01-02" }));
    assert!(todo.works("todo_list", &json!({ "show": "due" })).starts_with("2 tasks:"));
    todo.works("todo_complete", &json!({ "id": late }));
    let open = todo.works("todo_list", &json!({}));
    assert!(open.starts_with("1 task:") && open.contains("Buy milk"), "{open}");
    todo.works("todo_delete", &json!({ "id": milk }));
    assert_eq!(todo.works("todo_list", &json!({})), "0 tasks.");
    let failure = todo.call("todo_add", &json!({ "title": "x", "due": "soon" })).unwrap_err();
    assert!(failure.contains("`soon` is no day; write it like 2026-11-17"), "{failure}");
}

/// P14
#[test]
fn a_journal_is_written_and_read_again() {
    let storage = Arc::new(MemoryStorage::default());
    let Some(journal) = Plugin::load("journal", &storage, 1 << 20) else { return };
    let text = "A quiet day.\nNothing to report.";
    let entry = id(&journal.works("journal_write", &json!({ "text": text, "mood": "calm", "day": "2026-11-15" })));
    journal.works("journal_write", &json!({ "text": "A storm." }));
    assert!(journal.works("journal_list", &json!({ "to": "2026-11-15" })).starts_with("1 entry:"));
    assert!(journal.works("journal_search", &json!({ "query": "quiet calm" })).contains(&entry));
    let read = journal.works("journal_read", &json!({ "id": entry }));
    assert_eq!(read, format!("{entry}  2026-11-15 (calm)\n{text}"));
}

/// Two plugins that keep entries under equal keys do not see each other's, and one that is full says so.
#[test]
fn each_plugin_has_a_space_of_its_own_and_no_more_than_it_was_granted() {
    let storage = Arc::new(MemoryStorage::default());
    {
        let Some(todo) = Plugin::load("todo", &storage, 1 << 20) else { return };
        todo.works("todo_add", &json!({ "title": "mine" }));
    }
    let list = Plugin::load("reading-list", &storage, 2_000).unwrap();
    assert_eq!(list.works("reading_list_list", &json!({ "status": "all" })), "0 items.");
    let add = || list.call("reading_list_add", &json!({ "title": "x".repeat(200) }));
    let failure = (0..20).find_map(|_| add().err()).unwrap();
    assert!(failure.starts_with("failed: there is no room for more"), "{failure}");
    let left = list.works("reading_list_list", &json!({}));
    assert!(left.contains(&"x".repeat(200)), "{left}");
    list.works(
        "reading_list_delete",
        &json!({ "id": left.lines().nth(1).unwrap().split_whitespace().next().unwrap() }),
    );
    add().unwrap();
}
