//! `palisade plugins`.
#![expect(clippy::unwrap_used, reason = "a value that is not there fails the test")]
#![expect(clippy::disallowed_methods, reason = "tests make and change files of their own")]

mod archives;
mod audited;
mod foreign;
mod hostile;
mod install;
mod lapse;
mod registry;
mod signatures;

use std::{fs, path::PathBuf};

use palisade_tests::guests::guest;
use serde_json::{Value, json};

use crate::world::{Ended, World};

/// Where installed plugins are.
const PLUGINS: &str = ".local/share/palisade/plugins";

/// A world beside which a plugin is written.
struct Shop {
    world: World,
}

impl Shop {
    fn new() -> Self {
        Self { world: World::new() }
    }

    /// A file of the plugin.
    fn add(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        self.world.add(&format!("../wares/ferry/{path}"), bytes)
    }

    /// The plugin `ferry`: a tool that echoes and one that keeps values, an agent and a skill.
    fn with_ferry(version: &str) -> Self {
        let shop = Self::new();
        shop.ferry(version);
        shop
    }

    fn ferry(&self, version: &str) {
        self.manifest(&json!({
            "name": "ferry", "version": version, "description": "Carries parcels.",
            "tools": [
                { "name": "ferry_echo", "description": "Says it again.", "component": "echo.wasm" },
                { "name": "ferry_keep", "description": "Keeps it.", "component": "keeper.wasm" },
            ],
        }));
        for name in ["echo", "keeper"] {
            self.add(&format!("{name}.wasm"), guest(name).unwrap().wasm);
        }
        self.add(
            "agents/pilot.md",
            "---\nname: pilot\ndescription: Steers.\ntools: [ferry_echo, ferry_keep]\n---\nSteer.\n",
        );
        self.add("skills/load/SKILL.md", "---\nname: load\ndescription: How to load.\n---\nHeavy ones first.\n");
    }

    fn manifest(&self, manifest: &Value) {
        self.add("plugin.json", manifest.to_string());
    }

    /// Where the plugin is written.
    fn wares(&self) -> String {
        self.world.workspace().join("../wares/ferry").canonicalize().unwrap().display().to_string()
    }

    fn plugins(&self, arguments: &[&str]) -> Ended {
        self.world.palisade(&[&["plugins"], arguments].concat())
    }

    /// Installs it from its folder.
    fn install(&self, arguments: &[&str]) -> Ended {
        self.plugins(&[&["install", &self.wares()], arguments].concat())
    }

    /// The one plugin that is listed.
    fn listed(&self) -> Value {
        self.plugins(&["list", "--json"]).with_code(0).json()[0].clone()
    }

    fn installed(&self, path: &str) -> PathBuf {
        self.world.home().join(PLUGINS).join(path)
    }

    fn lock(&self) -> PathBuf {
        self.world.home().join(".local/share/palisade/plugins.lock")
    }

    fn locked(&self) -> Value {
        serde_json::from_slice(&fs::read(self.lock()).unwrap()).unwrap()
    }
}

/// D10
#[test]
fn plugins_are_listed_with_what_they_bring() {
    let world = World::new();
    let text = world.palisade(&["plugins", "list"]).with_code(0);
    assert!(text.stdout.is_empty() && text.stderr.contains("there are no plugins"), "{text:?}");
    let plugins = PLUGINS;
    world.add_at_home(
        &format!("{plugins}/harbour/plugin.json"),
        &json!({
            "name": "harbour", "version": "1.2.0", "description": "Parcels and ships.",
            "tools": [
                { "name": "count_parcels", "description": "Counts.", "command": "wc" },
                { "name": "read", "description": "Takes a name that is taken.", "command": "cat" },
            ],
        })
        .to_string(),
    );
    world.add_at_home(
        &format!("{plugins}/harbour/agents/pilot.md"),
        "---\nname: pilot\ndescription: Steers.\n---\nSteer.\n",
    );
    world.add_at_home(&format!("{plugins}/wreck/plugin.json"), "{ \"name\": ");
    let list = world.palisade(&["plugins", "list", "--json"]).with_code(0).json();
    let [harbour, wreck] = &list.as_array().unwrap()[..] else { panic!("{list}") };
    assert_eq!((&harbour["status"], &harbour["agents"]), (&json!("ok"), &json!(["pilot"])));
    assert!(harbour["tools"][1]["refused"].as_str().unwrap().contains("`read` is a tool of this program"), "{list}");
    assert_eq!((&wreck["name"], &wreck["status"]), (&json!("wreck"), &json!("broken")));
    let text = world.palisade(&["plugins", "list"]).with_code(0).stdout;
    for part in ["1.2.0  Parcels and ships.", "tools: count_parcels, read", "agents: pilot", "broken: "] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}
