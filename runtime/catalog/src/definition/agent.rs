//! From the fields of a file to an agent.

use std::collections::BTreeMap;

use palisade_agent::{Agent, Exposure};
use serde_json::Value;

use super::{
    Presence, Severity, Source,
    fields::{Field, Meaning, meaning, nearest},
    is_valid_name,
    item::Item,
    limits, model,
    node::Content,
    report::At,
    runtime,
    text::{is_invisible, quoted},
    tools,
};

/// The fields of one definition.
pub(super) struct Fields<'a> {
    /// The map they stand in.
    pub(super) root: Item<'a>,
    known: BTreeMap<Field, Item<'a>>,
    extra: BTreeMap<String, Value>,
}

/// The text below the settings of a Markdown file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body<'a> {
    /// Without the space around it.
    pub(super) text: &'a str,
    /// Where it begins in the file.
    pub(super) offset: usize,
}

impl<'a> Fields<'a> {
    /// Sorts the entries of a map. Nothing is silently ignored: what has no effect is a warning, and
    /// what may have been meant as a restriction is an error.
    pub(super) fn collect(root: Item<'a>) -> Self {
        let entries = root.entries().unwrap_or_default();
        let mut fields = Self { root, known: BTreeMap::new(), extra: BTreeMap::new() };
        for item in entries {
            let no_effect = format!("{} has no effect here", item.shown());
            let keep = match meaning(item.name()) {
                Meaning::Field(field) => {
                    fields.take(field, item);
                    continue;
                }
                Meaning::RuntimeOnly => {
                    if item.node.content != Content::Bool(false) {
                        let message =
                            format!("{} is set when a definition is loaded; a file cannot say it", item.shown());
                        item.about_key(Severity::Warning, message, "remove it");
                    }
                    continue;
                }
                Meaning::Foreign => {
                    item.about_key(Severity::Warning, no_effect, "");
                    item
                }
                Meaning::UnknownRestriction(fix) => {
                    let fix = fix.map(str::to_owned).unwrap_or_else(|| suggestion(item.name(), "remove it"));
                    let message =
                        format!("{} is unknown, and without it the agent might do more than is meant", item.shown());
                    item.about_key(Severity::Error, message, fix);
                    continue;
                }
                Meaning::Unknown => {
                    item.about_key(Severity::Warning, no_effect, suggestion(item.name(), ""));
                    item
                }
            };
            fields.extra.insert(keep.name().to_owned(), keep.node.to_json());
        }
        fields
    }

    /// The same without a field.
    pub(super) fn without(mut self, field: Option<Field>) -> Self {
        if let Some(field) = field {
            self.known.remove(&field);
        }
        self
    }

