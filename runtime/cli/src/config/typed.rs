//! What the settings mean to the rest of the program.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use palisade_agent::{ModelName, RunLimits};
use palisade_catalog::Notice;
use palisade_grants::Host;
use palisade_model::{
    Asker, Dialect, Directory, KeySource, KnownProvider, ModelSettings, Price, ProviderSettings, ToolMode,
};

use crate::web::WebSettings;

use super::{
    layers::{Entry, Layer, Layers, Origin},
    servers::ServerTable,
    setting::Name,
    store_url::StoreUrl,
    value::Value,
};

/// What a run may use up where its agent does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct BudgetDefaults {
    pub(crate) steps: Option<u32>,
    pub(crate) tokens: Option<u64>,
    pub(crate) time: Option<Duration>,
    /// Millionths of a dollar.
    pub(crate) cost: Option<u64>,
}

impl BudgetDefaults {
    /// Fills in what a definition does not say.
    pub(crate) fn fill(&self, limits: &mut RunLimits) {
        limits.steps = limits.steps.or(self.steps);
        limits.tokens = limits.tokens.or(self.tokens);
        limits.time = limits.time.or(self.time);
        limits.cost = limits.cost.or(self.cost);
    }
}

/// What may be used outside of the sandbox, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outside {
    /// `claude-cli`, `codex-cli`, `pi-cli`, `external`.
    pub(crate) allow: BTreeSet<String>,
    /// How programs are started, by name.
    pub(crate) programs: BTreeMap<String, Program>,
}

/// How a program is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    /// The program, if it is not found by its usual name.
    pub(crate) command: Option<String>,
    /// Further arguments.
    pub(crate) args: Vec<String>,
    /// Variables it gets beside the usual ones.
    pub(crate) env: Vec<String>,
}

/// What native programs may be run, and what they find.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exec {
    /// Commands by their first words; nothing is run without one.
    pub(crate) allow: Vec<String>,
    pub(crate) path: Vec<String>,
    pub(crate) read: Vec<String>,
    /// Names, or names with values.
    pub(crate) env: Vec<String>,
    pub(crate) network: bool,
    pub(crate) time: Option<Duration>,
    pub(crate) memory: Option<u64>,
}

/// Whose plugins are installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plugins {
    pub(crate) require_signature: bool,
    /// Keys, or files with keys.
    pub(crate) keys: Vec<String>,
}

impl Plugins {
    fn take(&mut self, name: &str, value: &Value) {
        match (name, value) {
            ("require_signature", Value::Flag(required)) => self.require_signature = *required,
            ("keys", Value::Texts(keys)) => self.keys.clone_from(keys),
            _ => {}
        }
    }
}

/// Where traces go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Traces {
    pub(crate) endpoint: String,
    /// Whether they hold what was said.
    pub(crate) content: bool,
}

/// Who says where sessions are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Nobody: they are in the user's data folder.
    #[default]
    ByDefault,
    /// The configuration.
    At(StoreUrl),
    /// A program, which prints it.
    Printed(Vec<String>),
}

/// The settings, typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Typed {
    pub(crate) directory: Directory,
    pub(crate) budget: BudgetDefaults,
    pub(crate) outside: Outside,
    pub(crate) exec: Exec,
    pub(crate) traces: Option<Traces>,
    pub(crate) kept: Kept,
    pub(crate) web: WebSettings,
    /// Whether no agent has a tool that the one who asks it has not.
    pub(crate) intersects: bool,
    /// Whether tools run in a process of their own.
    pub(crate) apart: bool,
    pub(crate) plugins: Plugins,
    /// What is said about MCP servers, by their names.
    pub(crate) servers: BTreeMap<String, ServerTable>,
}

impl Typed {
    /// What the layers come to, and what is wrong with them as a whole.
    pub(crate) fn of(layers: &Layers) -> (Self, Vec<Notice>) {
        let mut typed = Self::default();
        let (mut endpoint, mut content) = (None, false);
        let mut web_notices = Vec::new();
        for (name, entry) in &layers.entries {
            match (name.part(0), name.part(1)) {
                ("model", _) => typed.model(entry, layers.model_below_project.as_ref()),
                ("providers", provider) => {
                    let settings = typed.directory.providers.entry(provider.to_owned()).or_default();
                    set_provider(settings, name, &entry.value);
                }
                ("models", own) => {
                    set_model(typed.directory.models.entry(own.to_owned()).or_default(), name, &entry.value);
                }
                ("budget", _) => typed.set_budget(name, &entry.value),
                ("delegation", _) => typed.intersects = text(&entry.value).as_deref() == Some("intersect"),
                ("outside", _) => typed.set_outside(name, &entry.value),
                ("exec", _) => typed.set_exec(name, &entry.value),
                ("http" | "secrets", _) => web_notices.extend(typed.set_web(name, entry)),
                ("sandbox", _) => typed.apart = entry.value == Value::Flag(true),
                ("mcp", own) => typed.servers.entry(own.to_owned()).or_default().take(name, entry),
                ("plugins", name) => typed.plugins.take(name, &entry.value),
                ("store", _) => typed.set_store(&entry.value),
                ("traces", "endpoint") => endpoint = text(&entry.value),
                ("traces", _) => content = entry.value == Value::Flag(true),
                _ => {}
            }
        }
        typed.traces = endpoint.map(|endpoint| Traces { endpoint, content });
        typed.directory.outside = typed.outside.allow.clone();
        let mut notices = typed.check(layers);
        notices.splice(0..0, web_notices);
        (typed, notices)
    }

