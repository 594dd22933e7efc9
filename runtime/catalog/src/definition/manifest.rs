//! A plugin's `plugin.json`: the tools and agents it brings.
//!
//! One entry that cannot be used is left out with a warning and does not take the plugin with it. A
//! manifest is not trusted: the paths in it stay inside the plugin, and an entry whose restriction
//! cannot be read is left out rather than used without it.

use palisade_agent::{ModelName, ReasoningEffort};
use palisade_grants::{Host, Rule, Span, Word, WorkspacePath, canonical_tool};
use serde_json::Value;

use super::{
    Notice, Rejected, Severity,
    agent::names,
    decoded,
    document::{Document, Syntax},
    fields::{Field, Meaning, meaning, plain},
    is_valid_name,
    item::Item,
    model,
    node::Content,
    read_map,
    report::Report,
    text::quoted,
    tools,
};

/// What a plugin brings. An entry that cannot be used is left out with a warning; the others stay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// What the plugin is called.
    pub name: String,
    /// Which version of it.
    pub version: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its tools; no two have one name.
    pub tools: Vec<ManifestTool>,
    /// Its agents; no two have one name.
    pub agents: Vec<ManifestAgent>,
    /// What was left out, and why.
    pub warnings: Vec<Notice>,
}

/// A tool of a plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManifestTool {
    /// What it is called.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What its input looks like, as JSON Schema.
    pub schema: Option<Value>,
    /// The component that is the tool: a path inside the plugin, without `..`.
    pub component: Option<String>,
    /// Which function of the component is the tool, as `name` or `namespace:package/interface#name`, if the component was
    /// not written for this program.
    pub function: Option<String>,
    /// The program that is the tool, where an operator lets programs run.
    pub command: Option<String>,
    /// What the program is called with.
    pub args: Vec<String>,
    /// What it needs: powers of the host, such as `fs.read`, and of the plugin's own, such as `lists.write`.
    pub capabilities: Vec<String>,
    /// The hosts that it asks over HTTP, as grants write them.
    pub hosts: Vec<String>,
    /// The secrets that it wants put into its requests, by name.
    pub secrets: Vec<String>,
    /// The only agent of the plugin that may use it.
    pub required_agent: Option<String>,
    /// The only agents of the plugin that see it.
    pub visible_to: Option<Vec<String>>,
}

/// An agent of a plugin: where its file is, and what goes before what the file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManifestAgent {
    /// What it is called, whatever its file says.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its file: a path inside the plugin, without `..`.
    pub system_prompt_file: String,
    /// The model it speaks to.
    pub model: Option<ModelName>,
    /// How freely the model chooses its words.
    pub temperature: Option<f64>,
    /// How long the model thinks.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The only tools it has.
    pub tools: Option<Vec<Rule>>,
}

/// Reads a plugin's `plugin.json`.
pub fn parse_manifest(text: &[u8], file: &str) -> Result<Manifest, Rejected> {
    let text = decoded(text, file)?;
    let document = Document::new(text, 0..text.len(), Syntax::Json);
    let report = Report::new(file, text.as_bytes()).about(document);
    let (report, root) = read_map(report, document, "plugin manifest")?;
    let root = Item::root(&report, &root);
    let entries = root.entries().unwrap_or_default();
    let mut manifest = Manifest { name: plugin_name(&root, &entries), ..Manifest::default() };
    for item in entries.iter().filter(|item| !item.is_null()) {
        let errors = report.errors();
        match item.name() {
            "name" | "$schema" | "build" => {}
            "version" => manifest.version = item.text("\"version\": \"1.0.0\""),
            "description" => manifest.description = item.text("\"description\": \"What it is for\""),
            "tools" => {
                manifest.tools =
                    each(item, |entry| tool(entry, &manifest.name), |tool| canonical_tool(&tool.name), &manifest.name)
            }
            "agents" => {
                manifest.agents =
                    each(item, |entry| agent(entry, &manifest.name), |agent| agent.name.clone(), &manifest.name)
            }
            _ => item.about_key(Severity::Warning, format!("{} has no effect here", item.shown()), ""),
        }
        if item.name() != "name" {
            report.forgive(errors);
        }
    }
    manifest.warnings = report.finish()?;
    Ok(manifest)
}

