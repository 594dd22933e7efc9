//! A YAML or JSON text as a tree.
//!
//! Nodes and keys are numbered in the order of reading: whoever reads the text again can find one by
//! its number.

use serde_json::Value;

/// The number of a node or a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(pub(super) usize);

/// One value and everything in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) id: Id,
    pub(super) content: Content,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key_id: Id,
    pub(super) key: String,
    pub(super) value: Node,
}

impl Node {
    /// What it is, as messages say it.
    pub(super) fn kind(&self) -> &'static str {
        match self.content {
            Content::Null => "nothing",
            Content::Bool(_) => "true or false",
            Content::Int(_) | Content::Float(_) => "a number",
            Content::Text(_) => "text",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
        }
    }

    /// The same as JSON. Numbers that JSON cannot hold become text.
    pub(super) fn to_json(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(flag) => Value::Bool(*flag),
            Content::Int(int) => match (u64::try_from(*int), i64::try_from(*int)) {
                (Ok(int), _) => Value::from(int),
                (_, Ok(int)) => Value::from(int),
                _ => Value::String(int.to_string()),
            },
            Content::Float(float) => {
                serde_json::Number::from_f64(*float).map_or_else(|| Value::String(float.to_string()), Value::Number)
            }
            Content::Text(text) => Value::String(text.clone()),
            Content::List(nodes) => Value::Array(nodes.iter().map(Self::to_json).collect()),
            Content::Map(entries) => {
                Value::Object(entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect())
            }
        }
    }
}
