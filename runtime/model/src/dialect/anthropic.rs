//! Anthropic Messages: `POST /v1/messages`.
//!
//! Thinking is signed and must come back as it was, in its place between texts and calls; what has to
//! be kept for that is the layout of the reply.

use std::collections::{BTreeMap, HashMap};

use palisade_agent::{
    Kept, Listener, Part, Prompt, ProviderFailure, ReasoningEffort, Reply, ReplyEnd, ToolCall, Usage,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Fault, Names, Progress, Reader, Said, Speak, Turn, call_input, turns};
use crate::Connection;
use crate::wire::is_too_long;

/// How long a reply may be if nobody says; the server must be told something.
const MAX_TOKENS: u32 = 8192;
/// The least that a model can be told to think.
const LEAST_THINKING: u32 = 1024;

/// The dialect.
pub(crate) struct Anthropic;

impl Speak for Anthropic {
    fn path(&self) -> &'static str {
        "/v1/messages"
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("x-api-key", key.to_owned())
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn request(&self, prompt: &Prompt<'_>, connection: &Connection) -> Value {
        let turns = turns(prompt.transcript);
        let by = by(connection);
        let wanted = prompt.settings.max_tokens.or(connection.max_tokens);
        let thinking = budget(prompt.settings.reasoning_effort, wanted).filter(|_| may_think(&turns, &by));
        let most = wanted.unwrap_or_else(|| MAX_TOKENS + thinking.unwrap_or_default());
        let mut request = json!({ "model": connection.model, "max_tokens": most, "stream": true });
        if let Some(budget) = thinking {
            request["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
        } else if let Some(temperature) = prompt.settings.temperature {
            request["temperature"] = json!(temperature);
        }
        if !prompt.instructions.trim().is_empty() {
            request["system"] = json!([cached(json!({ "type": "text", "text": prompt.instructions }))]);
        }
        let names = Names::of_tools(prompt.tools);
        if !prompt.tools.is_empty() {
            let tools = prompt.tools.iter().map(|tool| {
                let name = names.written(&tool.name);
                json!({ "name": name, "description": tool.description, "input_schema": tool.input_schema })
            });
            request["tools"] = cached_last(tools.collect()).into();
        }
        request["messages"] = Writer { names, ids: Names::of(ids(&turns)), by }.messages(&turns).into();
        request
    }

    fn reader(&self, prompt: &Prompt<'_>, connection: &Connection) -> Box<dyn Reader> {
        let renamed = Names::of_tools(prompt.tools).renamed();
        Box::new(Reading { by: by(connection), renamed, ..Reading::default() })
    }
}

/// Who understands what is kept of a reply.
fn by(connection: &Connection) -> String {
    format!("anthropic/{}", connection.model)
}

/// Everything up to this block is kept in the provider's cache.
fn cached(mut block: Value) -> Value {
    block["cache_control"] = json!({ "type": "ephemeral" });
    block
}

fn cached_last(mut blocks: Vec<Value>) -> Vec<Value> {
    let last = blocks.pop().map(cached);
    blocks.extend(last);
    blocks
}

/// How many tokens the model may think; they are a part of the reply, which must be longer.
fn budget(effort: Option<ReasoningEffort>, wanted: Option<u32>) -> Option<u32> {
    let budget = match effort? {
        ReasoningEffort::Low => 2048,
        ReasoningEffort::Medium => 8192,
        ReasoningEffort::High => 24_576,
        ReasoningEffort::Inherit => return None,
    };
    match wanted {
        Some(most) => Some(budget.min(most / 2).max(LEAST_THINKING)).filter(|budget| *budget < most),
        None => Some(budget),
    }
}

/// Whether the model may be asked to think: while it works on a request, every reply with calls has to
/// begin with its thinking, and those of another model have none.
fn may_think(turns: &[Turn<'_>], by: &str) -> bool {
    let since_asked = turns.iter().rev().take_while(|turn| match turn {
        Turn::User { results, .. } => !results.is_empty(),
        Turn::Model(_) => true,
    });
    let mut said = since_asked.flat_map(|turn| match turn {
        Turn::Model(said) => said.as_slice(),
        Turn::User { .. } => &[],
    });
    said.all(|said| said.calls.is_empty() || said.kept.is_some_and(|kept| kept.by == by))
}

fn ids<'a>(turns: &'a [Turn<'a>]) -> impl Iterator<Item = &'a str> + Clone {
    turns.iter().flat_map(|turn| match turn {
        Turn::Model(said) => said.iter().flat_map(|said| said.calls).map(|call| call.id.as_str()).collect(),
        Turn::User { .. } => Vec::new(),
    })
}

/// Writes a conversation.
struct Writer<'a> {
    names: Names<'a>,
    ids: Names<'a>,
    by: String,
}

impl Writer<'_> {
    fn messages(&self, turns: &[Turn<'_>]) -> Vec<Value> {
        let last = turns.iter().rposition(|turn| matches!(turn, Turn::User { .. }));
        let message = |(at, turn): (usize, &Turn<'_>)| match turn {
            Turn::User { results, texts } => {
                let results = results.iter().map(|told| {
                    let mut block = json!({ "type": "tool_result", "tool_use_id": self.ids.written(told.id) });
                    if !told.text.trim().is_empty() {
                        block["content"] = told.text.into();
                    }
                    if !told.worked {
                        block["is_error"] = true.into();
                    }
                    block
                });
                let blocks: Vec<Value> = results.chain(texts.iter().map(|text| text_block(text))).collect();
                let blocks = if Some(at) == last { cached_last(blocks) } else { blocks };
                json!({ "role": "user", "content": blocks })
            }
            Turn::Model(said) => {
                let blocks: Vec<Value> = said.iter().flat_map(|said| self.said(said)).collect();
                json!({ "role": "assistant", "content": blocks })
            }
        };
        turns.iter().enumerate().map(message).collect()
    }

    /// A reply in the layout it came in, as far as that was kept.
    fn said(&self, said: &Said<'_>) -> Vec<Value> {
        let kept = said.kept.filter(|kept| kept.by == self.by).and_then(|kept| kept.value.as_array());
        let (mut blocks, mut text, mut calls) = (Vec::new(), said.text, said.calls.iter());
        for block in kept.into_iter().flatten() {
            match block["type"].as_str() {
                Some("text") => {
                    let bytes = block["bytes"].as_u64().and_then(|bytes| usize::try_from(bytes).ok());
                    let (head, tail) = text.split_at(text.floor_char_boundary(bytes.unwrap_or(0)));
                    blocks.extend(Some(head).filter(|head| !head.trim().is_empty()).map(text_block));
                    text = tail;
                }
                Some("tool_use") => blocks.extend(calls.next().map(|call| self.call(call))),
                _ => blocks.push(block.clone()),
            }
        }
        blocks.extend(Some(text).filter(|text| !text.trim().is_empty()).map(text_block));
        blocks.extend(calls.map(|call| self.call(call)));
        blocks
    }

    fn call(&self, call: &ToolCall) -> Value {
        // The server accepts only objects; the model has been told that it wrote none.
        let input = if call.input.is_object() { call.input.clone() } else { json!({ "not_an_object": call.input }) };
        let (id, name) = (self.ids.written(&call.id), self.names.written(&call.tool));
        json!({ "type": "tool_use", "id": id, "name": name, "input": input })
    }
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Reads one reply.
#[derive(Default)]
struct Reading {
    by: String,
    /// Tools that the server knows by another name.
    renamed: HashMap<String, String>,
    begun: bool,
    blocks: BTreeMap<u64, Block>,
    usage: Counts,
    stop: Option<String>,
}

/// One part of a reply, as it grows.
struct Block {
    kind: Kind,
    is_whole: bool,
}

enum Kind {
    Text(String),
    /// The block as it will be sent back.
    Thinking(Map<String, Value>),
    Call {
        id: String,
        tool: String,
        input: Value,
        written: String,
    },
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: Map<String, Value>,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: Stop,
        #[serde(default)]
        usage: Counts,
    },
    MessageStop,
    Error {
        error: Problem,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Start {
    #[serde(default)]
    usage: Counts,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the names are those of the server")]
enum Delta {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Stop {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Problem {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    message: String,
}

/// Tokens as the server counts them: those from and for the cache are not among the input.
#[derive(Clone, Copy, Default, Deserialize)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl Counts {
    /// Later counts stand for the whole reply.
    fn update(&mut self, later: Self) {
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
        self.cache_read_input_tokens = later.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens = later.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
    }

    fn usage(self) -> Usage {
        let cached_tokens = self.cache_read_input_tokens.unwrap_or_default();
        let cache_written_tokens = self.cache_creation_input_tokens.unwrap_or_default();
        let plain = self.input_tokens.unwrap_or_default();
        Usage {
            input_tokens: plain.saturating_add(cached_tokens).saturating_add(cache_written_tokens),
            output_tokens: self.output_tokens.unwrap_or_default(),
            cached_tokens,
            cache_written_tokens,
            cost_micros: 0,
        }
    }
}

impl Reader for Reading {
    fn event(&mut self, name: &str, data: &str, listener: &dyn Listener) -> Result<Progress, Fault> {
        const NAMES: [&str; 8] = [
            "message",
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
            "error",
        ];
        if !NAMES.contains(&name) {
            return Ok(Progress::More);
        }
        let event = serde_json::from_str(data).map_err(|error| malformed(&format!("a `{name}` event: {error}")))?;
        match event {
            Event::MessageStart { message } => {
                if std::mem::replace(&mut self.begun, true) {
                    return Err(malformed("a second reply begins inside of the first"));
                }
                self.usage.update(message.usage);
            }
            Event::ContentBlockStart { index, content_block } => self.begin(index, content_block, listener)?,
            Event::ContentBlockDelta { index, delta } => self.grow(index, delta, listener)?,
            Event::ContentBlockStop { index } => self.open(index)?.is_whole = true,
            Event::MessageDelta { delta, usage } => {
                self.usage.update(usage);
                self.stop = delta.stop_reason.or(self.stop.take());
            }
            Event::MessageStop if self.begun => return Ok(Progress::Complete),
            Event::MessageStop => return Err(malformed("it ends before it began")),
            Event::Error { error } => return Err(error.fault()),
            Event::Unknown => {}
        }
        Ok(Progress::More)
    }

    fn finish(self: Box<Self>) -> Result<Reply, Fault> {
        if self.blocks.values().any(|block| !block.is_whole) {
            return Err(malformed("a part of it has no end"));
        }
        let ended = match self.stop.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => ReplyEnd::Length,
            Some("refusal") => ReplyEnd::Refused,
            _ => ReplyEnd::Complete,
        };
        let mut reply = Reply { usage: self.usage.usage(), ended, ..Reply::default() };
        let (mut layout, mut has_thinking) = (Vec::new(), false);
        let Self { by, blocks, .. } = *self;
        let last = blocks.len().saturating_sub(1);
        for (at, block) in blocks.into_values().enumerate() {
            match block.kind {
                Kind::Text(text) => {
                    layout.push(json!({ "type": "text", "bytes": text.len() }));
                    reply.text.push_str(&text);
                }
                Kind::Thinking(block) => {
                    reply.thinking.push_str(block.get("thinking").and_then(Value::as_str).unwrap_or_default());
                    layout.push(block.into());
                    has_thinking = true;
                }
                // The server gives the last call an end even if the model did not come to it.
                Kind::Call { .. } if ended != ReplyEnd::Complete && at == last => {}
                Kind::Call { id, tool, input, written } => {
                    let input = if written.is_empty() { input } else { call_input(&written) };
                    reply.calls.push(ToolCall { id, tool, input });
                    layout.push(json!({ "type": "tool_use" }));
                }
                Kind::Unknown => {}
            }
        }
        reply.kept = has_thinking.then(|| Kept { by, value: layout.into() });
        Ok(reply)
    }
}

impl Reading {
    fn begin(&mut self, index: u64, block: Map<String, Value>, listener: &dyn Listener) -> Result<(), Fault> {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = match block.get("type").and_then(Value::as_str) {
            Some("text") => {
                let text = text("text");
                if !text.is_empty() {
                    listener.hear(Part::Text(&text));
                }
                Kind::Text(text)
            }
            Some("thinking" | "redacted_thinking") => Kind::Thinking(block),
            Some("tool_use") => {
                let name = text("name");
                let tool = self.renamed.get(&name).cloned().unwrap_or(name);
                listener.hear(Part::Call { tool: &tool });
                let input = block.get("input").filter(|input| input.is_object()).cloned().unwrap_or_else(|| json!({}));
                Kind::Call { id: text("id"), tool, input, written: String::new() }
            }
            _ => Kind::Unknown,
        };
        if !self.begun || self.blocks.insert(index, Block { kind, is_whole: false }).is_some() {
            return Err(malformed("two parts of it have one number, or one came before its beginning"));
        }
        Ok(())
    }

    fn grow(&mut self, index: u64, delta: Delta, listener: &dyn Listener) -> Result<(), Fault> {
        match (&mut self.open(index)?.kind, delta) {
            (Kind::Text(text), Delta::TextDelta { text: more }) => {
                listener.hear(Part::Text(&more));
                text.push_str(&more);
            }
            (Kind::Thinking(block), Delta::ThinkingDelta { thinking }) => {
                listener.hear(Part::Thinking(&thinking));
                extend(block, "thinking", &thinking);
            }
            (Kind::Thinking(block), Delta::SignatureDelta { signature }) => extend(block, "signature", &signature),
            (Kind::Call { written, .. }, Delta::InputJsonDelta { partial_json }) => {
                listener.hear(Part::Input(&partial_json));
                written.push_str(&partial_json);
            }
            (Kind::Unknown, _) | (_, Delta::Unknown) => {}
            _ => return Err(malformed("a part of it goes on as another kind of part")),
        }
        Ok(())
    }

    /// The part of this number, which must have begun and not ended.
    fn open(&mut self, index: u64) -> Result<&mut Block, Fault> {
        let block = self.blocks.get_mut(&index).filter(|block| !block.is_whole);
        block.ok_or_else(|| malformed("it goes on with a part that has not begun or has ended"))
    }
}

fn extend(block: &mut Map<String, Value>, name: &str, more: &str) {
    match block.get_mut(name) {
        Some(Value::String(text)) => text.push_str(more),
        _ => drop(block.insert(name.to_owned(), more.into())),
    }
}

fn malformed(what: &str) -> Fault {
    Fault { kind: ProviderFailure::Malformed, message: format!("the reply cannot be understood: {what}") }
}

impl Problem {
    fn fault(self) -> Fault {
        let kind = match self.kind.as_str() {
            "rate_limit_error" => ProviderFailure::RateLimited,
            "timeout_error" => ProviderFailure::TimedOut,
            "authentication_error" | "permission_error" => ProviderFailure::Unauthorized,
            "request_too_large" => ProviderFailure::TooLong,
            "invalid_request_error" if is_too_long(&self.message) => ProviderFailure::TooLong,
            "invalid_request_error" | "not_found_error" | "billing_error" => ProviderFailure::Rejected,
            // `overloaded_error`, `api_error`, and what we do not know.
            _ => ProviderFailure::Broken,
        };
        Fault { kind, message: format!("{}: {}", self.kind, self.message) }
    }
}

#[cfg(test)]
mod tests;