fn plugin_name(root: &Item<'_>, entries: &[Item<'_>]) -> String {
    let Some(item) = entries.iter().find(|item| item.name() == "name") else {
        root.error("the plugin has no `name`", "add `\"name\": \"my-plugin\"`");
        return String::new();
    };
    let name = item.text("\"name\": \"my-plugin\"").unwrap_or_default();
    if !is_valid_name(&name) && matches!(item.node.content, Content::Text(_)) {
        let fix = "use letters, digits, `-` and `_`, at most 100, and begin with a letter or a digit";
        item.error(format!("{} cannot be the name of a plugin", quoted(&name)), fix);
    }
    name
}

/// The entries of a list that can be used. Each is checked for itself before it is compared with
/// those before it, so that two entries without a name are not each other's duplicates.
fn each<'a, T>(
    list: &Item<'a>,
    read: impl Fn(&Item<'a>) -> Option<T>,
    key: impl Fn(&T) -> String,
    plugin: &str,
) -> Vec<T> {
    let kind = list.name().trim_end_matches('s');
    let Some(elements) = list.elements() else {
        list.wrong("a list", &format!("\"{}\": []", list.name()));
        return Vec::new();
    };
    let mut kept: Vec<T> = Vec::new();
    for element in elements {
        let errors = list.report.errors();
        let entry = read(&element);
        let is_good = list.report.errors() == errors;
        list.report.forgive(errors);
        let Some(entry) = entry.filter(|_| is_good) else { continue };
        let name = key(&entry);
        if kept.iter().any(|other| key(other) == name) {
            element.warn(format!("Duplicate {kind} name '{name}' in plugin '{plugin}'"), "the first one is kept");
        } else {
            kept.push(entry);
        }
    }
    kept
}

/// The fields that an entry cannot do without, as text.
fn required<const N: usize>(entry: &Item<'_>, kind: &str, plugin: &str, fields: [&str; N]) -> Option<[String; N]> {
    let entries = entry.entries().unwrap_or_default();
    let text = |field: &str| match entries.iter().find(|item| item.name() == field).map(|item| &item.node.content) {
        Some(Content::Text(text)) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        _ => None,
    };
    let texts = fields.map(text);
    if texts.iter().any(Option::is_none) {
        let missing =
            fields.iter().zip(&texts).filter(|(_, text)| text.is_none()).map(|(field, _)| format!("`{field}`"));
        let message = format!("Invalid {kind} in plugin '{plugin}': missing required fields");
        entry.error(message, format!("add {}", missing.collect::<Vec<_>>().join(" and ")));
        return None;
    }
    Some(texts.map(Option::unwrap_or_default))
}

fn invalid(item: &Item<'_>, kind: &str, plugin: &str, why: &str) {
    item.error(format!("Invalid {kind} in plugin '{plugin}': {why}"), "");
}

fn agent(entry: &Item<'_>, plugin: &str) -> Option<ManifestAgent> {
    let [name, file] = required(entry, "agent", plugin, ["name", "system_prompt_file"])?;
    if !is_valid_name(&name) {
        invalid(entry, "agent", plugin, &format!("{} cannot be the name of an agent", quoted(&name)));
    }
    let mut agent = ManifestAgent { name, ..ManifestAgent::default() };
    for item in entry.distinct_entries().unwrap_or_default().into_iter().filter(|item| !item.is_null()) {
        if item.name() == "system_prompt_file" {
            agent.system_prompt_file = inside(&item, &file, "agent", plugin);
            continue;
        }
        match meaning(item.name()) {
            Meaning::Field(Field::Name) => {}
            Meaning::Field(Field::Description) => {
                agent.description = item.text("\"description\": \"…\"").filter(|text| !text.trim().is_empty());
            }
            Meaning::Field(Field::Model) => agent.model = model::model(&item),
            Meaning::Field(Field::Temperature) => agent.temperature = model::temperature(&item),
            Meaning::Field(Field::ReasoningEffort) => agent.reasoning_effort = model::effort(&item),
            Meaning::Field(Field::Tools) => agent.tools = tools::rules(&item, "what the agent's file says holds"),
            Meaning::Field(field) if !field.restricts() => elsewhere(&item, Severity::Warning, &file),
            Meaning::Field(_) | Meaning::UnknownRestriction(_) => elsewhere(&item, Severity::Error, &file),
            Meaning::RuntimeOnly | Meaning::Foreign | Meaning::Unknown => {
                item.about_key(Severity::Warning, format!("{} has no effect here", item.shown()), "");
            }
        }
    }
    Some(agent)
}

/// A field that an agent's file may have and its entry may not. To overlook a restriction would give
/// the agent more than is meant, so that is an error.
fn elsewhere(item: &Item<'_>, severity: Severity, file: &str) {
    item.about_key(
        severity,
        format!("{} is not read in a manifest", item.shown()),
        format!("put it into {}", quoted(file)),
    );
}

