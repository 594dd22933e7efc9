//! The operator's configuration file: JSON with agents and a few settings.

use palisade_agent::ModelName;
use palisade_grants::{Grants, Identity};

use super::{
    Notice, Parsed, Rejected, Severity, Source,
    agent::{Fields, names},
    decoded,
    document::{Document, Syntax},
    fields::{plain, sounds_restricting},
    is_valid_name,
    item::Item,
    limits, model,
    node::Content,
    read_map,
    report::Report,
    suggest::nearest,
    text::quoted,
};

/// What a configuration file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Its `agents`, in their order; no two have one name.
    pub agents: Vec<Parsed>,
    /// Everything else.
    pub settings: ConfigSettings,
    /// What has no effect or is probably meant otherwise, apart from what is said of its agents.
    pub warnings: Vec<Notice>,
}

/// What a configuration file says besides agents. Paths are as they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigSettings {
    /// `agent_dirs`: further folders with agents.
    pub agent_dirs: Vec<String>,
    /// `compat_dirs`: folders with agents that were written for other programs.
    pub compat_dirs: Vec<String>,
    /// `plugins_dir`: where plugins are.
    pub plugins_dir: Option<String>,
    /// `allow_user_agents`: whether the user's own agents are read.
    pub allow_user_agents: Option<bool>,
    /// `allow_project_agents`: whether those of the repository are.
    pub allow_project_agents: Option<bool>,
    /// `ceiling`: what no agent exceeds.
    pub ceiling: Option<Grants>,
    /// `project_ceiling`: what no agent of a repository exceeds.
    pub project_ceiling: Option<Grants>,
    /// `binding_overrides`: plugin agents, as `plugin/name`, that agents of the same name from
    /// elsewhere may stand in for.
    pub binding_overrides: Vec<Identity>,
    /// `disabled_plugins`: those that are not loaded. `plugins: { x: { enabled: false } }` adds to
    /// them.
    pub disabled_plugins: Vec<String>,
    /// `model`: what an agent speaks to if nothing else says it.
    pub model: Option<ModelName>,
}

const KNOWN: [&str; 12] = [
    "agents",
    "agent_dirs",
    "compat_dirs",
    "plugins_dir",
    "allow_user_agents",
    "allow_project_agents",
    "ceiling",
    "project_ceiling",
    "binding_overrides",
    "disabled_plugins",
    "plugins",
    "model",
];

/// Those that hold something back.
const RESTRICTING: [&str; 6] =
    ["allow_user_agents", "allow_project_agents", "ceiling", "project_ceiling", "disabled_plugins", "plugins"];

const WHAT: &str = "configuration";

/// Reads a configuration file. One agent that cannot be used makes the file unusable: the operator
/// wrote both, and a file that is half in force is worse than none.
pub fn parse_config(text: &[u8], source: &Source<'_>) -> Result<Config, Rejected> {
    let text = decoded(text, source.file)?;
    let document = Document::new(text, 0..text.len(), Syntax::Json);
    let report = Report::new(source.file, text.as_bytes()).about(document);
    let (report, root) = read_map(report, document, WHAT)?;
    let root = Item::root(&report, &root);
    let entries = root.distinct_entries().unwrap_or_default();
    let settings = settings(&entries);
    let agents = entries.iter().find(|entry| plain(entry.name()) == "agents").filter(|entry| !entry.is_null());
    // One file holds many agents, so its name says nothing about theirs.
    let source = Source { fallback_name: None, required_name: None, ..source.clone() };
    let agents = agents.map(|item| self::agents(item, &source)).unwrap_or_default();
    if report.errors() > 0 {
        // Everything at once, wherever it was found.
        for notice in agents.iter().flat_map(|parsed| &parsed.warnings) {
            report.push(notice.clone());
        }
    }
    let warnings = report.finish()?;
    Ok(Config { agents, settings, warnings })
}

