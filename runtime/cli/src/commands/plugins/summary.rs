//! What a package is, in plain words, before anything of it runs.
//!
//! Its files are read by the readers that will read them later; its components are compiled in a process of
//! their own, their imports read, and asked what they are in a sandbox that lends them nothing.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};
use palisade_catalog::{BuiltIn, Granted, Places, PluginTool, Registry, choose_offer, pin_told, told_words};
use palisade_grants::Capability;
use palisade_packages::{Package, signature::Verdict};
use palisade_sandbox::{Compiled, Import};
use serde_json::{Value, json};

use super::fetch::Fetched;
use crate::{assemble::Assembly, render::words};

/// What a package is.
pub(super) struct Summary {
    pub(super) name: String,
    pub(super) version: Option<String>,
    pub(super) description: String,
    pub(super) source: String,
    pub(super) digest: String,
    pub(super) size: u64,
    pub(super) verdict: Verdict,
    pub(super) tools: Vec<ToolSummary>,
    pub(super) agents: Vec<AgentSummary>,
    pub(super) skills: Vec<String>,
    pub(super) asked: Granted,
    /// Some tool wants the network and does not say which hosts, so that whoever installs it does.
    pub(super) asks_any_host: bool,
    /// What is wrong with it or odd about it.
    pub(super) warnings: Vec<String>,
}

/// One of its tools.
pub(super) struct ToolSummary {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) kind: Kind,
    pub(super) pin: String,
    /// Why nobody gets it.
    pub(super) refused: Option<String>,
}

/// What a tool is.
pub(super) enum Kind {
    Component {
        file: String,
        imports: Vec<Import>,
    },
    /// A native program.
    Command(String),
    Neither,
}

/// One of its agents.
pub(super) struct AgentSummary {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) tools: String,
    pub(super) grants: String,
}

/// More of a description is not shown; a model would read it all.
const SHOWN: usize = 300;

impl Summary {
    pub(super) fn of(fetched: &Fetched, assembly: &Assembly) -> anyhow::Result<Self> {
        let Fetched { package, source, verdict } = fetched;
        // Skills are read where they lie, so it has to be there for as long as the registry.
        let (mut registry, _folder) = preview(package)?;
        let plugin = registry.plugins().first().cloned().context("the package holds no plugin")?;
        if let Some(rejected) = &plugin.broken {
            bail!("the package is refused: {rejected}");
        }
        let mut summary = Self {
            name: plugin.name.clone(),
            version: plugin.version.clone(),
            description: plugin.description.clone().unwrap_or_default(),
            source: source.clone(),
            digest: package.digest().to_string(),
            size: package.size(),
            verdict: verdict.clone(),
            tools: Vec::new(),
            agents: Vec::new(),
            skills: registry
                .skills()
                .entries()
                .filter(|it| it.origin.plugin.is_some())
                .map(|it| it.name.clone())
                .collect(),
            asked: Granted::default(),
            asks_any_host: false,
            warnings: registry.problems().iter().map(ToString::to_string).collect(),
        };
        if !package.left_out().is_empty() {
            summary.warnings.push(format!("not part of the package: {}", package.left_out().join(", ")));
        }
        let mut compiled: BTreeMap<String, Compiled> = BTreeMap::new();
        let mut asked: BTreeSet<String> = BTreeSet::new();
        for tool in &plugin.tools {
            let tool = summary.tool(tool, package, assembly, &mut compiled, &mut asked)?;
            summary.tools.push(tool);
        }
        summary.asked = Granted::parse(asked)?;
        // What its agents are to be told of, whatever of it will be granted.
        registry.grant(&plugin.name, summary.asked.clone());
        summary.agents = agents(&plugin.name, &registry);
        Ok(summary)
    }

