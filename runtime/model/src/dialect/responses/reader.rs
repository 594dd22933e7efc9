//! Reads a reply from the events of a Responses stream.
//!
//! Each item of the output has an end of its own, and the response has one: a call exists if its item
//! ended as completed and the response did end. Without `response.completed` or `response.incomplete`
//! the stream was cut.

use std::collections::HashMap;

use palisade_agent::{ENTRY_LIMIT, Kept, Listener, Part, ProviderFailure, Reply, ReplyEnd, ToolCall, ToolSpec, Usage};
use serde_json::{Value, json};

use super::{CALL, MESSAGE};
use crate::dialect::{Fault, Names, Progress, Reader, call_input, complaint};

/// The most bytes of thoughts that are held: no transcript keeps more.
const MOST_KEPT: usize = 4 * ENTRY_LIMIT;

/// A reply that is coming in.
pub(super) struct ResponsesReader {
    /// Who understands what is kept.
    keeper: String,
    /// The tools that the model knows by another name, by that.
    renamed: HashMap<String, String>,
    /// What was heard, for servers that do not repeat it at the end.
    text: String,
    thinking: String,
    /// The items that have ended, in the order in which they did.
    items: Vec<Item>,
    /// How many bytes the thoughts among them have.
    thoughts: usize,
    ended: Option<ReplyEnd>,
    usage: Usage,
}

/// What matters of an item. The rest of it is not kept: a value takes many times the memory of its text.
enum Item {
    Message {
        texts: Vec<String>,
        refused: bool,
    },
    Call {
        call: ToolCall,
        /// None: the server does not say.
        is_whole: Option<bool>,
    },
    /// As it will be sent back.
    Thought(Value),
}

impl ResponsesReader {
    pub(super) fn new(tools: &[ToolSpec], keeper: String) -> Self {
        let renamed = Names::of_tools(tools).renamed();
        let (text, thinking) = (String::new(), String::new());
        Self { keeper, renamed, text, thinking, items: Vec::new(), thoughts: 0, ended: None, usage: Usage::default() }
    }

    fn tool<'a>(&'a self, written: &'a str) -> &'a str {
        self.renamed.get(written).map_or(written, String::as_str)
    }

    fn think(&mut self, text: &str, listener: &dyn Listener) {
        if !text.is_empty() {
            listener.hear(Part::Thinking(text));
            self.thinking.push_str(text);
        }
    }

    /// Takes the response as it is at its end.
    fn end(&mut self, mut response: Value, ended: ReplyEnd) {
        let count = |value: &Value| value.as_u64().unwrap_or_default();
        let usage = &response["usage"];
        self.usage = Usage {
            input_tokens: count(&usage["input_tokens"]),
            output_tokens: count(&usage["output_tokens"]),
            cached_tokens: count(&usage["input_tokens_details"]["cached_tokens"]),
            ..Usage::default()
        };
        // Some servers give the items only here.
        if let (true, Value::Array(output)) = (self.items.is_empty(), taken(&mut response, "output")) {
            self.items = output.into_iter().filter_map(|item| self.item(item)).collect();
        }
        self.ended = Some(ended);
    }

    /// An item that has ended, if it is of a kind that matters.
    fn item(&self, item: Value) -> Option<Item> {
        let text = |name: &str| item[name].as_str().unwrap_or_default();
        match text("type") {
            MESSAGE => {
                let parts = item["content"].as_array().map(Vec::as_slice).unwrap_or_default();
                let said = |part: &Value| part["text"].as_str().or(part["refusal"].as_str()).map(str::to_owned);
                Some(Item::Message {
                    texts: parts.iter().filter_map(said).filter(|text| !text.is_empty()).collect(),
                    refused: parts.iter().any(|part| part["type"] == "refusal"),
                })
            }
            CALL => {
                let (id, tool) = (text("call_id").to_owned(), self.tool(text("name")).to_owned());
                let call = ToolCall { id, tool, input: call_input(text("arguments")) };
                Some(Item::Call { call, is_whole: item["status"].as_str().map(|status| status == "completed") })
            }
            "reasoning" if item["encrypted_content"].is_string() => Some(Item::Thought(item)),
            _ => None,
        }
    }

