//! Components of plugins that were installed: what they say of themselves is what they said when somebody looked.

use std::collections::BTreeMap;

use palisade_catalog::{HeldLock, Locked, Missing, pin_told, tool_pin};
use sha2::{Digest as _, Sha256};

use super::*;

impl Stage {
    /// Everything in the folder of plugins is installed as it lies there, with these pins of tools.
    fn installed(&self, plugins: &[(&str, &[(&str, String)])]) -> Registry {
        let lock = self.folder.path().join("plugins.lock");
        let mut held = HeldLock::hold(&lock).unwrap();
        for (name, tools) in plugins {
            let files: BTreeMap<String, String> = fs::read_dir(self.path(name))
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()))
                .map(|(name, bytes)| (name, Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()))
                .collect();
            let tools: BTreeMap<&str, &String> = tools.iter().map(|(tool, pin)| (*tool, pin)).collect();
            let locked: Locked = serde_json::from_value(json!({
                "version": null, "source": "here", "digest": "", "files": files, "tools": tools,
                "asked": ["tools"], "granted": ["tools"], "signer": null, "enabled": true,
            }))
            .unwrap();
            held.set(name, Some(locked)).unwrap();
        }
        let places = Places {
            own_plugins: Some(self.folder.path().join("plugins")),
            plugin_lock: Some(lock),
            ..Places::default()
        };
        let core: Vec<&str> = BuiltIn::all().map(|tool| tool.name).collect();
        Registry::load(&places, &core).unwrap()
    }

    /// The pin of the tool of a component as it describes itself now.
    fn pin(&self, registry: &Registry, plugin: &str, wasm: &[u8]) -> String {
        let plugin = registry.plugins().iter().find(|other| other.name == plugin).unwrap();
        let offers = self.compiler.offers(self.engine(), wasm).unwrap();
        pin_told(&plugin.tools[0].manifest, Some(&offers[0].description))
    }

    /// The same stage after somebody has emptied the cache and started the program again.
    fn forgetting(self) -> Self {
        fs::remove_dir_all(self.folder.path().join("cache")).unwrap();
        let compiler = Arc::new(compiler(&self.folder));
        Self { compiler, ..self }
    }
}

/// A tool that has to be asked what it is, one of the same plugin that has not, and good neighbours.
fn beside(stage: &Stage, component: &[u8]) {
    let tools = json!([{ "name": "query_db", "component": "own.wasm" }, told("plain", "plain.wasm", &[])]);
    neighbour(stage).plugin("p", tools).put("p/own.wasm", component).put("p/plain.wasm", small());
    stage
        .plugin("caller", json!([told("errand", "errand.wasm", &["tools"])]))
        .put("caller/errand.wasm", wasm("errand"));
}

const TOOLS: &str = "tools: [query_db, plain, errand, good, read]";

fn works(equipped: &Equipped, answer: &str) {
    assert_eq!(left_out(equipped), []);
    assert_eq!(done(&call(equipped, "query_db", json!({}))), answer);
    assert_eq!(done(&call(equipped, "errand", json!({ "text": "x" }))), answer);
    neighbours_work(equipped);
}

fn is_held_back(equipped: &Equipped) {
    let [left] = &equipped.left_out[..] else { panic!("{:?}", equipped.left_out) };
    assert_eq!((left.tool.as_str(), &left.reason), ("query_db", &Missing::Changed { plugin: "p".to_owned() }));
    let reason = left.reason.to_string();
    assert!(reason.contains("describes itself otherwise than when it was granted"), "{reason}");
    assert!(reason.contains("palisade plugins update p"), "{reason}");
    assert!(!equipped.toolbox.specs().iter().any(|spec| spec.name == "query_db"), "no model is told of it");
    assert_eq!(failed(&call(equipped, "query_db", json!({}))).0, FailureKind::UnknownTool);
    // Nor does another tool reach it.
    let result = call(equipped, "errand", json!({ "text": "x" }));
    assert!(failed(&result).1.contains("describes itself otherwise"), "{}", result.text());
    assert_eq!(done(&call(equipped, "plain", json!({}))), "ok", "the rest of its plugin is what it was");
    neighbours_work(equipped);
}

/// SUP-06: it said one thing when it was installed and says another when it is asked again, with the same bytes.
#[test]
fn one_that_describes_itself_otherwise_than_when_it_was_granted_is_held_back() {
    let stage = Stage::new();
    let fickle = Handmade::fickle("query_db").wasm().unwrap();
    beside(&stage, &fickle);
    let pins = |stage: &Stage| {
        let pin = stage.pin(&stage.load(), "p", &fickle);
        stage.installed(&[("p", &[("query_db", pin)]), ("caller", &[]), ("good", &[])])
    };
    let registry = pins(&stage);
    works(&stage.agent(&registry, TOOLS), "ok");
    works(&stage.agent(&registry, TOOLS), "ok");
    let stage = stage.forgetting();
    is_held_back(&stage.agent(&registry, TOOLS));
    is_held_back(&stage.agent(&registry, TOOLS));
    // Whoever looks at what it says now and grants it anew has it.
    works(&stage.agent(&pins(&stage), TOOLS), "ok");
}

/// SUP-06, the control: one that always says the same is asked as often as one likes.
#[test]
fn one_that_says_what_it_said_works_whatever_is_forgotten() {
    let stage = Stage::new();
    let constant = Handmade::default().saying("query_db", "Asks.", r#"{"type":"object"}"#, "").wasm().unwrap();
    beside(&stage, &constant);
    let pin = tool_pin("query_db", "Asks.", &json!({ "type": "object" }));
    let registry = stage.installed(&[("p", &[("query_db", pin)]), ("caller", &[]), ("good", &[])]);
    works(&stage.agent(&registry, TOOLS), "ok");
    works(&stage.forgetting().agent(&registry, TOOLS), "ok");
}

/// SUP-06: a word, a schema or a tool that nobody has looked at.
#[test]
fn one_whose_words_were_not_pinned_is_held_back() {
    for pinned in [
        vec![("query_db", tool_pin("query_db", "Asks!", &json!({ "type": "object" })))],
        vec![("query_db", tool_pin("query_db", "Asks.", &json!({})))],
        vec![("other", tool_pin("query_db", "Asks.", &json!({ "type": "object" })))],
        vec![],
    ] {
        let stage = Stage::new();
        let constant = Handmade::default().saying("query_db", "Asks.", r#"{"type":"object"}"#, "").wasm().unwrap();
        beside(&stage, &constant);
        let registry = stage.installed(&[("p", &pinned), ("caller", &[]), ("good", &[])]);
        is_held_back(&stage.agent(&registry, TOOLS));
    }
}
