//! What a reply means that is held to the schema of the JSON mode.

use std::collections::HashMap;

use palisade_agent::{Listener, Part, Prompt, ProviderFailure, Reply, ReplyEnd, ToolCall};
use serde_json::{Map, Value};

use super::Choices;
use crate::dialect::chat::ChatReader;
use crate::dialect::{Fault, Progress, Reader, call_input};

/// Reads a reply that is held to the schema.
pub(crate) struct JsonReader {
    inner: ChatReader,
    meaning: Meaning,
}

/// What the value of a reply means.
struct Meaning {
    /// What the answer is called.
    answer: String,
    /// The tools that the model knows by another name, by that.
    renamed: HashMap<String, String>,
    /// The answer is an object that was asked for, not a text.
    answer_is_object: bool,
}

impl JsonReader {
    pub(crate) fn new(inner: ChatReader, prompt: &Prompt<'_>) -> Self {
        let Choices { names, answer } = Choices::of(prompt);
        let renamed = names.renamed();
        let meaning = Meaning { answer, renamed, answer_is_object: prompt.settings.answer_schema.is_some() };
        Self { inner, meaning }
    }
}

impl Meaning {
    /// What a whole reply means. A model that was not held to the schema may answer in plain words; what
    /// was meant as an object but is none is worth another try.
    fn of(&self, mut reply: Reply) -> Result<Reply, Fault> {
        let text = reply.text.trim();
        let mut members = match call_input(text) {
            Value::Object(members) => members,
            _ if text.starts_with('{') => {
                let message = "the reply is no JSON object, though it was held to a schema".to_owned();
                return Err(Fault { kind: ProviderFailure::Malformed, message });
            }
            _ => return Ok(reply),
        };
        let Some(Value::String(name)) = members.remove("tool") else { return Ok(reply) };
        let input = members.remove("input").unwrap_or_else(|| Value::Object(Map::new()));
        if name == self.answer {
            reply.text = match (&input["text"], self.answer_is_object) {
                (Value::String(text), false) => text.clone(),
                _ => input.to_string(),
            };
        } else {
            let tool = self.renamed.get(&name).cloned();
            // A text is what no tool accepts.
            let input = if input.is_object() { input } else { Value::String(input.to_string()) };
            reply.calls = vec![ToolCall { id: String::new(), tool: tool.unwrap_or(name), input }];
            reply.text = String::new();
        }
        Ok(reply)
    }

    /// What half a reply means: never a call, but as much of an answer as there is.
    fn of_half(&self, mut reply: Reply) -> Reply {
        // The last character may be half an escape sequence.
        const LONGEST_ESCAPE: usize = 12;
        let ends = (reply.text.len().saturating_sub(LONGEST_ESCAPE)..=reply.text.len()).rev();
        let heads = ends.filter_map(|end| reply.text.get(..end));
        let mut closed = heads.map(|head| call_input(&format!("{head}\"}}}}")));
        let half = closed.find(|value| value["tool"] == self.answer.as_str());
        if let Some(Value::String(text)) = half.as_ref().map(|half| &half["input"]["text"]) {
            reply.text.clone_from(text);
        }
        reply
    }
}

impl Reader for JsonReader {
    fn event(&mut self, name: &str, data: &str, listener: &dyn Listener) -> Result<Progress, Fault> {
        // A listener is not shown JSON as if it were what the model says.
        let thinking = |part: Part<'_>| {
            if let Part::Thinking(_) = part {
                listener.hear(part);
            }
        };
        self.inner.event(name, data, &thinking)
    }

    fn may_end(&self) -> bool {
        self.inner.may_end()
    }

    fn finish(self: Box<Self>) -> Result<Reply, Fault> {
        let reply = Box::new(self.inner).finish()?;
        match reply.ended {
            ReplyEnd::Complete => self.meaning.of(reply),
            ReplyEnd::Length | ReplyEnd::Refused => Ok(self.meaning.of_half(reply)),
        }
    }
}
