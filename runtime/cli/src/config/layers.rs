//! Several files and the environment become one configuration: who may set what, who wins, and what the
//! operator has locked.

use std::collections::BTreeMap;
use std::fmt;

use palisade_agent::Budget;
use palisade_catalog::{Notice, definition::nearest};
use palisade_model::Offline;
use palisade_sandbox::Programs;

use super::{
    read::{Found, source_of},
    setting::{Name, SETTINGS, Setting, Who, parts_after},
    value::Value,
};

/// Where a value comes from, the weakest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// This program.
    BuiltIn,
    /// A file.
    File {
        /// Whose it is.
        layer: Layer,
        /// `file:line`.
        place: String,
    },
    /// A variable of the environment.
    Variable(&'static str),
}

/// Whose file it is, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    Operator,
    User,
    Project,
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) setting: &'static Setting,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// What is in force, and what was said about it.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    pub(crate) entries: BTreeMap<Name, Entry>,
    pub(crate) notices: Vec<Notice>,
    locked: Vec<Name>,
    /// Overridden by the project's wish, which counts only where it is configured.
    pub(crate) model_below_project: Option<Entry>,
}

impl Layers {
    /// Lays a file over what there is. Weaker files come first.
    pub(crate) fn lay(&mut self, layer: Layer, file: &str, found: Vec<Found>) {
        for Found { name, setting, value, line, column } in found {
            let origin = Origin::File { layer, place: format!("{file}:{line}") };
            if let Some((message, fix)) = self.refused(layer, &name, setting, &value) {
                self.notices.push(Notice {
                    line: Some(line),
                    column: Some(column),
                    field: Some(name.to_string()),
                    fix: Some(fix),
                    ..Notice::warning(file, message)
                });
                continue;
            }
            self.put(name, Entry { setting, value, origin });
        }
        if layer == Layer::Operator {
            self.lock(file);
        }
    }

    /// Lays the model that another kind of file names over what there is.
    pub(crate) fn lay_model(&mut self, layer: Layer, file: &str, model: &str) {
        let name = Name::parse("model");
        let Some(setting) = Setting::find(&name) else { return };
        if self.is_locked(&name) {
            self.notices.push(Notice::warning(file, locked(&name)));
            return;
        }
        let origin = Origin::File { layer, place: file.to_owned() };
        self.put(name, Entry { setting, value: Value::Text(model.to_owned()), origin });
    }

    /// Lays the environment over what there is. The variables are all of this program.
    pub(crate) fn lay_environment(&mut self, variables: &BTreeMap<String, String>, others: &[&str]) {
        let known = || SETTINGS.iter().filter_map(|setting| setting.variable);
        for (variable, text) in variables {
            let Some(setting) = SETTINGS.iter().find(|setting| setting.variable == Some(variable)) else {
                if !others.contains(&variable.as_str()) {
                    let near = nearest(variable, known().chain(others.iter().copied()));
                    let fix = near.map(|near| format!("did you mean {near}?"));
                    self.notices.push(Notice { fix, ..Notice::warning(variable, "this variable has no effect") });
                }
                continue;
            };
            let name = Name::parse(setting.path);
            match (Value::of_variable(text, setting.kind), setting.variable) {
                (Ok(_), _) if self.is_locked(&name) => {
                    let fix = Some("unset it".to_owned());
                    self.notices.push(Notice { fix, ..Notice::warning(variable, locked(&name)) });
                }
                (Ok(value), Some(variable)) => {
                    self.put(name, Entry { setting, value, origin: Origin::Variable(variable) });
                }
                (Err(wanted), _) => self.notices.push(Notice {
                    fix: Some(format!("it is {wanted}")),
                    ..Notice::error(variable, "this value cannot be used")
                }),
                (Ok(_), None) => {}
            }
        }
    }

    /// Whether the operator has the last word on it.
    pub(crate) fn is_locked(&self, name: &Name) -> bool {
        self.locked.iter().any(|table| name.is_below(table))
    }

