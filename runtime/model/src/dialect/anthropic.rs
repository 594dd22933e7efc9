//! Anthropic Messages: `POST /v1/messages`.
//!
//! Thinking is signed and must come back as it was, in its place between texts and calls; what has to
//! be kept for that is the layout of the reply.

mod reader;

use palisade_agent::{Prompt, ReasoningEffort, ToolCall};
use serde_json::{Value, json};

use self::reader::AnthropicReader;
use super::{Names, Reader, Said, Speak, Turn, keeper, turns};
use crate::Connection;

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
        let by = keeper("anthropic", connection);
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
                json!({ "name": name, "description": tool.description, "input_schema": input_schema(&tool.input_schema) })
            });
            request["tools"] = cached_last(tools.collect()).into();
        }
        request["messages"] = Writer { names, ids: Names::of(ids(&turns)), by }.messages(&turns).into();
        request
    }

    fn reader(&self, prompt: &Prompt<'_>, connection: &Connection) -> Box<dyn Reader> {
        Box::new(AnthropicReader::new(keeper("anthropic", connection), Names::of_tools(prompt.tools).renamed()))
    }
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

/// A schema as the server accepts it: an object without a choice at its root. The toolbox checks the input
/// against the whole schema anyway.
fn input_schema(schema: &Value) -> Value {
    let mut root = schema.as_object().cloned().unwrap_or_default();
    root.retain(|name, _| !matches!(name.as_str(), "anyOf" | "oneOf" | "allOf"));
    root.insert("type".to_owned(), "object".into());
    root.into()
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

#[cfg(test)]
mod tests;
