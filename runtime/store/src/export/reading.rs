//! Markdown that becomes a conversation: a document that [`super::markdown`] wrote, or one that somebody wrote by
//! hand, with `## User` and `## Assistant` above what was said.

use std::{iter::Peekable, str::Lines};

use jiff::Timestamp;
use palisade_agent::{Entry, FailureKind, Numbered, StoreError, ToolCall, ToolOutcome, ToolResult, clip};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::markdown::{Details, Head, MARK, VERSION};
use crate::rules::invalid;

/// A conversation that was read.
pub(super) struct Conversation {
    /// What is said of the session; nothing in one that was written by hand.
    pub(super) head: Option<Head>,
    pub(super) entries: Vec<Numbered>,
}

/// Reads a document.
pub(super) fn read(document: &str, now: Timestamp) -> Result<Conversation, StoreError> {
    let document = document.trim_start_matches('\u{feff}');
    let mut reader = Reader { lines: document.lines().peekable(), number: 0 };
    match reader.next() {
        Some("---") => reader.exported(),
        _ => by_hand(document, now),
    }
}

/// A call between its fences.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    id: String,
    tool: String,
    input: Value,
}

/// Reads line by line, so that nothing is held twice.
struct Reader<'t> {
    lines: Peekable<Lines<'t>>,
    /// The number of the line that was read last.
    number: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Option<&'t str> {
        self.number += 1;
        self.lines.next()
    }

    /// The next line, if it is as wanted.
    fn next_if(&mut self, is_wanted: impl FnOnce(&str) -> bool) -> Option<&'t str> {
        let line = self.lines.next_if(|line| is_wanted(line))?;
        self.number += 1;
        Some(line)
    }

    fn skip_blank(&mut self) {
        while self.next_if(|line| line.trim().is_empty()).is_some() {}
    }

    fn wrong(&self, what: impl std::fmt::Display) -> StoreError {
        invalid(format!("this is no session: line {}: {what}", self.number))
    }

    fn exported(&mut self) -> Result<Conversation, StoreError> {
        let head = self.head()?;
        self.skip_blank();
        // The title is for people; the head says the same.
        self.next_if(|line| line.starts_with("# "));
        let mut entries = Vec::new();
        loop {
            self.skip_blank();
            let Some(line) = self.next() else { return Ok(Conversation { head: Some(head), entries }) };
            let (at, entry) = self.entry(line)?;
            entries.push(Numbered { number: entries.len() as u64 + 1, at, entry });
        }
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        match self.next().and_then(|line| line.split_once(": ")) {
            Some((MARK, version)) if version.parse() == Ok(VERSION) => {}
            Some((MARK, version)) => {
                let version = clip(version, 32);
                return Err(
                    self.wrong(format!("the document has version {version}, and this program knows version {VERSION}"))
                );
            }
            _ => return Err(self.wrong(format!("a head begins with `{MARK}: {VERSION}`"))),
        }
        let mut members = Map::new();
        loop {
            let line = self.next().ok_or_else(|| self.wrong("the head does not end; `---` ends it"))?;
            if line == "---" {
                break;
            }
            let (name, value) =
                line.split_once(": ").ok_or_else(|| self.wrong("a line of the head is `name: value`"))?;
            let value = self.json(value)?;
            if members.insert(name.to_owned(), value).is_some() {
                return Err(self.wrong(format!("`{}` is there twice", clip(name, 32))));
            }
        }
        serde_json::from_value(Value::Object(members)).map_err(|error| self.wrong(error))
    }

    /// One entry, of which the heading was read.
    fn entry(&mut self, heading: &str) -> Result<(Timestamp, Entry), StoreError> {
        let unknown = |reader: &Self| {
            let line = clip(heading, 64);
            reader.wrong(format!("`{line}` is no heading of a session; what was said is quoted with `> `"))
        };
        let (title, at) = heading.rsplit_once(" · ").ok_or_else(|| unknown(self))?;
        let at = at.parse().map_err(|_| self.wrong("the heading ends with no moment"))?;
        let covers = title.strip_prefix("## Summary of the first ").and_then(|rest| rest.strip_suffix(" entries"));
        let entry = match title {
            "## User" => Entry::User { text: self.text()? },
            "## Notice" => Entry::Notice { text: self.text()? },
            "## Reply" => self.reply()?,
            _ => match (covers, title.strip_prefix("### ").and_then(|rest| rest.split_once(" of "))) {
                (Some(covers), _) => {
                    let covers = covers.parse().map_err(|_| self.wrong("a summary says of how many entries it is"))?;
                    Entry::Summary { text: self.text()?, covers }
                }
                (None, Some((how, id))) => self.result(how, id)?,
                (None, None) => return Err(unknown(self)),
            },
        };
        Ok((at, entry))
    }

    fn reply(&mut self) -> Result<Entry, StoreError> {
        let text = self.text()?;
        self.skip_blank();
        let thinking = match self.next_if(|line| line == "### Thinking") {
            Some(_) => self.text()?,
            None => String::new(),
        };
        let mut calls = Vec::new();
        loop {
            self.skip_blank();
            if self.next_if(|line| line == "### Call").is_none() {
                return Ok(Entry::Reply { text, thinking, calls, kept: None });
            }
            self.skip_blank();
            let Block { text, language } = self.fence()?.ok_or_else(|| self.wrong("below `### Call` is the call"))?;
            if language != "json" {
                return Err(self.wrong("a call is JSON"));
            }
            let Call { id, tool, input } = self.json(&text)?;
            calls.push(ToolCall { id, tool, input });
        }
    }

    /// What came of a call.
    fn result(&mut self, how: &str, id: &str) -> Result<Entry, StoreError> {
        let id = id.strip_prefix('`').and_then(|id| id.strip_suffix('`'));
        let id: String = self.json(id.ok_or_else(|| self.wrong("the id of a call stands between backticks"))?)?;
        let kind: Option<FailureKind> = match how.strip_prefix("Failure (").and_then(|rest| rest.strip_suffix(')')) {
            Some(kind) => Some(serde_json::from_value(Value::from(kind)).map_err(|error| self.wrong(error))?),
            None if how == "Result" => None,
            None => return Err(self.wrong("this is neither a result nor a failure")),
        };
        self.skip_blank();
        let details: Details = match self.next_if(|line| line.starts_with("<!-- ")) {
            Some(line) => {
                let json = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
                self.json(json.ok_or_else(|| self.wrong("the remark does not end with ` -->`"))?)?
            }
            None => Details::default(),
        };
        let text = self.text()?;
        let outcome = match kind {
            Some(kind) => ToolOutcome::Failed { kind, text },
            None => ToolOutcome::Done(text),
        };
        let Details { cost, denials, artifact } = details;
        Ok(Entry::Result { id, result: ToolResult { outcome, cost, denials, artifact } })
    }

    /// A text: quoted, between fences, or empty.
    fn text(&mut self) -> Result<String, StoreError> {
        self.skip_blank();
        if let Some(Block { text, language }) = self.fence()? {
            return match language {
                "text" => Ok(text),
                "json" => self.json(&text),
                _ => Err(self.wrong("a text between fences is `text` or `json`")),
            };
        }
        let mut text: Option<String> = None;
        while let Some(line) = self.next_if(|line| line.starts_with('>')) {
            let line = match line {
                ">" => "",
                _ => line.strip_prefix("> ").ok_or_else(|| self.wrong("a quoted line begins with `> `"))?,
            };
            match &mut text {
                Some(text) => text.extend(["\n", line]),
                None => text = Some(line.to_owned()),
            }
        }
        Ok(text.unwrap_or_default())
    }

    /// What stands between fences, if the next line is one.
    fn fence(&mut self) -> Result<Option<Block<'t>>, StoreError> {
        let Some(line) = self.next_if(|line| line.starts_with("```")) else { return Ok(None) };
        let language = line.trim_start_matches('`');
        let fence = line.strip_suffix(language).unwrap_or(line);
        let mut text: Option<String> = None;
        loop {
            let line = self.next().ok_or_else(|| self.wrong("a fence is not closed"))?;
            match &mut text {
                _ if line == fence => return Ok(Some(Block { text: text.unwrap_or_default(), language })),
                Some(text) => text.extend(["\n", line]),
                None => text = Some(line.to_owned()),
            }
        }
    }

    fn json<T: DeserializeOwned>(&self, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.wrong(error))
    }
}