    fn put(&mut self, name: Name, entry: Entry) {
        if let Some(secret) = source_of(&name) {
            // The stronger word replaces the weaker one, also where it is of another kind.
            self.entries.retain(|other, _| source_of(other) != Some(secret));
        }
        let is_wish = matches!(entry.origin, Origin::File { layer: Layer::Project, .. }) && name.part(0) == "model";
        let before = self.entries.insert(name.clone(), entry);
        if name.part(0) == "model" {
            self.model_below_project = before.filter(|_| is_wish);
        }
    }

    /// Why a file has no say in a setting, and what to do about it.
    fn refused(&self, layer: Layer, name: &Name, setting: &Setting, value: &Value) -> Option<(String, String)> {
        if layer > Layer::Operator && self.is_locked(name) {
            return Some((locked(name), "remove it".to_owned()));
        }
        match (setting.who, layer) {
            (Who::Operator, Layer::User | Layer::Project) => Some((
                format!("`{name}` has no effect here"),
                "it belongs into the operator's configuration".to_owned(),
            )),
            (Who::Owner, Layer::Project) => Some((
                format!("a project does not decide on `{name}`, so it is not used"),
                "if you want it, put it into your own configuration (`palisade config path` shows where)".to_owned(),
            )),
            (Who::ProjectLowers, Layer::Project) => {
                let now = self
                    .entries
                    .get(name)
                    .map(|entry| entry.value.clone())
                    .or_else(|| Some(built_in().find(|(built_in, _)| built_in == name)?.1))?;
                let fix = format!("at most {}", now.toml());
                (!value.is_below(&now) && *value != now)
                    .then(|| (format!("a project only lowers `{name}`, so it is not used"), fix))
            }
            _ => None,
        }
    }

    fn lock(&mut self, file: &str) {
        let Some(entry) = self.entries.get(&Name::parse("locked.keys")) else { return };
        let Value::Texts(names) = &entry.value else { return };
        for text in names {
            let name = Name::parse(text);
            let is_setting = Setting::find(&name).is_some() || !parts_after(&name.0).is_empty();
            if is_setting {
                self.locked.push(name);
            } else {
                self.notices.push(Notice {
                    fix: Some("name a setting such as `model` or a table such as `providers`".to_owned()),
                    field: Some("locked.keys".to_owned()),
                    ..Notice::error(file, format!("there is no setting `{name}` to lock"))
                });
            }
        }
    }
}

fn locked(name: &Name) -> String {
    format!("`{name}` is locked by the operator, so this is not used")
}

/// What holds where nothing is said.
pub(crate) fn built_in() -> impl Iterator<Item = (Name, Value)> {
    let budget = Budget::default();
    let values = [
        ("model", Some(Value::Text(Offline::NAME.to_owned()))),
        ("budget.steps", Some(Value::Count(u64::from(budget.steps)))),
        ("budget.tokens", budget.tokens.map(Value::Count)),
        ("budget.time", Some(Value::Time(budget.time))),
        ("exec.network", Some(Value::Flag(Programs::STANDARD_NETWORK))),
        ("exec.time", Some(Value::Time(Programs::STANDARD_TIME))),
        ("exec.memory", Some(Value::Size(Programs::STANDARD_MEMORY))),
        ("sandbox.apart", Some(Value::Flag(false))),
        ("traces.content", Some(Value::Flag(false))),
    ];
    values.into_iter().filter_map(|(name, value)| Some((Name::parse(name), value?)))
}

impl Layer {
    /// The word for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl Origin {
    /// The file with its line, or the variable.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::BuiltIn => String::new(),
            Self::File { place, .. } => place.clone(),
            Self::Variable(name) => (*name).to_owned(),
        }
    }

    /// The word for it.
    pub(crate) fn layer(&self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::File { layer, .. } => layer.name(),
            Self::Variable(_) => "environment",
        }
    }
}

/// `user /home/me/.config/palisade/config.toml:3`
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.layer(), self.place())
    }
}
