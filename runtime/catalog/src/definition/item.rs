//! One value of a file with its name, and the questions readers ask of it.
//!
//! Each question answers with the value, or reports what is there instead and answers with nothing.

use std::collections::BTreeMap;

use super::{
    Severity,
    document::Document,
    fields::plain,
    node::{Content, Id, Node},
    report::{At, Report},
    text::quoted,
};

/// A value of a file.
#[derive(Clone)]
pub(super) struct Item<'a> {
    pub(super) report: &'a Report<'a>,
    /// As it is written, with the fields around it: `permissions.allow`.
    pub(super) field: String,
    /// Its key alone; that of its list, if it is in one.
    name: &'a str,
    /// Where its key stands, if it has one.
    pub(super) key: Option<Id>,
    pub(super) node: &'a Node,
}

impl<'a> Item<'a> {
    /// The root of a file.
    pub(super) fn root(report: &'a Report<'a>, node: &'a Node) -> Self {
        Self { report, field: String::new(), name: "", key: None, node }
    }

    /// Its key alone, as it is written.
    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    pub(super) fn is_null(&self) -> bool {
        self.node.content == Content::Null
    }

    /// Reports something that makes the file useless.
    pub(super) fn error(&self, message: impl Into<String>, fix: impl Into<String>) {
        self.say(Severity::Error, At::Node(self.node.id), message.into(), fix.into());
    }

    /// Reports something that the file can be used in spite of.
    pub(super) fn warn(&self, message: impl Into<String>, fix: impl Into<String>) {
        self.say(Severity::Warning, At::Node(self.node.id), message.into(), fix.into());
    }

    /// Reports something about the field rather than its value.
    pub(super) fn about_key(&self, severity: Severity, message: impl Into<String>, fix: impl Into<String>) {
        self.say(severity, At::Node(self.key.unwrap_or(self.node.id)), message.into(), fix.into());
    }

    fn say(&self, severity: Severity, at: At, message: String, fix: String) {
        let field = Some(self.field.as_str()).filter(|field| !field.is_empty());
        self.report.add(severity, at, field, message, Some(fix).filter(|fix| !fix.is_empty()));
    }

    /// Reports that the value is of another kind than it should be.
    pub(super) fn wrong(&self, expected: &str, example: &str) {
        self.error(
            format!("{} must be {expected}, but is {}", self.shown(), self.found()),
            format!("for example `{example}`"),
        );
    }

    /// The field as messages name it.
    pub(super) fn shown(&self) -> String {
        if self.field.is_empty() { "the file".to_owned() } else { quoted(&self.field) }
    }

    /// The value as messages name it.
    pub(super) fn found(&self) -> String {
        match &self.node.content {
            Content::Bool(flag) => format!("`{flag}`"),
            Content::Int(int) => format!("the number {int}"),
            Content::Float(float) => format!("the number {float}"),
            Content::Text(text) => format!("the text {}", quoted(text)),
            Content::Null | Content::List(_) | Content::Map(_) => self.node.kind().to_owned(),
        }
    }

    /// Its text. A number or a flag where YAML lets people forget the quotes is taken as written.
    pub(super) fn text(&self, example: &str) -> Option<String> {
        match &self.node.content {
            Content::Text(text) => return Some(text.clone()),
            Content::Bool(_) | Content::Int(_) | Content::Float(_) => {
                let written =
                    self.report.document().as_ref().and_then(|document| Document::written(document, self.node.id));
                match written {
                    Some(text) => return Some(text),
                    None => self
                        .error(format!("{} must be text, but is {}", self.shown(), self.found()), "put it in quotes"),
                }
            }
            Content::Null | Content::List(_) | Content::Map(_) => self.wrong("text", example),
        }
        None
    }

    /// Whether it is true.
    pub(super) fn flag(&self) -> Option<bool> {
        match &self.node.content {
            Content::Bool(flag) => Some(*flag),
            Content::Text(text) if matches!(text.to_ascii_lowercase().as_str(), "yes" | "on" | "no" | "off") => {
                self.error(
                    format!("{} must be true or false, but is {}", self.shown(), self.found()),
                    "write true or false",
                );
                None
            }
            _ => {
                self.wrong("true or false", &format!("{}: true", self.name()));
                None
            }
        }
    }

    /// A whole number from `least` on.
    pub(super) fn count(&self, least: u64, most: u64) -> Option<u64> {
        let number = match self.node.content {
            Content::Int(int) => u64::try_from(int).ok().filter(|int| (least..=most).contains(int)),
            _ => None,
        };
        if number.is_none() {
            let range = if most == u64::MAX { format!("from {least} on") } else { format!("from {least} to {most}") };
            self.wrong(&format!("a whole number {range}"), &format!("{}: {}", self.name(), least.max(20)));
        }
        number
    }

    /// The entries of a map.
    pub(super) fn entries(&self) -> Option<Vec<Item<'a>>> {
        let Content::Map(entries) = &self.node.content else { return None };
        let items = entries.iter().map(|entry| {
            let field = if self.field.is_empty() { entry.key.clone() } else { format!("{}.{}", self.field, entry.key) };
            Item { report: self.report, field, name: &entry.key, key: Some(entry.key_id), node: &entry.value }
        });
        Some(items.collect())
    }

    /// The entries of a map whose keys may be written in several styles; no two may mean the same.
    pub(super) fn distinct_entries(&self) -> Option<Vec<Item<'a>>> {
        let entries = self.entries()?;
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for entry in &entries {
            if let Some(first) = seen.insert(plain(entry.name()), entry.shown()) {
                let message = format!("{first} and {} are the same field", entry.shown());
                entry.about_key(Severity::Error, message, "keep one of the two");
            }
        }
        Some(entries)
    }

    /// The elements of a list: `tools[0]` and so on.
    pub(super) fn elements(&self) -> Option<Vec<Item<'a>>> {
        let Content::List(nodes) = &self.node.content else { return None };
        let items = nodes.iter().enumerate().map(|(at, node)| Item {
            field: format!("{}[{at}]", self.field),
            key: None,
            node,
            ..self.clone()
        });
        Some(items.collect())
    }
}
