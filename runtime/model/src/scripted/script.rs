//! How a script is written: replies and failures as JSON.

use std::time::Duration;

use palisade_agent::{Kept, Listener, Part, ProviderError, ProviderFailure, Reply, ReplyEnd, ToolCall, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// A script that cannot be read.
#[derive(Debug, Error)]
pub enum ScriptError {
    /// It is no text.
    #[error("line {line} of the script is not UTF-8, from byte {byte} of the line on")]
    Bytes {
        /// Counts from one.
        line: usize,
        /// Counts from one.
        byte: usize,
    },
    /// It is no list of replies.
    #[error("the script is not a list of {EXAMPLE}: {0}")]
    List(serde_json::Error),
    /// One of its lines is no reply.
    #[error("line {line} of the script is not {EXAMPLE}: {error}")]
    Line {
        /// Counts from one.
        line: usize,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// A reply without a field.
    #[error("reply {0} of the script says nothing; an empty answer is {{\"text\": \"\"}}")]
    Nothing(usize),
    /// It has no reply at all.
    #[error("the script is empty; it is a list of {EXAMPLE}")]
    Empty,
}

const EXAMPLE: &str = r#"{"text": "…", "calls": [{"tool": "…", "input": {…}}]}"#;

/// One reply as a script has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ScriptedReply {
    /// How long it takes, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    wait: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Pieces>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Pieces>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<Vec<ScriptedCall>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<ReplyEnd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<Kept>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ScriptedError>,
}

/// A text, or the pieces it is heard in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Pieces {
    Whole(String),
    Cut(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    tool: String,
    #[serde(default = "no_input")]
    input: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedError {
    kind: ProviderFailure,
    message: String,
}

fn no_input() -> Value {
    Value::Object(serde_json::Map::new())
}

/// Reads a list of replies, or one reply per line.
pub(super) fn parse(script: &[u8]) -> Result<Vec<ScriptedReply>, ScriptError> {
    let script = text(script)?;
    let mut replies: Vec<ScriptedReply> = match script.trim_start().starts_with('{') {
        true => lines(script)?,
        false if script.trim().is_empty() => return Err(ScriptError::Empty),
        false => serde_json::from_str(script).map_err(ScriptError::List)?,
    };
    for (at, reply) in replies.iter_mut().enumerate() {
        if *reply == ScriptedReply::default() {
            return Err(ScriptError::Nothing(at + 1));
        }
        for (number, call) in reply.calls.iter_mut().flatten().enumerate() {
            call.id.get_or_insert_with(|| format!("{}.{}", at + 1, number + 1));
        }
    }
    Ok(replies)
}

fn text(script: &[u8]) -> Result<&str, ScriptError> {
    str::from_utf8(script).map_err(|error| {
        let readable = script.get(..error.valid_up_to()).unwrap_or_default();
        let line = readable.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let lines = readable.iter().filter(|byte| **byte == b'\n').count();
        ScriptError::Bytes { line: lines + 1, byte: line.len() + 1 }
    })
}

fn lines(script: &str) -> Result<Vec<ScriptedReply>, ScriptError> {
    let mut replies = Vec::new();
    for (at, line) in script.split_inclusive('\n').enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(reply) => replies.push(reply),
            // A recording that was cut off while a line was written ends in the middle of it.
            Err(error) if error.is_eof() && !line.ends_with('\n') && !replies.is_empty() => break,
            Err(error) => return Err(ScriptError::Line { line: at + 1, error }),
        }
    }
    Ok(replies)
}

impl ScriptedReply {
    /// How long it takes, if it takes long.
    pub(super) fn wait(&self) -> Option<Duration> {
        self.wait.map(Duration::from_millis)
    }

    /// The script of a reply.
    pub(super) fn of(reply: &Reply) -> Self {
        let whole = |text: &str| Some(Pieces::Whole(text.to_owned()));
        let calls = reply.calls.iter().map(|call| ScriptedCall {
            tool: call.tool.clone(),
            input: call.input.clone(),
            id: Some(call.id.clone()),
        });
        Self {
            thinking: whole(&reply.thinking).filter(|_| !reply.thinking.is_empty()),
            text: whole(&reply.text),
            calls: Some(calls.collect()).filter(|calls: &Vec<_>| !calls.is_empty()),
            usage: Some(reply.usage).filter(|usage| *usage != Usage::default()),
            ended: Some(reply.ended).filter(|ended| *ended != ReplyEnd::default()),
            kept: reply.kept.clone(),
            wait: None,
            error: None,
        }
    }

    /// The script of a failure.
    pub(super) fn of_failure(error: &ProviderError) -> Self {
        let error = ScriptedError { kind: error.kind, message: error.message.clone() };
        Self { error: Some(error), ..Self::default() }
    }

    /// Says it piece by piece.
    pub(super) fn tell(&self, listener: &dyn Listener) {
        self.thinking.iter().flat_map(Pieces::iter).for_each(|piece| listener.hear(Part::Thinking(piece)));
        self.text.iter().flat_map(Pieces::iter).for_each(|piece| listener.hear(Part::Text(piece)));
        for call in self.calls.iter().flatten() {
            listener.hear(Part::Call { tool: &call.tool });
            listener.hear(Part::Input(&call.input.to_string()));
        }
    }

    /// The reply, or the failure it ends in.
    pub(super) fn outcome(self, provider: &str) -> Result<Reply, ProviderError> {
        if let Some(ScriptedError { kind, message }) = self.error {
            return Err(ProviderError { provider: provider.to_owned(), kind, message });
        }
        let calls = self.calls.into_iter().flatten().map(|call| ToolCall {
            id: call.id.unwrap_or_default(),
            tool: call.tool,
            input: call.input,
        });
        Ok(Reply {
            text: self.text.map(Pieces::joined).unwrap_or_default(),
            thinking: self.thinking.map(Pieces::joined).unwrap_or_default(),
            calls: calls.collect(),
            usage: self.usage.unwrap_or_default(),
            ended: self.ended.unwrap_or_default(),
            kept: self.kept,
        })
    }
}

impl Pieces {
    /// About how long a piece of a text is that nobody has cut, in bytes.
    const PIECE: usize = 24;

    fn iter(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Cut(pieces) => Box::new(pieces.iter().map(String::as_str)),
            Self::Whole(text) => {
                let mut rest = text.as_str();
                Box::new(std::iter::from_fn(move || {
                    let from = rest.ceil_char_boundary(Self::PIECE);
                    let blank = rest[from..].find(char::is_whitespace).map_or(rest.len(), |at| from + at);
                    let (piece, after) = rest.split_at(blank);
                    rest = after;
                    (!piece.is_empty()).then_some(piece)
                }))
            }
        }
    }

    fn joined(self) -> String {
        match self {
            Self::Whole(text) => text,
            Self::Cut(pieces) => pieces.concat(),
        }
    }
}