fn tool(entry: &Item<'_>, plugin: &str) -> Option<ManifestTool> {
    let [name] = required(entry, "tool", plugin, ["name"])?;
    if !is_valid_name(&name) {
        invalid(entry, "tool", plugin, &format!("{} cannot be the name of a tool", quoted(&name)));
    } else if canonical_tool(&name).starts_with("system_") {
        invalid(entry, "tool", plugin, "names that begin with `system_` belong to the host");
    }
    let mut tool = ManifestTool { name, ..ManifestTool::default() };
    for item in entry.distinct_entries().unwrap_or_default().into_iter().filter(|item| !item.is_null()) {
        match plain(item.name()).as_str() {
            "name" | "kind" => {}
            "description" => tool.description = item.text("\"description\": \"…\"").unwrap_or_default(),
            "schema" | "input_schema" => match item.node.content {
                Content::Map(_) => tool.schema = Some(item.node.to_json()),
                _ => item.wrong("a map", "\"schema\": { \"type\": \"object\" }"),
            },
            "component" => {
                let path = item.text("\"component\": \"tool.wasm\"").unwrap_or_default();
                tool.component = Some(inside(&item, &path, "tool", plugin));
            }
            "function" => tool.function = function(&item, plugin),
            "hosts" => tool.hosts = patterns::<Host>(&item),
            "secrets" => tool.secrets = patterns::<Word>(&item),
            "command" => tool.command = item.text("\"command\": \"python3\"").filter(|text| !text.trim().is_empty()),
            "args" => tool.args = arguments(&item),
            "capabilities" => tool.capabilities = names(&item),
            "required_agent" => {
                let agent = item.text("\"required_agent\": \"database-agent\"").unwrap_or_default();
                if !is_valid_name(&agent) {
                    invalid(&item, "tool", plugin, &format!("`required_agent` {} is no name", quoted(&agent)));
                }
                tool.required_agent = Some(agent);
            }
            "visible_to" => tool.visible_to = Some(names(&item)),
            name => {
                let severity =
                    if super::fields::sounds_restricting(name) { Severity::Error } else { Severity::Warning };
                item.about_key(severity, format!("{} has no effect here", item.shown()), "");
            }
        }
    }
    Some(tool)
}

/// Arguments are kept as they are: an empty one is one.
fn arguments(item: &Item<'_>) -> Vec<String> {
    let Some(elements) = item.elements() else {
        item.wrong("a list of texts", "\"args\": [\"tool.py\"]");
        return Vec::new();
    };
    elements.iter().filter_map(|element| element.text("\"args\": [\"tool.py\"]")).collect()
}

/// Patterns of a grant. One that is none is not asked for, which takes nothing but itself away.
fn patterns<S: Span>(item: &Item<'_>) -> Vec<String> {
    let mut good = Vec::new();
    for text in names(item) {
        match text.parse::<S>() {
            Ok(pattern) => good.push(pattern.to_string()),
            Err(error) => item.warn(error.to_string(), "it is not asked for"),
        }
    }
    good
}

/// The name of a function of a component, as WIT writes names.
fn function(item: &Item<'_>, plugin: &str) -> Option<String> {
    let text = item.text("\"function\": \"get-time\"")?;
    let name = text.trim();
    let (interface, function) = name.rsplit_once('#').map_or((None, name), |(before, after)| (Some(before), after));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_interface = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| plain(byte) || matches!(byte, b':' | b'/' | b'@' | b'.' | b'+'))
    };
    if function.is_empty() || !function.bytes().all(plain) || !interface.is_none_or(is_interface) || name.len() > 256 {
        let why = format!("{} is no function; write `get-time` or `example:clock/times#get-time`", quoted(name));
        invalid(item, "tool", plugin, &why);
    }
    Some(name.to_owned())
}

/// A path inside the plugin. What a shell or another system would read differently is refused, too.
fn inside(item: &Item<'_>, path: &str, kind: &str, plugin: &str) -> String {
    let odd = path.starts_with('~') || path.contains(['$', '\\', ':']) || path.chars().any(char::is_control);
    let why = match WorkspacePath::parse(path) {
        Err(error) => error.to_string(),
        Ok(path) if path.is_root() => "it names no file".to_owned(),
        Ok(_) if odd => format!("{} is no plain path", quoted(path)),
        Ok(path) => return path.as_str().to_owned(),
    };
    invalid(item, kind, plugin, &format!("`{}` must be a path inside the plugin: {why}", item.name()));
    String::new()
}