    /// Thoughts as they came, and a word for every other item, so that the order is known.
    fn kept(&self) -> Option<Kept> {
        let word = |item: &Item| match item {
            Item::Message { .. } => json!(MESSAGE),
            Item::Call { .. } => json!(CALL),
            Item::Thought(thought) => thought.clone(),
        };
        let any = self.items.iter().any(|item| matches!(item, Item::Thought(_)));
        (any && self.thoughts <= MOST_KEPT)
            .then(|| Kept { by: self.keeper.clone(), value: self.items.iter().map(word).collect() })
    }
}

impl Reader for ResponsesReader {
    fn event(&mut self, name: &str, data: &str, listener: &dyn Listener) -> Result<Progress, Fault> {
        match data.trim() {
            "" => return Ok(Progress::More),
            "[DONE]" => return Err(cut()),
            _ => {}
        }
        let mut event: Value = serde_json::from_str(data).map_err(|error| Fault {
            kind: ProviderFailure::Malformed,
            message: format!("a piece of the reply cannot be read: {error}"),
        })?;
        let delta = event["delta"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or(name) {
            "response.output_text.delta" | "response.refusal.delta" if !delta.is_empty() => {
                listener.hear(Part::Text(delta));
                self.text.push_str(delta);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => self.think(delta, listener),
            "response.reasoning_summary_part.added" if !self.thinking.is_empty() => self.think("\n\n", listener),
            "response.output_item.added" if event["item"]["type"] == CALL => {
                listener.hear(Part::Call { tool: self.tool(event["item"]["name"].as_str().unwrap_or_default()) });
            }
            "response.function_call_arguments.delta" if !delta.is_empty() => listener.hear(Part::Input(delta)),
            "response.output_item.done" => {
                let item = self.item(taken(&mut event, "item"));
                let is_thought = matches!(item, Some(Item::Thought(_)));
                self.thoughts += if is_thought { data.len() } else { 0 };
                self.items.extend(item.filter(|_| !is_thought || self.thoughts <= MOST_KEPT));
            }
            "response.completed" => {
                self.end(taken(&mut event, "response"), ReplyEnd::Complete);
                return Ok(Progress::Complete);
            }
            "response.incomplete" => {
                let reason = &event["response"]["incomplete_details"]["reason"];
                let ended = if reason == "content_filter" { ReplyEnd::Refused } else { ReplyEnd::Length };
                self.end(taken(&mut event, "response"), ended);
                return Ok(Progress::Complete);
            }
            "response.failed" => return Err(complaint(&event["response"])),
            "error" => return Err(complaint(&event)),
            // Servers add events; what says nothing new is passed over.
            _ if event["error"].is_object() => return Err(complaint(&event)),
            _ => {}
        }
        Ok(Progress::More)
    }

    fn finish(self: Box<Self>) -> Result<Reply, Fault> {
        let mut ended = self.ended.ok_or_else(cut)?;
        if self.items.iter().any(|item| matches!(item, Item::Message { refused: true, .. })) {
            ended = ReplyEnd::Refused;
        }
        // Half a reply is not returned in the order of a whole one.
        let kept = if ended == ReplyEnd::Complete { self.kept() } else { None };
        let Self { text, thinking, items, usage, .. } = *self;
        let (mut texts, mut calls) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                Item::Message { texts: more, .. } => texts.extend(more),
                // Where the response is not complete, a call has to say itself that it is.
                Item::Call { call, is_whole } if is_whole.unwrap_or(ended == ReplyEnd::Complete) => calls.push(call),
                Item::Call { .. } | Item::Thought(_) => {}
            }
        }
        if ended == ReplyEnd::Refused {
            calls.clear();
        }
        // What was heard, if no message has ended.
        let text = if texts.is_empty() { text } else { texts.join("\n\n") };
        Ok(Reply { text, thinking, calls, usage, ended, kept })
    }
}

/// A member of a value, whatever the value is.
fn taken(value: &mut Value, name: &str) -> Value {
    value.get_mut(name).map(Value::take).unwrap_or_default()
}

fn cut() -> Fault {
    Fault { kind: ProviderFailure::Cut, message: "the stream ended before the reply did".to_owned() }
}
