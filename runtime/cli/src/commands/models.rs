//! `palisade models`: what is configured, whether there are keys, and what each agent would speak to.

use palisade_agent::Agent;
use palisade_catalog::Registry;
use palisade_model::{Asker, Dialect, KeySource, KnownProvider, Target};
use serde::Serialize;

use crate::{
    Exit, choose,
    config::{Config, key},
    places::Lookup,
    render::{Line, Style, Terminal},
    settings::{self, Settings},
};

/// List the models and providers, with whether there is a key, and which model each agent speaks to.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    lookup: Lookup,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What there is.
#[derive(Serialize)]
struct Listing {
    /// What agents speak to that name no model.
    default: Spoken,
    models: Vec<Model>,
    providers: Vec<Provider>,
    agents: Vec<Spoken>,
    /// What would connect a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// What somebody speaks to.
#[derive(Serialize)]
struct Spoken {
    /// The agent, or where the default comes from.
    by: String,
    /// Absent if it cannot be told.
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

#[derive(Serialize)]
struct Model {
    name: String,
    model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

#[derive(Serialize)]
struct Provider {
    name: String,
    dialect: &'static str,
    base_url: Option<String>,
    /// Whether somebody has configured it, or a model of it.
    configured: bool,
    /// Where its key comes from; absent if it wants none.
    key: Option<String>,
    /// Whether the key is there; absent if it wants none, or if a program would have to be started.
    key_present: Option<bool>,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (workspace, registry) = arguments.lookup.open(settings)?;
    let config = arguments.lookup.config(settings, &workspace, &registry);
    config.warn(terminal);
    let config = config.accepted(terminal)?;
    let listing = Listing::of(&config, &registry);
    if arguments.json {
        terminal.json(&listing)?;
    } else {
        listing.print(terminal)?;
    }
    Ok(Exit::Done)
}

impl Listing {
    fn of(config: &Config, registry: &Registry) -> Self {
        let directory = &config.typed.directory;
        let nobody = Agent::default();
        let models = directory.models.iter().map(|(name, own)| {
            let called = palisade_agent::ModelName { provider: None, model: name.clone() };
            let warning = directory.find(&called, Asker::Person).err().map(|unknown| unknown.why);
            Model { name: name.clone(), model: own.model.clone(), warning }
        });
        Self {
            default: spoken(config.origin("model").to_string().trim_end().to_owned(), &nobody, config),
            models: models.collect(),
            providers: directory.provider_names().into_iter().map(|name| provider(name, config)).collect(),
            agents: registry.list().into_iter().map(|agent| spoken(agent.name.clone(), agent, config)).collect(),
            hint: hint(config),
        }
    }

    fn print(&self, terminal: &Terminal) -> std::io::Result<()> {
        let title = |text: &str| terminal.line(&Line::new().add(Style::Bold, text));
        title("default")?;
        self.default.print(terminal)?;
        if let Some(hint) = &self.hint {
            terminal.line(&Line::new().add(Style::Dim, &format!("  {hint}")))?;
        }
        if !self.models.is_empty() {
            title("models")?;
        }
        for model in &self.models {
            let line = Line::new().add(Style::Plain, "  ").column(Style::Plain, &model.name, 16);
            terminal.line(&warned(line.add(Style::Plain, &model.model), model.warning.as_deref()))?;
        }
        title("providers")?;
        for provider in &self.providers {
            let style = if provider.configured { Style::Plain } else { Style::Dim };
            let line = Line::new().add(Style::Plain, "  ").column(style, &provider.name, 18);
            let line = line.column(style, provider.base_url.as_deref().unwrap_or("(no base_url)"), 32);
            let line = line.column(style, provider.dialect, 9).column(style, &provider.key_in_words(), 12);
            terminal.line(&if provider.configured { line.add(Style::Good, "configured") } else { line })?;
        }
        title("agents")?;
        self.agents.iter().try_for_each(|agent| agent.print(terminal))
    }
}

impl Spoken {
    fn print(&self, terminal: &Terminal) -> std::io::Result<()> {
        let line = Line::new().add(Style::Plain, "  ").column(Style::Plain, &self.by, 16);
        let line = line.add(Style::Plain, self.model.as_deref().unwrap_or("none"));
        terminal.line(&warned(line, self.warning.as_deref()))
    }
}

impl Provider {
    /// Never the key, nor a part of it.
    fn key_in_words(&self) -> String {
        match (&self.key, self.key_present) {
            (None, _) => "no key needed".to_owned(),
            (Some(key), Some(true)) => format!("{key}: set"),
            (Some(key), Some(false)) => format!("{key}: not set"),
            (Some(key), None) => format!("{key}: asked when it is needed"),
        }
    }
}

fn warned(line: Line, warning: Option<&str>) -> Line {
    match warning {
        Some(warning) => line.add(Style::Caution, &format!("  {warning}")),
        None => line,
    }
}

fn spoken(by: String, agent: &Agent, config: &Config) -> Spoken {
    match choose::choose(None, agent, config) {
        Ok(choice) => Spoken { by, model: Some(choice.target.name()), warning: choice.warning },
        Err(error) => Spoken { by, model: None, warning: Some(format!("{error:#}")) },
    }
}

fn provider(name: &str, config: &Config) -> Provider {
    let directory = &config.typed.directory;
    let known = KnownProvider::find(name);
    let said = directory.providers.get(name).cloned().unwrap_or_default();
    let source = said.key.or_else(|| known?.key());
    Provider {
        name: name.to_owned(),
        dialect: match said.dialect.or(known.map(|known| known.dialect)).unwrap_or(Dialect::Chat) {
            Dialect::Anthropic => "anthropic",
            Dialect::Chat => "chat",
            Dialect::Responses => "responses",
        },
        base_url: said.base_url.or_else(|| known?.base_url.map(str::to_owned)),
        configured: directory.is_connected(name),
        key: source.as_ref().map(|source| match source {
            KeySource::Variable(name) => name.clone(),
            other => other.describe(),
        }),
        key_present: source.as_ref().and_then(key::is_present),
    }
}

/// What would connect a model, if nothing does: a key alone starts no traffic.
pub(crate) fn hint(config: &Config) -> Option<String> {
    let is_offline = matches!(config.typed.directory.root(), Ok(choice) if choice.target == Target::Offline);
    if !is_offline || config.typed.directory.default.is_some() {
        return None;
    }
    let file = config.files.iter().find(|file| file.layer == crate::config::Layer::User);
    let place = file.map_or_else(String::new, |file| format!(" in {}", file.path.display()));
    let keyed = KnownProvider::ALL.iter().find(|known| known.key_variable.and_then(settings::secret).is_some());
    Some(match keyed {
        Some(known) => format!(
            "{} is set; `model = \"{}:MODEL\"`{place} connects it",
            known.key_variable.unwrap_or_default(),
            known.name
        ),
        None => format!("`model = \"provider:model\"`{place} connects a model; docs/configuration.md shows how"),
    })
}
