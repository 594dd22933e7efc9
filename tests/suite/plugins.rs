//! Tools of plugins: components that nobody vouches for, in an agent's sandbox.

mod authority;
mod broken;
mod describing;
mod names;
mod pinned;
mod reload;
mod toolbox;

use std::{fs, path::PathBuf, sync::Arc};

use palisade_agent::{Agent, FailureKind, Progress, ToolCall, ToolOutcome, ToolResult};
use palisade_catalog::{
    BuiltIn, Effective, Equipped, Granted, Places, Registry, available,
    definition::{Presence, Source, parse_markdown},
    effective, equip,
};
use palisade_sandbox::{ArtifactCache, Compiler, Engine, Workspace};
use palisade_tests::{guests::guest, handmade::Handmade, memory_storage::MemoryStorage, world::World};
use serde_json::{Value, json};

/// A folder of plugins, a workspace, and a compiler with a cache.
pub(crate) struct Stage {
    world: World,
    folder: tempfile::TempDir,
    compiler: Arc<Compiler>,
    storage: Arc<MemoryStorage>,
}

impl Stage {
    fn new() -> Self {
        Self::in_world(World::new())
    }

    fn in_world(world: World) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("plugins")).unwrap();
        let compiler = Arc::new(compiler(&folder));
        Self { world, folder, compiler, storage: Arc::default() }
    }

    fn engine(&self) -> &Engine {
        self.world.engine()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("plugins").join(path)
    }

    /// Writes a file of a plugin.
    fn put(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), bytes).unwrap();
        self
    }

    /// A plugin with these tools.
    fn plugin(&self, name: &str, tools: Value) -> &Self {
        self.put(&format!("{name}/plugin.json"), json!({ "name": name, "tools": tools }).to_string())
    }

    fn load(&self) -> Registry {
        let places = Places { plugins_dir: Some(self.folder.path().join("plugins")), ..Places::default() };
        let core: Vec<&str> = BuiltIn::all().map(|tool| tool.name).collect();
        Registry::load(&places, &core).unwrap()
    }

    /// The same, where plugins have these words.
    fn granting(&self, granted: &[(&str, &[&str])]) -> Registry {
        let mut registry = self.load();
        for (plugin, words) in granted {
            registry.grant(plugin, Granted::parse(*words).unwrap());
        }
        registry
    }

    fn equip(&self, effective: &Effective) -> Equipped {
        let workspace = Workspace::open(&self.world.workspace()).unwrap();
        let workspace = workspace.with_storage(Arc::clone(&self.storage) as _);
        equip(self.engine(), Some(&self.compiler), &workspace, effective, &[]).unwrap()
    }

    /// An agent with these settings in front of its file, ready to act.
    fn agent(&self, registry: &Registry, settings: &str) -> Equipped {
        self.equip(&may(registry, settings))
    }
}

fn compiler(folder: &tempfile::TempDir) -> Compiler {
    let cache = ArtifactCache::open(&folder.path().join("cache"), &folder.path().join("data")).unwrap();
    Compiler::new(env!("CARGO_BIN_EXE_compile-worker-for-tests").into(), Some(cache))
}

/// What an agent with these settings may do.
fn may(registry: &Registry, settings: &str) -> Effective {
    effective(&defined(settings), &available(registry), registry)
}

fn defined(settings: &str) -> Agent {
    let text = format!("---\nname: worker\ndescription: d\n{settings}\n---\nWork.\n");
    let source = Source {
        file: "worker.md",
        origin: palisade_agent::Origin::file(palisade_agent::Layer::User, "worker.md"),
        fallback_name: None,
        required_name: None,
        description: Presence::Required,
    };
    parse_markdown(text.as_bytes(), &source).unwrap().agent
}

/// A manifest entry of a component that says all there is to say.
fn told(name: &str, component: &str, capabilities: &[&str]) -> Value {
    json!({ "name": name, "description": "Does it.", "schema": { "type": "object" }, "component": component,
        "capabilities": capabilities })
}

/// The component of a guest.
fn wasm(name: &str) -> &'static [u8] {
    guest(name).unwrap().wasm
}

/// A small component that answers `ok`.
fn small() -> Vec<u8> {
    Handmade::default().wasm().unwrap()
}

fn call(equipped: &Equipped, tool: &str, input: Value) -> ToolResult {
    let call = ToolCall { id: "1".to_owned(), tool: tool.to_owned(), input };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(equipped.toolbox.call(&call, &Progress::unheard()))
}