    fn tool(
        &mut self,
        tool: &PluginTool,
        package: &Package,
        assembly: &Assembly,
        compiled: &mut BTreeMap<String, Compiled>,
        asked: &mut BTreeSet<String>,
    ) -> anyhow::Result<ToolSummary> {
        let manifest = &tool.manifest;
        let mut own = None;
        let mut needed: BTreeSet<Capability> =
            manifest.capabilities.iter().filter_map(|word| word.parse().ok()).collect();
        let kind = match (&manifest.component, &manifest.command) {
            (Some(file), _) => {
                let wasm = package.file(file).with_context(|| {
                    format!("the tool `{}` is to be {file}, and the package has no such file", manifest.name)
                })?;
                if !compiled.contains_key(file) {
                    let ready = assembly.compiler().prepare(&assembly.engine, wasm);
                    compiled.insert(file.clone(), ready.with_context(|| format!("{file} cannot be used"))?);
                }
                let compiled = &compiled[file];
                let imports = &compiled.needs().imports;
                // Asked as it will be asked when it is used, and what it says now is what is kept.
                let offers = assembly.compiler().offers(&assembly.engine, wasm);
                match offers.and_then(|offers| choose_offer(manifest.function.as_deref(), &manifest.name, offers)) {
                    Ok(offer) => {
                        needed.extend(&offer.description.capabilities);
                        own = Some(offer.description);
                    }
                    // It cannot say what it needs, so that it is asked for all that it imports.
                    Err(why) => {
                        needed.extend(imports.iter().flat_map(|import| import.capabilities));
                        self.warnings.push(format!("`{}` cannot be called: {why}", manifest.name));
                    }
                }
                if !compiled.needs().toolbox.is_empty() {
                    needed.insert(Capability::Tools);
                }
                Kind::Component { file: file.clone(), imports: imports.clone() }
            }
            (None, Some(program)) => {
                needed.extend([Capability::Exec, Capability::FsRead]);
                let line: Vec<&str> = [program].into_iter().chain(&manifest.args).map(String::as_str).collect();
                Kind::Command(line.join(" "))
            }
            (None, None) => Kind::Neither,
        };
        if needed.contains(&Capability::Http) && manifest.hosts.is_empty() {
            self.asks_any_host = true;
            self.warnings.push(format!(
                "`{}` wants the network and does not say which hosts; --grant net.http:HOST for each that it may ask",
                manifest.name
            ));
        }
        asked.extend(manifest.hosts.iter().map(|host| format!("net.http:{host}")));
        asked.extend(manifest.secrets.iter().map(|name| format!("secret:{name}")));
        let plain =
            needed.iter().filter(|it| !matches!(it, Capability::Http | Capability::Secrets | Capability::Progress));
        asked.extend(plain.map(|capability| capability.name().to_owned()));
        let (pin, refused) = (pin_told(manifest, own.as_ref()), tool.refused.clone());
        let (description, _) = told_words(manifest, own.as_ref());
        Ok(ToolSummary { name: manifest.name.clone(), description, kind, pin, refused })
    }

    /// Whether a word is among what it asks for.
    pub(super) fn asks(&self, word: &str) -> bool {
        Granted::parse([word]).is_ok_and(|granted| {
            let is_host = granted.holds(Capability::Http);
            granted.is_within(&self.asked) || (is_host && self.asks_any_host)
        })
    }

    /// The pins of its tools.
    pub(super) fn pins(&self) -> BTreeMap<String, String> {
        self.tools.iter().map(|tool| (tool.name.clone(), tool.pin.clone())).collect()
    }

    /// Who signed it.
    pub(super) fn signer(&self) -> Option<&str> {
        match &self.verdict {
            Verdict::Signed { by } => Some(by),
            Verdict::Unknown | Verdict::Unsigned => None,
        }
    }

    pub(super) fn value(&self) -> Value {
        let tools = self.tools.iter().map(|tool| {
            let mut value = json!({ "name": tool.name, "description": tool.description, "refused": tool.refused });
            match &tool.kind {
                Kind::Component { file, imports } => {
                    value["component"] = file.as_str().into();
                    value["imports"] =
                        imports.iter().map(|it| json!({ "name": it.name, "capabilities": it.capabilities })).collect();
                }
                Kind::Command(line) => value["command"] = line.as_str().into(),
                Kind::Neither => {}
            }
            value
        });
        let agents = self.agents.iter().map(|agent| {
            let AgentSummary { name, description, tools, grants } = agent;
            json!({ "name": name, "description": description, "tools": tools, "grants": grants })
        });
        json!({
            "name": self.name,
            "version": self.version,
            "description": self.description,
            "source": self.source,
            "digest": self.digest,
            "size": self.size,
            "signer": self.signer(),
            "tools": tools.collect::<Vec<_>>(),
            "agents": agents.collect::<Vec<_>>(),
            "skills": self.skills,
            "asks": self.asked,
            "warnings": self.warnings,
        })
    }
}

/// The package as it will be loaded, without its components: nothing that is read here can be run.
#[expect(clippy::disallowed_methods, reason = "a folder of our own, which is removed at once")]
fn preview(package: &Package) -> anyhow::Result<(Registry, tempfile::TempDir)> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("package");
    for (path, bytes) in package.files().filter(|(path, _)| !path.as_str().ends_with(".wasm")) {
        let path = root.join(path.as_str());
        std::fs::create_dir_all(path.parent().unwrap_or(&root))?;
        std::fs::write(path, bytes)?;
    }
    let core: Vec<&str> = BuiltIn::all().map(|tool| tool.name).collect();
    let places = Places { plugins_dir: Some(folder.path().to_owned()), ..Places::default() };
    let registry = Registry::load(&places, &core).context("the package cannot be read")?;
    Ok((registry, folder))
}

fn agents(plugin: &str, registry: &Registry) -> Vec<AgentSummary> {
    let of_plugin = registry.entries().into_iter().filter_map(|entry| entry.agent);
    let of_plugin = of_plugin.filter(|agent| agent.origin.plugin.as_deref() == Some(plugin));
    of_plugin
        .map(|agent| {
            let effective = palisade_catalog::effective(agent, &palisade_catalog::available(registry), registry);
            let tools: Vec<&str> = effective.tools.iter().map(|tool| tool.candidate.name()).collect();
            AgentSummary {
                name: agent.name.clone(),
                description: agent.description.clone(),
                tools: if tools.is_empty() { "none".to_owned() } else { tools.join(", ") },
                grants: words::grants(&effective.grants),
            }
        })
        .collect()
}

/// The beginning of a text that somebody else wrote; how much is missing is said.
pub(super) fn short(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}… ({} more bytes)", &text[..at], text.len() - at),
        None => text,
    }
}
