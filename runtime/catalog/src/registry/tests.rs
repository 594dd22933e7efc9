//! What is found, which of it counts, and what is said about the rest.

mod broken;
mod caching;
mod checking;
mod configuration;
mod files;
mod folders;
mod kept_back;
mod ladder;
mod lock;
mod names;
mod operations;
mod peers;
mod plugin_tools;
mod plugins;
mod skills;
mod trust;

use cap_std::fs::Dir;
use palisade_agent::{Agent, Layer, Origin};
use tempfile::TempDir;

use super::*;

/// A home, a workspace and the other places, empty at first.
struct Stage {
    root: TempDir,
    dir: Dir,
}

impl Stage {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(root.path(), cap_std::ambient_authority()).unwrap();
        dir.create_dir("home").unwrap();
        dir.create_dir("work").unwrap();
        Self { root, dir }
    }

    /// Writes a file with the folders on the way to it.
    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let (folder, _) = path.rsplit_once('/').unwrap_or((".", path));
        self.dir.create_dir_all(folder).unwrap();
        self.dir.write(path, text).unwrap();
        self
    }

    /// Writes a definition whose description is where it was written.
    fn define(&self, path: &str) -> &Self {
        let name = path.rsplit('/').next().unwrap().split('.').next().unwrap();
        self.write(path, definition(name, path))
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.root.path().join(path)
    }

    fn places(&self) -> Places {
        Places {
            config: Some(self.path("config.json")).filter(|_| self.dir.exists("config.json")),
            user: vec![self.path("home/.palisade/agents"), self.path("home/.palisade/subagents")],
            home: Some(self.path("home")),
            workspace: Some(self.path("work")),
            agent_dirs: vec![self.path("cli")].into_iter().filter(|dir| dir.exists()).collect(),
            plugins_dir: Some(self.path("plugins")),
            own_plugins: None,
            trust: Some(self.path("trust.json")),
            ..Places::default()
        }
    }

    fn load(&self) -> Registry {
        Registry::load(&self.places(), &["read", "write", "bash"]).unwrap()
    }

    /// Trusts everything that the project has now.
    fn trust_all(&self) -> &Self {
        let registry = self.load();
        let mut trust = Trust::load(&self.path("trust.json"));
        for entry in registry.entries() {
            if let Some(file) = registry.project_file(entry.name) {
                trust.trust_digest(&file.workspace, &file.relative, &file.digest);
            }
        }
        trust.save(&self.path("trust.json")).unwrap();
        self
    }
}

fn definition(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
}

/// The names of the agents that do not belong to this program.
fn own(registry: &Registry) -> Vec<&str> {
    registry.list().into_iter().filter(|agent| !agent.native).map(|agent| agent.name.as_str()).collect()
}

fn description<'a>(registry: &'a Registry, name: &str) -> &'a str {
    &registry.find(name).unwrap().description
}

fn messages(registry: &Registry) -> Vec<String> {
    registry.problems().iter().map(ToString::to_string).collect()
}

/// Whether one of the notices says all of this.
fn says(notices: &[Notice], parts: &[&str]) -> bool {
    notices.iter().map(ToString::to_string).any(|notice| parts.iter().all(|part| notice.contains(part)))
}

fn of_plugin(plugin: &str, name: &str) -> Agent {
    let origin = Origin { layer: Layer::Plugin, plugin: Some(plugin.to_owned()), path: None };
    Agent { origin, ..Agent::new(name, format!("of {plugin}")) }
}