    fn model(&mut self, entry: &Entry, below: Option<&Entry>) {
        if matches!(entry.origin, Origin::File { layer: Layer::Project, .. }) {
            self.directory.preferred = text(&entry.value);
            self.directory.default = below.and_then(|below| text(&below.value));
        } else {
            self.directory.default = text(&entry.value);
        }
    }

    fn set_budget(&mut self, name: &Name, value: &Value) {
        match (name.part(1), value) {
            ("steps", Value::Count(steps)) => self.budget.steps = u32::try_from(*steps).ok(),
            ("tokens", Value::Count(tokens)) => self.budget.tokens = Some(*tokens),
            ("time", Value::Time(time)) => self.budget.time = Some(*time),
            // Below a billion dollars, so the number fits.
            ("cost", Value::Dollars(dollars)) => self.budget.cost = Some((dollars * 1e6).round() as u64),
            _ => {}
        }
    }

    fn set_store(&mut self, value: &Value) {
        match value {
            Value::Database(url) => self.kept = Kept::At(url.clone()),
            Value::Texts(words) => self.kept = Kept::Printed(words.clone()),
            _ => {}
        }
    }

    fn set_exec(&mut self, name: &Name, value: &Value) {
        let exec = &mut self.exec;
        match (name.part(1), value) {
            ("allow", Value::Texts(commands)) => exec.allow.clone_from(commands),
            ("path", Value::Texts(folders)) => exec.path.clone_from(folders),
            ("read", Value::Texts(folders)) => exec.read.clone_from(folders),
            ("env", Value::Texts(names)) => exec.env.clone_from(names),
            ("network", Value::Flag(network)) => exec.network = *network,
            ("time", Value::Time(time)) => exec.time = Some(*time),
            ("memory", Value::Size(size)) => exec.memory = Some(*size),
            _ => {}
        }
    }

    /// Takes what is said of requests; tells what is wrong with it.
    fn set_web(&mut self, name: &Name, entry: &Entry) -> Vec<Notice> {
        let wrong = |message: String| Notice::error(entry.origin.place(), format!("`{name}`: {message}"));
        let own = || name.part(1).to_owned();
        match (name.part(0), name.part(2), &entry.value) {
            ("http", host, Value::Texts(networks)) => {
                let added = networks.iter().map(|network| self.web.private.add(host, network));
                return added.filter_map(Result::err).map(wrong).collect();
            }
            (_, "host", Value::Text(host)) => match host.parse::<Host>() {
                Ok(host) if host.is_for_secrets() => self.web.secrets.entry(own()).or_default().host = Some(host),
                _ => return vec![wrong("a secret belongs to one host, such as `api.example.com`".to_owned())],
            },
            (_, "header", Value::Text(header)) if is_header(header) => {
                self.web.secrets.entry(own()).or_default().header = Some(header.to_ascii_lowercase());
            }
            (_, "header", _) => return vec![wrong("letters, digits, `-` and `_` make a header".to_owned())],
            (_, "key_env", Value::Text(name)) => {
                self.web.secrets.entry(own()).or_default().source = Some(KeySource::Variable(name.clone()))
            }
            (_, "key_command", Value::Texts(words)) => {
                self.web.secrets.entry(own()).or_default().source = Some(KeySource::Command(words.clone()))
            }
            (_, "key_keyring", Value::Text(name)) => {
                self.web.secrets.entry(own()).or_default().source = Some(KeySource::Keyring(name.clone()))
            }
            _ => {}
        }
        Vec::new()
    }

    fn set_outside(&mut self, name: &Name, value: &Value) {
        let Outside { allow, programs } = &mut self.outside;
        match (name.part(1), name.part(2), value) {
            ("allow", "", Value::Texts(names)) => *allow = names.iter().cloned().collect(),
            (own, "command", Value::Text(command)) => {
                programs.entry(own.to_owned()).or_default().command = Some(command.clone());
            }
            (own, "args", Value::Texts(args)) => {
                programs.entry(own.to_owned()).or_default().args.clone_from(args);
            }
            (own, "env", Value::Texts(names)) => {
                programs.entry(own.to_owned()).or_default().env.clone_from(names);
            }
            _ => {}
        }
    }

