//! What was installed, and what is left of its grant when it is something else.

use std::{sync::mpsc, thread};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::*;

impl Stage {
    /// A plugin with an agent, in the program's own folder.
    fn ferry(&self) -> &Self {
        self.write("data/plugins/ferry/plugin.json", r#"{"name": "ferry"}"#)
            .write("data/plugins/ferry/agents/pilot.md", definition("pilot", "Steers."))
            .write("data/plugins/ferry/tool.wasm", "any bytes")
    }

    fn own_places(&self) -> Places {
        Places {
            plugins_dir: None,
            own_plugins: Some(self.path("data/plugins")),
            plugin_lock: Some(self.path("data/plugins.lock")),
            ..self.places()
        }
    }

    fn load_own(&self) -> Registry {
        Registry::load(&self.own_places(), &["read"]).unwrap()
    }

    /// An entry for what lies there now.
    fn entry(&self) -> Locked {
        let files = ["plugin.json", "agents/pilot.md", "tool.wasm"].map(|path| {
            let bytes = self.dir.read(format!("data/plugins/ferry/{path}")).unwrap();
            (path.to_owned(), Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        });
        serde_json::from_value(json!({
            "version": null, "source": "here", "digest": "", "files": std::collections::BTreeMap::from(files),
            "tools": {}, "asked": ["storage"], "granted": ["storage"], "signer": null, "enabled": true,
        }))
        .unwrap()
    }

    fn lock(&self, name: &str, locked: Locked) -> &Self {
        HeldLock::hold(&self.path("data/plugins.lock")).unwrap().set(name, Some(locked)).unwrap();
        self
    }
}

/// SUP-03, CFG-10
#[test]
fn a_plugin_has_what_was_granted_as_long_as_it_is_what_was_installed() {
    let stage = Stage::new();
    stage.ferry();
    let plugin = |registry: &Registry| registry.plugins()[0].clone();
    assert!(plugin(&stage.load_own()).granted.is_empty(), "nobody installed it");
    stage.lock("ferry", stage.entry());
    let registry = stage.load_own();
    assert_eq!(plugin(&registry).granted.words(), ["storage"]);
    assert_eq!((plugin(&registry).held_back, plugin(&registry).pinned.len()), (None, 3));
    assert_eq!(description(&registry, "pilot"), "Steers.");
    // A component is compared when it is loaded, everything else at once.
    stage.write("data/plugins/ferry/tool.wasm", "other bytes");
    assert_eq!(plugin(&stage.load_own()).held_back, None);
    stage.ferry().write("data/plugins/ferry/agents/pilot.md", definition("pilot", "Obeys."));
    let registry = stage.load_own();
    let held = plugin(&registry).held_back.unwrap();
    assert!(held.contains("`agents/pilot.md` was changed") && held.contains("palisade plugins update ferry"), "{held}");
    assert!(plugin(&registry).granted.is_empty());
    assert!(registry.find("pilot").unwrap_err().to_string().contains("is not what was installed"));
    assert!(says(registry.problems(), &["ferry", "was changed"]));
}

/// SUP-06
#[test]
fn a_lock_that_cannot_be_read_holds_everybody_back() {
    let stage = Stage::new();
    stage.ferry().lock("ferry", stage.entry());
    stage.write("data/plugins/other/plugin.json", r#"{"name": "other"}"#);
    let sound = stage.dir.read_to_string("data/plugins.lock").unwrap();
    for text in [
        "",
        "{}",
        "null",
        &sound[1..],
        &sound.replace("\"enabled\"", "\"enable\""),
        &sound.replacen("{", "{\"x\": 1,", 1),
    ] {
        stage.write("data/plugins.lock", text);
        let registry = stage.load_own();
        assert!(registry.plugins().iter().all(|plugin| plugin.held_back.is_some() && plugin.granted.is_empty()));
        assert!(says(registry.problems(), &["plugins.lock", "no plugin is used"]));
        assert!(HeldLock::hold(&stage.path("data/plugins.lock")).is_err(), "and it is not written over");
    }
    stage.write("data/plugins.lock", sound);
    assert!(stage.load_own().plugins().iter().all(|plugin| plugin.held_back.is_none()), "the control");
}

/// A manifest that says it is another plugin does not have what that one was granted.
#[test]
fn a_grant_is_found_by_the_folder_and_not_by_what_a_manifest_says() {
    let stage = Stage::new();
    stage.ferry().lock("ferry", stage.entry());
    stage.dir.rename("data/plugins/ferry", &stage.dir, "data/plugins/copy").unwrap();
    assert!(stage.load_own().plugins()[0].granted.is_empty());
    let places = Places { plugins_dir: Some(stage.path("elsewhere")), ..stage.own_places() };
    stage.dir.create_dir("elsewhere").unwrap();
    stage.dir.rename("data/plugins/copy", &stage.dir, "elsewhere/ferry").unwrap();
    assert!(Registry::load(&places, &[]).unwrap().plugins()[0].granted.is_empty());
}

#[test]
fn two_who_change_the_list_do_it_one_after_the_other() {
    let stage = Stage::new();
    stage.ferry();
    let (path, entry) = (stage.path("data/plugins.lock"), stage.entry());
    let mut first = HeldLock::hold(&path).unwrap();
    let (send, receive) = mpsc::channel();
    let (theirs, other) = (path.clone(), entry.clone());
    let second = thread::spawn(move || {
        send.send(()).unwrap();
        HeldLock::hold(&theirs).unwrap().set("two", Some(other)).unwrap();
    });
    receive.recv().unwrap();
    first.set("one", Some(entry)).unwrap();
    drop(first);
    second.join().unwrap();
    assert_eq!(HeldLock::hold(&path).unwrap().names(), ["one", "two"], "nobody's change is lost");
}

#[test]
fn whoever_changes_a_word_changes_the_tool() {
    let pin = tool_pin("a", "b", &json!({ "type": "object" }));
    assert_eq!(pin, tool_pin("a", "b", &json!({ "type": "object" })));
    for other in [
        tool_pin("ab", "", &json!({ "type": "object" })),
        tool_pin("", "ab", &json!({ "type": "object" })),
        tool_pin("a", "b ", &json!({ "type": "object" })),
        tool_pin("a", "b", &json!({})),
    ] {
        assert_ne!(pin, other);
    }
}