    pub(super) fn get(&self, field: Field) -> Option<&Item<'a>> {
        self.known.get(&field)
    }

    /// Like [`Fields::get`], where null means the same as absent.
    fn given(&self, field: Field) -> Option<&Item<'a>> {
        self.get(field).filter(|item| !item.is_null())
    }

    fn take(&mut self, field: Field, item: Item<'a>) {
        let Some(first) = self.known.get(&field) else {
            self.known.insert(field, item);
            return;
        };
        let message = format!("{} and {} are the same field", first.shown(), item.shown());
        if first.node.to_json() == item.node.to_json() {
            item.about_key(Severity::Warning, message, "keep one of the two");
        } else {
            item.about_key(Severity::Error, format!("{message} and differ"), "keep one of the two");
        }
    }

    /// Makes an agent of the fields. What is wrong is reported; the agent is of use only if there
    /// was no error. `what` is the file in the words of its messages.
    pub(super) fn agent(mut self, body: Option<Body<'_>>, source: &Source<'_>, what: &str) -> Agent {
        let flag = |field, usual| self.given(field).and_then(Item::flag).unwrap_or(usual);
        let stamp = |field| {
            let text = self.given(field)?.text("\"2024-01-01T00:00:00Z\"")?;
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let agent = Agent {
            name: self.name(source, what),
            display_name: self.line(Field::DisplayName),
            description: self.description(source, what),
            prompt: self.prompt(body),
            model: self.get(Field::Model).and_then(model::model),
            temperature: self.get(Field::Temperature).and_then(model::temperature),
            reasoning_effort: self.get(Field::ReasoningEffort).and_then(model::effort),
            max_tokens: self
                .given(Field::MaxTokens)
                .and_then(|item| item.count(1, u32::MAX.into()))
                .and_then(|count| u32::try_from(count).ok()),
            scope: tools::scope(&self),
            permission_mode: tools::mode(&self),
            peers: tools::lists(&self, Field::AgentAllowlist, Field::AgentDenylist),
            skill_lists: tools::lists(&self, Field::SkillAllowlist, Field::SkillDenylist),
            skills: self.given(Field::Skills).map(names).unwrap_or_default(),
            exposure: self.given(Field::ToolExposure).map(exposure).unwrap_or_default(),
            runtime: runtime::runtime(&self),
            hidden: flag(Field::Hidden, false),
            ui_visible: flag(Field::UiVisible, true),
            api_exposed: flag(Field::ApiExposed, false),
            grants: self.get(Field::Grants).and_then(limits::own_grants),
            limits: self.get(Field::Limits).map(limits::call_limits).unwrap_or_default(),
            budget: limits::run_limits(&self),
            created_at: stamp(Field::CreatedAt),
            updated_at: stamp(Field::UpdatedAt),
            extra: BTreeMap::new(),
            native: false,
            origin: source.origin.clone(),
        };
        Agent { extra: std::mem::take(&mut self.extra), ..agent }
    }

    fn name(&self, source: &Source<'_>, what: &str) -> String {
        let Some(item) = self.given(Field::Name) else {
            return match source.fallback_name {
                Some(name) if is_valid_name(name) => name.to_owned(),
                Some(name) => {
                    self.root
                        .error(format!("there is no `name`, and {} is none", quoted(name)), "add `name: my-agent`");
                    String::new()
                }
                None => {
                    self.root.error(format!("Failed to parse {what}: missing field `name`"), "add `name: my-agent`");
                    String::new()
                }
            };
        };
        let Some(name) = item.text("name: my-agent") else { return String::new() };
        let name = name.trim();
        if name.is_empty() {
            item.error("Agent name is required", "write `name: my-agent`");
        } else if !is_valid_name(name) {
            let fix = "use letters, digits, `-` and `_`, at most 100, and begin with a letter or a digit";
            item.error(format!("{} cannot be the name of an agent", quoted(name)), fix);
        } else if let Some(required) = source.required_name.filter(|required| *required != name) {
            item.error(
                format!("the name is `{name}`, but the file is called {}", quoted(required)),
                "make them the same",
            );
        } else if let Some(stem) = source.fallback_name.filter(|stem| source.required_name.is_none() && *stem != name) {
            item.warn(format!("the name is `{name}`, but the file is called {}", quoted(stem)), "make them the same");
        }
        name.to_owned()
    }

    fn description(&self, source: &Source<'_>, what: &str) -> String {
        let text = self.line(Field::Description).unwrap_or_default();
        if text.is_empty() && source.description == Presence::Required {
            let fix = "add `description: what the agent is for`";
            match self.given(Field::Description) {
                None => self.root.error(format!("Failed to parse {what}: missing field `description`"), fix),
                Some(item) if matches!(item.node.content, Content::Text(_)) => {
                    item.error("`description` is empty", fix)
                }
                Some(_) => {}
            }
        }
        text
    }

    /// A field of text without the space around it; empty is the same as absent.
    fn line(&self, field: Field) -> Option<String> {
        let item = self.given(field)?;
        let text = item.text(&format!("{}: some text", item.name()))?;
        let text = text.trim();
        if let Some(hidden) = text.chars().find(|character| is_invisible(*character)) {
            let message = format!("{} holds the invisible character U+{:04X}", item.shown(), u32::from(hidden));
            item.warn(message, "remove it");
        }
        Some(text.to_owned()).filter(|text| !text.is_empty())
    }

    /// The field goes before the body.
    fn prompt(&self, body: Option<Body<'_>>) -> Option<String> {
        let body = body.filter(|body| !body.text.is_empty());
        let field = self.line(Field::Prompt);
        let Some(body) = body else { return field };
        let at = |offset| At::Byte(body.offset + offset);
        match (field, self.get(Field::Prompt)) {
            (Some(field), item) => {
                if field != super::text::with_plain_line_ends(body.text) {
                    let given = item.map_or("prompt", Item::name);
                    let fix = format!("keep either the body or `{given}`");
                    let message = format!("body ignored: `{given}` is given above it");
                    self.root.report.add(Severity::Warning, at(0), None, message, Some(fix));
                }
                Some(field)
            }
            (None, _) => {
                if let Some((offset, hidden)) = body.text.char_indices().find(|(_, character)| is_invisible(*character))
                {
                    let message = format!("the body holds the invisible character U+{:04X}", u32::from(hidden));
                    self.root.report.add(Severity::Warning, at(offset), None, message, Some("remove it".to_owned()));
                }
                Some(super::text::with_plain_line_ends(body.text))
            }
        }
    }
}

fn suggestion(key: &str, otherwise: &str) -> String {
    nearest(key).map_or_else(|| otherwise.to_owned(), |name| format!("did you mean `{name}`?"))
}

/// A list of names, as a list or as one text with commas.
pub(super) fn names(item: &Item<'_>) -> Vec<String> {
    let example = format!("{}: [one, two]", item.name());
    match &item.node.content {
        Content::Text(text) => {
            text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
        }
        Content::List(_) => {
            let elements = item.elements().unwrap_or_default();
            elements
                .iter()
                .filter_map(|element| {
                    let name = match &element.node.content {
                        Content::Text(text) => text.trim(),
                        _ => "",
                    };
                    if name.is_empty() {
                        element.wrong("a name", &example);
                    }
                    Some(name.to_owned()).filter(|name| !name.is_empty())
                })
                .collect()
        }
        _ => {
            item.wrong("a list of names or a text with commas", &example);
            Vec::new()
        }
    }
}

fn exposure(item: &Item<'_>) -> Exposure {
    let known = [Exposure::Tools, Exposure::Skills, Exposure::Mixed];
    let found = match &item.node.content {
        Content::Text(text) => known.into_iter().find(|exposure| exposure.name() == text),
        _ => None,
    };
    if found.is_none() {
        item.wrong("`tools`, `skills` or `mixed`", "tool_exposure: mixed");
    }
    found.unwrap_or_default()
}
