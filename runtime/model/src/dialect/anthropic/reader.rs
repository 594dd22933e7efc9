//! Reads one reply of the Anthropic dialect. It comes in numbered parts, each with a beginning and an end.

use std::collections::{BTreeMap, HashMap};

use palisade_agent::{Kept, Listener, Part, ProviderFailure, Reply, ReplyEnd, ToolCall, Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::dialect::{Fault, Progress, Reader, call_input};
use crate::wire::is_too_long;

/// Reads one reply.
#[derive(Default)]
pub(super) struct AnthropicReader {
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
        /// What stands for the input if nothing is written, as text.
        input: String,
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

impl Reader for AnthropicReader {
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
            Some(_) => ReplyEnd::Complete,
            None => return Err(malformed("it does not say why it ends")),
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
                Kind::Call { .. } if ended == ReplyEnd::Length && at == last => {}
                // What the model would rather not have said is not done.
                Kind::Call { .. } if ended == ReplyEnd::Refused => {}
                Kind::Call { id, tool, input, written } => {
                    let input = call_input(if written.is_empty() { &input } else { &written });
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

impl AnthropicReader {
    /// A reader whose replies are kept under a name, with the tools that the server knows by another one.
    pub(super) fn new(by: String, renamed: HashMap<String, String>) -> Self {
        Self { by, renamed, ..Self::default() }
    }

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
            Some("thinking" | "redacted_thinking") => {
                // The rest is not kept: a value takes many times the memory of its text.
                let matters = |name: &str| matches!(name, "type" | "thinking" | "signature" | "data");
                Kind::Thinking(block.into_iter().filter(|(name, value)| matters(name) && value.is_string()).collect())
            }
            Some("tool_use") => {
                let name = text("name");
                let tool = self.renamed.get(&name).cloned().unwrap_or(name);
                listener.hear(Part::Call { tool: &tool });
                let input = block.get("input").filter(|input| input.is_object()).map(Value::to_string);
                Kind::Call { id: text("id"), tool, input: input.unwrap_or_default(), written: String::new() }
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
