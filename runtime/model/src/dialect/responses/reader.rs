//! Reads a reply from the events of a Responses stream.
//!
//! Each item of the output has an end of its own, and the response has one: a call exists if its item
//! ended as completed and the response did end. Without `response.completed` or `response.incomplete`
//! the stream was cut.

use std::collections::HashMap;

use palisade_agent::{Kept, Listener, Part, ProviderFailure, Reply, ReplyEnd, ToolCall, ToolSpec, Usage};
use serde_json::{Value, json};

use super::{CALL, MESSAGE};
use crate::dialect::{Fault, Names, Progress, Reader, call_input, complaint};

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
    items: Vec<Value>,
    ended: Option<ReplyEnd>,
    usage: Usage,
}

impl ResponsesReader {
    pub(super) fn new(tools: &[ToolSpec], keeper: String) -> Self {
        let renamed = Names::of_tools(tools).renamed();
        let (text, thinking) = (String::new(), String::new());
        Self { keeper, renamed, text, thinking, items: Vec::new(), ended: None, usage: Usage::default() }
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
    fn end(&mut self, response: &Value, ended: ReplyEnd) {
        let count = |value: &Value| value.as_u64().unwrap_or_default();
        let usage = &response["usage"];
        self.usage = Usage {
            input_tokens: count(&usage["input_tokens"]),
            output_tokens: count(&usage["output_tokens"]),
            cached_tokens: count(&usage["input_tokens_details"]["cached_tokens"]),
            ..Usage::default()
        };
        // Some servers give the items only here.
        if let (true, Value::Array(output)) = (self.items.is_empty(), &response["output"]) {
            self.items.clone_from(output);
        }
        self.ended = Some(ended);
    }

    /// The text of the messages, or what was heard if none has ended.
    fn said(&self) -> (String, bool) {
        let parts: Vec<&Value> =
            self.of_kind(MESSAGE).filter_map(|item| item["content"].as_array()).flatten().collect();
        let refused = parts.iter().any(|part| part["type"] == "refusal");
        let text = |part: &&Value| part["text"].as_str().or(part["refusal"].as_str()).map(str::to_owned);
        let texts: Vec<String> = parts.iter().filter_map(text).filter(|text| !text.is_empty()).collect();
        (if texts.is_empty() { self.text.clone() } else { texts.join("\n\n") }, refused)
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.items.iter().filter(move |item| item["type"] == kind)
    }

    /// The calls that were written to their end. Where the response is not complete, an item has to say
    /// so itself.
    fn calls(&self, ended: ReplyEnd) -> Vec<ToolCall> {
        let is_whole = |item: &&Value| match (item["status"].as_str(), ended) {
            (Some(status), _) => status == "completed",
            (None, ended) => ended == ReplyEnd::Complete,
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let call = |item: &Value| ToolCall {
            id: text(&item["call_id"]),
            tool: self.tool(&text(&item["name"])).to_owned(),
            input: call_input(item["arguments"].as_str().unwrap_or_default()),
        };
        self.of_kind(CALL).filter(is_whole).map(call).collect()
    }

    /// Thoughts as they came, and a word for every other item, so that the order is known.
    fn kept(&self) -> Option<Kept> {
        let is_thought = |item: &Value| item["type"] == "reasoning" && item["encrypted_content"].is_string();
        let word = |item: &Value| match item["type"].as_str() {
            Some(MESSAGE) => Some(json!(MESSAGE)),
            Some(CALL) => Some(json!(CALL)),
            Some("reasoning") => is_thought(item).then(|| item.clone()),
            _ => None,
        };
        let any = self.items.iter().any(is_thought);
        let value = || Value::Array(self.items.iter().filter_map(word).collect());
        any.then(|| Kept { by: self.keeper.clone(), value: value() })
    }
}

impl Reader for ResponsesReader {
    fn event(&mut self, name: &str, data: &str, listener: &dyn Listener) -> Result<Progress, Fault> {
        match data.trim() {
            "" => return Ok(Progress::More),
            "[DONE]" => return Err(cut()),
            _ => {}
        }
        let event: Value = serde_json::from_str(data).map_err(|error| Fault {
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
            "response.output_item.done" => self.items.push(event["item"].clone()),
            "response.completed" => {
                self.end(&event["response"], ReplyEnd::Complete);
                return Ok(Progress::Complete);
            }
            "response.incomplete" => {
                let reason = &event["response"]["incomplete_details"]["reason"];
                let ended = if reason == "content_filter" { ReplyEnd::Refused } else { ReplyEnd::Length };
                self.end(&event["response"], ended);
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
        let ended = self.ended.ok_or_else(cut)?;
        let (text, refused) = self.said();
        let ended = if refused { ReplyEnd::Refused } else { ended };
        let calls = if ended == ReplyEnd::Refused { Vec::new() } else { self.calls(ended) };
        // Half a reply is not returned in the order of a whole one.
        let kept = if ended == ReplyEnd::Complete { self.kept() } else { None };
        Ok(Reply { text, thinking: self.thinking, calls, usage: self.usage, ended, kept })
    }
}

fn cut() -> Fault {
    Fault { kind: ProviderFailure::Cut, message: "the stream ended before the reply did".to_owned() }
}
