//! OpenAI Responses: `POST /responses`. Nothing is stored at the server: what the model thought comes
//! back encrypted and is returned with the next prompt, unchanged and in its place.

mod reader;
#[cfg(test)]
mod tests;

use palisade_agent::{Kept, Prompt, ToolCall, ToolSpec};
use serde_json::{Map, Value, json};

use self::reader::ResponsesReader;
use super::chat::{arguments, call_id, outcome};
use super::schema::{answer_format, parameters};
use super::{Names, Reader, Said, Speak, Turn, effort, keeper, turns};
use crate::Connection;

/// Responses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Responses;

impl Speak for Responses {
    fn path(&self) -> &'static str {
        "/responses"
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("authorization", format!("Bearer {key}"))
    }

    fn request(&self, prompt: &Prompt<'_>, connection: &Connection) -> Value {
        let names = Names::of_tools(prompt.tools);
        let mut body = Map::new();
        let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
        put("model", connection.model.as_str().into());
        put("stream", true.into());
        put("store", false.into());
        if !prompt.instructions.trim().is_empty() {
            put("instructions", prompt.instructions.into());
        }
        put("input", input(prompt, &names, &keeper("responses", connection)).into());
        if thinks(connection) {
            put("include", json!(["reasoning.encrypted_content"]));
        }
        if let Some(effort) = prompt.settings.reasoning_effort.and_then(effort) {
            put("reasoning", json!({"effort": effort, "summary": "auto"}));
        }
        if let Some(temperature) = prompt.settings.temperature {
            put("temperature", temperature.into());
        }
        if let Some(tokens) = prompt.settings.max_tokens.or(connection.max_tokens) {
            put("max_output_tokens", tokens.into());
        }
        if !prompt.tools.is_empty() {
            let tool = |spec: &ToolSpec| {
                json!({
                    "type": "function",
                    "name": names.written(&spec.name),
                    "description": spec.description,
                    "parameters": parameters(&spec.input_schema, connection),
                    // Strict is the default here, and refuses schemas with optional members.
                    "strict": false,
                })
            };
            put("tools", prompt.tools.iter().map(tool).collect());
        }
        if let Some(mut format) = answer_format(prompt.settings, prompt.tools.len(), connection) {
            format.insert("type".to_owned(), "json_schema".into());
            put("text", json!({ "format": format }));
        }
        Value::Object(body)
    }

    fn reader(&self, prompt: &Prompt<'_>, connection: &Connection) -> Box<dyn Reader> {
        Box::new(ResponsesReader::new(prompt.tools, keeper("responses", connection)))
    }
}

/// Whether the model may give encrypted thinking back. The models before thinking refuse a request that
/// asks for it; there will be no new ones of them.
fn thinks(connection: &Connection) -> bool {
    !["gpt-3", "gpt-4", "chatgpt-"].iter().any(|old| connection.model.starts_with(old))
}

/// The conversation as items.
fn input(prompt: &Prompt<'_>, names: &Names<'_>, keeper: &str) -> Vec<Value> {
    let mut items = Vec::new();
    for turn in turns(prompt.transcript) {
        match turn {
            Turn::User { results, texts } => {
                items.extend(results.iter().map(
                    |told| json!({"type": "function_call_output", "call_id": call_id(told.id), "output": outcome(told)}),
                ));
                if !texts.is_empty() {
                    items.push(message("user", "input_text", &texts.join("\n\n")));
                }
            }
            Turn::Model(said) => said.iter().for_each(|said| reply(said, names, keeper, &mut items)),
        }
    }
    items
}

fn message(role: &str, kind: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

fn call(call: &ToolCall, names: &Names<'_>) -> Value {
    json!({
        "type": "function_call",
        "call_id": call_id(&call.id),
        "name": names.written(&call.tool),
        "arguments": arguments(&call.input),
    })
}

/// Writes one reply in the order in which it came: each thought before what it led to. A thought that
/// led to nothing is left out, because the server refuses one that nothing follows.
fn reply(said: &Said<'_>, names: &Names<'_>, keeper: &str, items: &mut Vec<Value>) {
    let mut text = Some(said.text).filter(|text| !text.trim().is_empty());
    let mut calls = said.calls.iter();
    let mut thoughts: Vec<Value> = Vec::new();
    for kept in order(said.kept, keeper) {
        let item = match kept.as_str() {
            None => {
                thoughts.push(kept.clone());
                continue;
            }
            Some(MESSAGE) => text.take().map(|text| message("assistant", "output_text", text)),
            Some(_) => calls.next().map(|next| call(next, names)),
        };
        if let Some(item) = item {
            items.append(&mut thoughts);
            items.push(item);
        }
    }
    items.extend(text.map(|text| message("assistant", "output_text", text)));
    items.extend(calls.map(|next| call(next, names)));
}

/// Stands for the text in what is kept.
const MESSAGE: &str = "message";
/// Stands for the next call in what is kept.
const CALL: &str = "function_call";

/// What was kept of a reply: thoughts as they came, and the words above for what the transcript has.
fn order<'a>(kept: Option<&'a Kept>, keeper: &str) -> &'a [Value] {
    let own = kept.filter(|kept| kept.by == keeper).and_then(|kept| kept.value.as_array());
    own.map(Vec::as_slice).unwrap_or_default()
}
