//! The example plugins: their packages, their agents, and every tool called in a real sandbox.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests make databases of their own, look at what is left of them, and say when they are left out"
)]

mod database;
mod hostile;
mod installed;
mod lists;
mod native;
mod subagents;

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::world::{Ended, World};

/// The packages that `just examples` puts together.
pub(crate) struct Packages {
    folder: PathBuf,
    cache: PathBuf,
}

/// An agent that may write.
const DATABASE_USER: &str =
    "---\nname: database-user\ndescription: Writes\ngrants: { files: { \".\": read-write } }\n---\nYou write.\n";

impl Packages {
    /// The packages, if they were built. Where everything is to be tested, they must have been.
    pub(crate) fn built() -> Option<Self> {
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
        let folder = target.join("examples");
        if !folder.join("database-tools/components/query_db.wasm").exists() {
            let why = "SKIPPED: the example plugins are not built; `just examples` does it";
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
            eprintln!("{why}");
            return None;
        }
        Some(Self { folder, cache: target.join("examples-cache") })
    }

    /// Starts the program with these plugins.
    pub(crate) fn palisade(&self, world: &World, arguments: &[&str]) -> Ended {
        self.start(world, &[arguments, &["--plugins-dir", self.folder.to_str().unwrap()]].concat())
    }

    /// Starts the program with what other tests compiled: their worlds keep it in one place, under one key.
    pub(crate) fn start(&self, world: &World, arguments: &[&str]) -> Ended {
        let data = world.home().join(".local/share/palisade");
        let key = data.join("artifact.key");
        if !key.exists() {
            fs::create_dir_all(&data).unwrap();
            fs::write(&key, [7; 32]).unwrap();
            for (path, mode) in [(&data, 0o700), (&key, 0o600)] {
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        world.palisade_with(&[("PALISADE_CACHE_DIR", self.cache.to_str().unwrap())], arguments)
    }

    /// Calls a tool of a plugin in the sandbox of an agent; gives the report. Nobody granted these plugins anything, so
    /// the agent of the database, too, has what its plugin was granted: nothing. One that may write stands in for it.
    pub(crate) fn call(&self, world: &World, plugin: &str, tool: &str, agent: &str, input: &Value) -> Value {
        let agent = if agent == "database-agent" { "database-user" } else { agent };
        // Written once: somebody else may be reading it.
        if !world.home().join(".config/palisade/agents/database-user.md").exists() {
            world.add_agent("database-user", DATABASE_USER);
        }
        let file = self.folder.join(plugin).join("components").join(format!("{tool}.wasm"));
        let file = file.to_str().unwrap();
        self.palisade(world, &["tools", "call", file, "--agent", agent, "--input", &input.to_string(), "--json"]).json()
    }

    /// What an agent has and may, with what is wrong with its definition.
    pub(crate) fn explain(&self, world: &World, agent: &str) -> Value {
        let ended = self.palisade(world, &["explain", agent, "--json"]).with_code(0);
        assert_eq!(ended.stderr, "", "nothing is wrong with {agent}");
        ended.json()
    }
}

/// The names in a list of tools.
pub(crate) fn names(tools: &Value) -> Vec<&str> {
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// Why an agent has not a tool.
pub(crate) fn reason<'a>(explained: &'a Value, tool: &str) -> &'a str {
    let excluded = explained["excluded"].as_array().unwrap();
    let found = excluded.iter().find(|excluded| excluded["name"] == tool);
    found.unwrap_or_else(|| panic!("{tool} is not left out: {explained}"))["reason"].as_str().unwrap()
}
