//! A session as Markdown: pleasant to read, and the same conversation when it comes back.
//!
//! Every line that somebody said is quoted with `> `, or stands between fences that are longer than any it holds. So
//! no text can begin a line of the document, for whoever shows it and for whoever reads it in: headings are ours.
//! A text with characters that mislead, such as a carriage return, which some take for the end of a line, is written
//! as a JSON string.

use std::collections::BTreeMap;

use palisade_agent::{Ceiling, Cost, Entry, Numbered, Session, StoreError, ToolOutcome, ToolResult, misleads};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::unwritable;

/// The version of the document.
pub(super) const VERSION: u64 = 1;
/// What the head begins with.
pub(super) const MARK: &str = "palisade-session";
/// The members of the head, in the order in which they are written.
const MEMBERS: [&str; 8] = ["sessionId", "agentId", "name", "workspace", "parent", "chain", "ceiling", "attributes"];

/// What the head says of the session. What a copy does not keep is not in there.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Head {
    pub(super) session_id: String,
    pub(super) agent_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) workspace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) chain: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ceiling: Option<Ceiling>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) attributes: BTreeMap<String, Value>,
}

/// What is known of a result beside its text.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Details {
    #[serde(default)]
    pub(super) cost: Cost,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) denials: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) artifact: Option<String>,
}

/// Writes the document.
pub(super) fn write(session: &Session, entries: &[Numbered]) -> Result<String, StoreError> {
    let title = session.name.as_deref().unwrap_or(&session.id);
    let mut text = format!("{}\n# {}\n", head(session)?, plain(title));
    for numbered in entries {
        section(&mut text, numbered)?;
    }
    Ok(text)
}

fn head(session: &Session) -> Result<String, StoreError> {
    let origin = session.origin.clone();
    let head = Head {
        session_id: session.id.clone(),
        agent_id: session.agent.clone(),
        name: session.name.clone(),
        workspace: origin.workspace,
        parent: origin.parent,
        chain: origin.chain,
        ceiling: origin.ceiling,
        attributes: session.attributes.clone(),
    };
    let head = serde_json::to_value(head).map_err(unwritable)?;
    let mut text = format!("---\n{MARK}: {VERSION}\n");
    for name in MEMBERS {
        if let Some(value) = head.get(name) {
            text.push_str(&format!("{name}: {}\n", harmless(&value.to_string())));
        }
    }
    text.push_str("---\n");
    Ok(text)
}

fn section(document: &mut String, Numbered { at, entry, .. }: &Numbered) -> Result<(), StoreError> {
    match entry {
        Entry::User { text } => document.push_str(&format!("\n## User · {at}\n{}", said(text))),
        Entry::Notice { text } => document.push_str(&format!("\n## Notice · {at}\n{}", said(text))),
        Entry::Summary { text, covers } => {
            document.push_str(&format!("\n## Summary of the first {covers} entries · {at}\n{}", said(text)));
        }
        // What the provider wants back is for that provider alone, and the conversation is the same without it.
        Entry::Reply { text, thinking, calls, kept: _ } => {
            document.push_str(&format!("\n## Reply · {at}\n{}", said(text)));
            if !thinking.is_empty() {
                document.push_str(&format!("\n### Thinking\n{}", said(thinking)));
            }
            for call in calls {
                let call = serde_json::to_string_pretty(call).map_err(unwritable)?;
                document.push_str(&format!("\n### Call\n\n{}\n", fenced(&without_misleading(&call), "json")));
            }
        }
        Entry::Result { id, result } => document.push_str(&result_section(id, &at.to_string(), result)?),
    }
    Ok(())
}

fn result_section(id: &str, at: &str, result: &ToolResult) -> Result<String, StoreError> {
    let id = harmless(&Value::from(id).to_string());
    let title = match &result.outcome {
        ToolOutcome::Done(_) => "Result".to_owned(),
        ToolOutcome::Failed { kind, .. } => {
            let kind = serde_json::to_value(kind).map_err(unwritable)?;
            format!("Failure ({})", kind.as_str().unwrap_or_default())
        }
    };
    let mut text = format!("\n### {title} of `{id}` · {at}\n");
    let details = Details { cost: result.cost, denials: result.denials.clone(), artifact: result.artifact.clone() };
    if details != Details::default() {
        let details = serde_json::to_string(&details).map_err(unwritable)?;
        text.push_str(&format!("\n<!-- {} -->\n", harmless(&details)));
    }
    text.push_str(&output(result.text()));
    Ok(text)
}

/// What somebody said, as a quotation. Nothing, if nothing was said.
fn said(text: &str) -> String {
    match shape(text) {
        Shape::Nothing => String::new(),
        Shape::Plain => {
            let line = |line: &str| if line.is_empty() { ">".to_owned() } else { format!("> {line}") };
            format!("\n{}\n", text.split('\n').map(line).collect::<Vec<_>>().join("\n"))
        }
        Shape::Odd(json) => format!("\n{}\n", fenced(&json, "json")),
    }
}

/// What a tool gave out, between fences: it is no Markdown.
fn output(text: &str) -> String {
    match shape(text) {
        Shape::Nothing => String::new(),
        Shape::Plain => format!("\n{}\n", fenced(text, "text")),
        Shape::Odd(json) => format!("\n{}\n", fenced(&json, "json")),
    }
}

/// How a text is written.
enum Shape {
    Nothing,
    Plain,
    /// As a JSON string.
    Odd(String),
}

fn shape(text: &str) -> Shape {
    match text {
        "" => Shape::Nothing,
        _ if text.contains(|character| misleads(character) && !matches!(character, '\n' | '\t')) => {
            Shape::Odd(without_misleading(&Value::from(text).to_string()))
        }
        _ => Shape::Plain,
    }
}

/// A text between fences that are longer than any it holds.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}

/// JSON that means the same and holds no character that misleads.
fn without_misleading(json: &str) -> String {
    escaped(json, |character| misleads(character) && character != '\n')
}

/// JSON that means the same and holds nothing that could begin or end a comment, or what stands between backticks.
fn harmless(json: &str) -> String {
    escaped(json, |character| misleads(character) || "<>`".contains(character))
}

/// JSON in which some characters are written by their numbers. Those are in strings only.
fn escaped(json: &str, is_odd: impl Fn(char) -> bool) -> String {
    let mut text = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        match is_odd(character) {
            true => text.extend(character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}"))),
            false => text.push(character),
        }
    }
    text
}

/// One line of text in which nothing is a mark of Markdown.
fn plain(text: &str) -> String {
    let mut line = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            character if misleads(character) => line.push('\u{fffd}'),
            character if character.is_ascii_punctuation() && !"-.,:/()'?".contains(character) => {
                line.extend(['\\', character]);
            }
            character => line.push(character),
        }
    }
    line
}