fn settings(entries: &[Item<'_>]) -> ConfigSettings {
    let mut settings = ConfigSettings::default();
    for item in entries {
        let name = plain(item.name());
        if item.is_null() && KNOWN.contains(&name.as_str()) {
            continue;
        }
        match name.as_str() {
            "agents" | "$schema" => {}
            "agent_dirs" => settings.agent_dirs = names(item),
            "compat_dirs" => settings.compat_dirs = names(item),
            "plugins_dir" => {
                settings.plugins_dir = item.text("\"plugins_dir\": \"plugins\"").filter(|text| !text.trim().is_empty());
            }
            "allow_user_agents" => settings.allow_user_agents = item.flag(),
            "allow_project_agents" => settings.allow_project_agents = item.flag(),
            "ceiling" => settings.ceiling = limits::grants(item),
            "project_ceiling" => settings.project_ceiling = limits::grants(item),
            "binding_overrides" => settings.binding_overrides = identities(item),
            "disabled_plugins" => settings.disabled_plugins.extend(names(item)),
            "plugins" => settings.disabled_plugins.extend(disabled(item)),
            "model" => settings.model = model::model(item),
            _ => unknown(item, &name),
        }
    }
    settings.disabled_plugins.sort();
    settings.disabled_plugins.dedup();
    settings
}

fn unknown(item: &Item<'_>, name: &str) {
    let near = nearest(name, KNOWN);
    let fix = near.map(|name| format!("did you mean `{name}`?")).unwrap_or_default();
    if near.is_some_and(|near| RESTRICTING.contains(&near)) || sounds_restricting(name) {
        item.about_key(
            Severity::Error,
            format!("{} is unknown, and without it agents might do more than is meant", item.shown()),
            fix,
        );
    } else {
        item.about_key(Severity::Warning, format!("{} has no effect here", item.shown()), fix);
    }
}

/// `plugin/name`, each by the grammar of names.
fn identities(item: &Item<'_>) -> Vec<Identity> {
    let identity = |text: String| match text.split_once('/') {
        Some((plugin, name)) if is_valid_name(plugin) && is_valid_name(name) => {
            Some(Identity { plugin: Some(plugin.to_owned()), name: name.to_owned() })
        }
        _ => {
            item.error(
                format!("{} in {} names no agent of a plugin", quoted(&text), item.shown()),
                "write `plugin/agent`",
            );
            None
        }
    };
    names(item).into_iter().filter_map(identity).collect()
}

/// The plugins that are switched off one by one. Their other settings are theirs.
fn disabled(item: &Item<'_>) -> Vec<String> {
    let Some(plugins) = item.entries() else {
        item.wrong("a map", "\"plugins\": { \"agents\": { \"enabled\": false } }");
        return Vec::new();
    };
    let is_off = |plugin: &&Item<'_>| {
        let entries = plugin.entries().unwrap_or_default();
        let enabled = entries.into_iter().find(|entry| entry.name() == "enabled");
        enabled.and_then(|entry| entry.flag()) == Some(false)
    };
    plugins.iter().filter(is_off).map(|plugin| plugin.name().to_owned()).collect()
}

fn agents(item: &Item<'_>, source: &Source<'_>) -> Vec<Parsed> {
    let Some(elements) = item.elements() else {
        item.wrong("a list", "\"agents\": [{ \"agentId\": \"todo\" }]");
        return Vec::new();
    };
    let mut agents: Vec<Parsed> = Vec::new();
    for element in elements {
        let Content::Map(_) = element.node.content else {
            element.wrong("a map", "{ \"agentId\": \"todo\" }");
            continue;
        };
        let before = item.report.len();
        let fields = Fields::collect(element.clone());
        let agent = fields.agent(None, source, WHAT);
        let is_taken = !agent.name.is_empty() && agents.iter().any(|other| other.agent.name == agent.name);
        if is_taken {
            element.error(format!("there are two agents called `{}`", agent.name), "keep one of the two");
        }
        agents.push(Parsed { agent, warnings: item.report.take_warnings(before) });
    }
    agents
}
