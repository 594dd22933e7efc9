//! OpenAI Chat Completions: `POST /chat/completions`. Also what Ollama, vLLM, llama.cpp and OpenRouter
//! speak, each with habits of its own; [`reader`] bears with them.

mod calls;
mod reader;
#[cfg(test)]
pub(super) mod tests;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use palisade_agent::{Prompt, ReasoningEffort, ToolCall};
use serde_json::{Map, Value, json};

use super::schema::{answer_format, is_openai, parameters};
use super::{Names, Reader, Said, Speak, Told, Turn, json_mode, turns};
use crate::{Connection, ToolMode};

pub(super) use reader::ChatReader;

/// Chat Completions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chat;

impl Speak for Chat {
    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("authorization", format!("Bearer {key}"))
    }

    fn request(&self, prompt: &Prompt<'_>, connection: &Connection) -> Value {
        let mut body = settings(prompt, connection);
        match connection.tool_mode {
            ToolMode::Native => native(&mut body, prompt, connection),
            ToolMode::Json => json_mode::write(&mut body, prompt, connection),
        }
        Value::Object(body)
    }

    fn reader(&self, prompt: &Prompt<'_>, connection: &Connection) -> Box<dyn Reader> {
        let reader = ChatReader::new(prompt.tools);
        match connection.tool_mode {
            ToolMode::Json if !prompt.tools.is_empty() => Box::new(json_mode::JsonReader::new(reader, prompt)),
            ToolMode::Json | ToolMode::Native => Box::new(reader),
        }
    }
}

/// What does not depend on how tools are told of.
fn settings(prompt: &Prompt<'_>, connection: &Connection) -> Map<String, Value> {
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    put("model", connection.model.as_str().into());
    put("stream", true.into());
    put("stream_options", json!({"include_usage": true}));
    if let Some(temperature) = prompt.settings.temperature {
        put("temperature", temperature.into());
    }
    if let Some(effort) = prompt.settings.reasoning_effort.and_then(effort) {
        put("reasoning_effort", effort.into());
    }
    if let Some(tokens) = prompt.settings.max_tokens.or(connection.max_tokens) {
        // OpenAI's reasoning models refuse the older word, other servers know only that.
        put(if is_openai(connection) { "max_completion_tokens" } else { "max_tokens" }, tokens.into());
    }
    body
}

/// The word for how long the model thinks, which servers and programs share.
pub(crate) fn effort(effort: ReasoningEffort) -> Option<&'static str> {
    match effort {
        ReasoningEffort::Low => Some("low"),
        ReasoningEffort::Medium => Some("medium"),
        ReasoningEffort::High => Some("high"),
        ReasoningEffort::Inherit => None,
    }
}

fn native(body: &mut Map<String, Value>, prompt: &Prompt<'_>, connection: &Connection) {
    let names = Names::of_tools(prompt.tools);
    let mut messages = system(prompt.instructions);
    for turn in turns(prompt.transcript) {
        match turn {
            Turn::User { results, texts } => {
                messages.extend(results.iter().map(result));
                messages.extend(user(&texts.join("\n\n")));
            }
            Turn::Model(said) => messages.push(assistant(&said, &names)),
        }
    }
    body.insert("messages".to_owned(), messages.into());
    if !prompt.tools.is_empty() {
        let tool = |spec: &palisade_agent::ToolSpec| {
            json!({"type": "function", "function": {
                "name": names.written(&spec.name),
                "description": spec.description,
                "parameters": parameters(&spec.input_schema, connection),
            }})
        };
        body.insert("tools".to_owned(), prompt.tools.iter().map(tool).collect());
    }
    if let Some(format) = answer_format(prompt.settings, prompt.tools.len(), connection) {
        body.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": format}));
    }
}

/// The message that carries the instructions, if there are any.
pub(super) fn system(instructions: &str) -> Vec<Value> {
    let blank = instructions.trim().is_empty();
    if blank { Vec::new() } else { vec![json!({"role": "system", "content": instructions})] }
}

/// The message of a user, unless it would be empty.
pub(super) fn user(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"role": "user", "content": text}))
}

/// What the model said, as one message: some servers refuse two in a row. Only the last of it can have
/// calls, because results come after them.
fn assistant(said: &[Said<'_>], names: &Names<'_>) -> Value {
    let texts: Vec<&str> = said.iter().map(|said| said.text).filter(|text| !text.trim().is_empty()).collect();
    let content = if texts.is_empty() { Value::Null } else { texts.join("\n\n").into() };
    let call = |call: &ToolCall| {
        let function = json!({"name": names.written(&call.tool), "arguments": arguments(&call.input)});
        json!({"id": call_id(&call.id), "type": "function", "function": function})
    };
    let calls: Vec<Value> = said.iter().flat_map(|said| said.calls).map(call).collect();
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

fn result(told: &Told<'_>) -> Value {
    json!({"role": "tool", "tool_call_id": call_id(told.id), "content": outcome(told)})
}

/// What the model reads of a call: these dialects have no other way to say that it failed.
pub(super) fn outcome(told: &Told<'_>) -> String {
    match (told.worked, told.text.trim().is_empty()) {
        (true, true) => "(no output)".to_owned(),
        (true, false) => told.text.to_owned(),
        (false, _) => format!("error: {}", told.text),
    }
}

/// The input of a call as the text of a JSON object, whatever the model once wrote: servers refuse a
/// conversation with anything else in it.
pub(super) fn arguments(input: &Value) -> String {
    match input {
        Value::Object(_) => input.to_string(),
        other => json!({ "input": other }).to_string(),
    }
}

/// The longest id of a call that OpenAI accepts.
const LONGEST_ID: usize = 40;

/// The id of a call; one that a server would refuse is replaced by another, always by the same.
pub(super) fn call_id(id: &str) -> String {
    if (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return id.to_owned();
    }
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    format!("call_{:016x}", hasher.finish())
}