    /// What no setting shows alone.
    fn check(&self, layers: &Layers) -> Vec<Notice> {
        let place = |table: &str, own: &str| {
            let table = Name(vec![table.to_owned(), own.to_owned()]);
            let entry = layers.entries.iter().find(|(name, _)| name.is_below(&table));
            entry.map(|(_, entry)| entry.origin.place()).unwrap_or_default()
        };
        let mut notices = Vec::new();
        for (own, settings) in &self.directory.models {
            let table = Name(vec!["models".to_owned(), own.clone()]);
            if settings.model.is_empty() {
                let fix = Some("add `model = \"provider:model\"`".to_owned());
                notices
                    .push(Notice { fix, ..Notice::error(place("models", own), format!("[{table}] names no model")) });
                continue;
            }
            let name = ModelName { provider: None, model: own.clone() };
            if let Err(unknown) = self.directory.find(&name, Asker::Person) {
                let message = format!("[{table}] cannot be used: {}", unknown.why);
                notices.push(Notice::warning(place("models", own), message));
            }
        }
        notices.extend(self.servers.iter().filter_map(|(name, table)| table.wrong(name)));
        for (name, secret) in &self.web.secrets {
            let missing = match (&secret.host, &secret.source) {
                (None, _) => "add `host`, the one host that it is sent to",
                (_, None) => "say where it comes from with `key_env`, `key_command` or `key_keyring`",
                _ => continue,
            };
            notices.push(Notice {
                fix: Some(missing.to_owned()),
                ..Notice::error(place("secrets", name), format!("[secrets.{name}] is not complete"))
            });
        }
        for (provider, settings) in &self.directory.providers {
            let known = KnownProvider::find(provider);
            let has_key = settings.key.is_some() || known.is_some_and(|known| known.key_variable.is_some());
            let base_url = settings.base_url.as_deref().or_else(|| known?.base_url);
            match base_url {
                None => notices.push(Notice {
                    fix: Some("add `base_url`".to_owned()),
                    ..Notice::error(place("providers", provider), format!("nobody said where `{provider}` is"))
                }),
                Some(base_url) if has_key && is_overheard(base_url) => notices.push(Notice::warning(
                    place("providers", provider),
                    format!("the key of `{provider}` goes over the network unencrypted; use https://"),
                )),
                Some(_) => {}
            }
        }
        notices
    }
}

/// Whether a header can be called so.
pub(crate) fn is_header(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

fn set_provider(settings: &mut ProviderSettings, name: &Name, value: &Value) {
    let patience = &mut settings.patience;
    match (name.part(2), name.part(3), value) {
        ("base_url", _, Value::Text(url)) => settings.base_url = Some(url.clone()),
        ("proxy", _, Value::Text(url)) => settings.proxy = Some(url.clone()),
        ("dialect", _, Value::Text(word)) => {
            settings.dialect = match word.as_str() {
                "anthropic" => Some(Dialect::Anthropic),
                "responses" => Some(Dialect::Responses),
                _ => Some(Dialect::Chat),
            };
        }
        ("key_env", _, Value::Text(name)) => settings.key = Some(KeySource::Variable(name.clone())),
        ("key_command", _, Value::Texts(words)) => settings.key = Some(KeySource::Command(words.clone())),
        ("key_keyring", _, Value::Text(name)) => settings.key = Some(KeySource::Keyring(name.clone())),
        ("headers", header, Value::Hidden(text)) => {
            settings.headers.0.insert(header.to_ascii_lowercase(), text.clone());
        }
        ("timeouts", "connect", Value::Time(time)) => patience.connect = *time,
        ("timeouts", "first_byte", Value::Time(time)) => patience.first_byte = *time,
        ("timeouts", "idle", Value::Time(time)) => patience.idle = *time,
        ("timeouts", "total", Value::Time(time)) => patience.total = *time,
        ("retries", _, Value::Count(retries)) => patience.retries = u32::try_from(*retries).unwrap_or(u32::MAX),
        ("max_response", _, Value::Size(size)) => patience.bytes = usize::try_from(*size).unwrap_or(usize::MAX),
        _ => {}
    }
}

fn set_model(settings: &mut ModelSettings, name: &Name, value: &Value) {
    match (name.part(2), name.part(3), value) {
        ("model", _, Value::Text(model)) => settings.model.clone_from(model),
        ("context_window", _, Value::Count(tokens)) => settings.context_window = Some(*tokens),
        ("max_tokens", _, Value::Count(tokens)) => settings.max_tokens = u32::try_from(*tokens).ok(),
        ("tools", _, Value::Text(word)) => {
            settings.tool_mode = if word == "json" { ToolMode::Json } else { ToolMode::Native };
        }
        ("price", part, Value::Dollars(dollars)) => {
            let price =
                settings.price.get_or_insert(Price { input: 0.0, output: 0.0, cached: 0.0, cache_written: 0.0 });
            match part {
                "input" => price.input = *dollars,
                "output" => price.output = *dollars,
                "cached" => price.cached = *dollars,
                _ => price.cache_written = *dollars,
            }
        }
        _ => {}
    }
}

/// Whether others on the way can read what goes there.
fn is_overheard(base_url: &str) -> bool {
    let Ok(url) = url::Url::parse(base_url) else { return false };
    let is_here = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "http" && !is_here
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}