fn done(result: &ToolResult) -> &str {
    assert!(result.is_done(), "{}", result.text());
    result.text()
}

fn failed(result: &ToolResult) -> (FailureKind, &str) {
    match &result.outcome {
        ToolOutcome::Failed { kind, text } => (*kind, text),
        ToolOutcome::Done(text) => panic!("it worked: {text}"),
    }
}

/// Why tools of an agent are not there.
fn left_out(equipped: &Equipped) -> Vec<(&str, String)> {
    equipped.left_out.iter().map(|tool| (tool.tool.as_str(), tool.reason.to_string())).collect()
}

/// A tool of another plugin and one of this program, which work whatever their neighbours do.
fn neighbour(stage: &Stage) -> &Stage {
    stage.plugin("good", json!([told("good", "good.wasm", &[])])).put("good/good.wasm", small())
}

fn neighbours_work(equipped: &Equipped) {
    assert_eq!(done(&call(equipped, "good", json!({}))), "ok");
    assert_eq!(done(&call(equipped, "read", json!({ "path": "file" }))).lines().count(), 1);
}

/// D10, CF-15
#[test]
fn a_component_is_read_when_it_is_first_called_and_not_before() {
    let stage = Stage::new();
    stage.plugin("p", json!([told("answer", "answer.wasm", &[])]));
    let registry = stage.load();
    // Nothing is there to be read yet, and nobody minds.
    let equipped = stage.agent(&registry, "tools: [answer]");
    assert_eq!(left_out(&equipped), []);
    let spec = &equipped.toolbox.specs()[0];
    assert_eq!((spec.name.as_str(), spec.description.as_str()), ("answer", "Does it."));
    stage.put("p/answer.wasm", small());
    assert_eq!(done(&call(&equipped, "answer", json!({}))), "ok");
    // What was linked stays linked.
    fs::remove_file(stage.path("p/answer.wasm")).unwrap();
    assert_eq!(done(&call(&equipped, "answer", json!({}))), "ok");
}

#[test]
fn what_a_manifest_does_not_say_the_component_is_asked() {
    let stage = Stage::new();
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#;
    let said = Handmade::default().saying("other", "Says\u{202e} so.", schema, "");
    stage.plugin("p", json!([{ "name": "mine", "component": "a.wasm" }])).put("p/a.wasm", said.wasm().unwrap());
    let equipped = stage.agent(&stage.load(), "tools: [mine]");
    let spec = &equipped.toolbox.specs()[0];
    assert_eq!((spec.name.as_str(), spec.description.as_str()), ("mine", "Says\\u{202e} so."));
    assert_eq!(spec.input_schema["properties"]["n"]["type"], "integer");
    assert_eq!(done(&call(&equipped, "mine", json!({ "n": 1 }))), "ok");
    assert_eq!(failed(&call(&equipped, "mine", json!({ "n": "x" }))).0, FailureKind::InvalidInput);
}

/// DF-22: names of the host stay its own, and of two plugins with one name neither has it.
#[test]
fn two_plugins_with_one_name_lose_that_tool_and_no_other() {
    let stage = Stage::new();
    stage
        .plugin("a", json!([told("query", "q.wasm", &[]), told("only_a", "q.wasm", &[]), told("read", "q.wasm", &[])]));
    stage.plugin("b", json!([told("query", "q.wasm", &[]), told("only_b", "q.wasm", &[])]));
    for plugin in ["a", "b"] {
        stage.put(&format!("{plugin}/q.wasm"), small());
        stage.put(&format!("{plugin}/agents/helper.md"), "---\nname: helper\ndescription: d\n---\nHelp.\n");
    }
    let registry = stage.load();
    let equipped = stage.agent(&registry, "tools: [query, only_a, only_b, read]");
    let mut names: Vec<&str> = equipped.toolbox.specs().iter().map(|spec| spec.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["only_a", "only_b", "read"]);
    assert_eq!(failed(&call(&equipped, "query", json!({}))).0, FailureKind::UnknownTool);
    for tool in ["only_a", "only_b"] {
        assert_eq!(done(&call(&equipped, tool, json!({}))), "ok");
    }
    assert_eq!(done(&call(&equipped, "read", json!({ "path": "file" }))).lines().count(), 1);
    for plugin in ["a", "b"] {
        let agent = registry.find(&format!("{plugin}/helper")).unwrap();
        assert_eq!(agent.origin.plugin.as_deref(), Some(plugin));
    }
}