struct Block<'t> {
    text: String,
    language: &'t str,
}

/// Reads what somebody wrote by hand: whoever wrote it decides where a heading is.
fn by_hand(document: &str, now: Timestamp) -> Result<Conversation, StoreError> {
    let mut said: Vec<(bool, Vec<&str>)> = Vec::new();
    for (line, number) in document.lines().zip(1..) {
        match (line.trim_end().to_ascii_lowercase().as_str(), said.last_mut()) {
            ("## user", _) => said.push((true, Vec::new())),
            ("## assistant", _) => said.push((false, Vec::new())),
            (_, Some((_, lines))) => lines.push(line),
            (above, None) if above.is_empty() || above.starts_with("# ") => {}
            (_, None) => {
                return Err(invalid(format!(
                    "this is no session: line {number}: a conversation in Markdown begins with `## User`, or with the \
                     head of one that was exported"
                )));
            }
        }
    }
    if said.is_empty() {
        return Err(invalid("this is no session: nothing is said in it"));
    }
    let mut entries = Vec::new();
    for ((is_user, lines), number) in said.into_iter().zip(1..) {
        let text = lines.join("\n").trim().to_owned();
        if text.is_empty() {
            return Err(invalid(format!("this is no session: nothing is said below heading {number}")));
        }
        let entry = match is_user {
            true => Entry::User { text },
            false => Entry::Reply { text, thinking: String::new(), calls: Vec::new(), kept: None },
        };
        entries.push(Numbered { number, at: now, entry });
    }
    Ok(Conversation { head: None, entries })
}
