//! Reads a reply from the pieces of a Chat Completions stream.
//!
//! A reply is over when its choice has a `finish_reason`; that is the only thing which says that a call
//! was written to its end. The count of tokens and `[DONE]` come after it. `[DONE]` completes the reply
//! at once. Servers that leave it out just end the stream: the reply is whole then too, because every
//! piece up to its `finish_reason` was read. A stream that ends earlier was cut, `[DONE]` or not.

use palisade_agent::{Listener, Part, ProviderFailure, Reply, ReplyEnd, ToolSpec, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::calls::{Calls, Piece};
use crate::dialect::{Fault, Progress, Reader, complaint};

/// A reply that is coming in.
pub(crate) struct ChatReader {
    text: String,
    thinking: String,
    calls: Calls,
    refused: bool,
    /// Set once the last thing that was said of the choice is that it is over.
    ended: Option<ReplyEnd>,
    usage: Usage,
}

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<u64>,
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    /// What DeepSeek, vLLM and llama.cpp call thinking.
    reasoning_content: Option<String>,
    /// What OpenRouter and Ollama call it.
    reasoning: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Piece>>,
}

#[derive(Deserialize)]
struct Tokens {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<TokensRead>,
}

#[derive(Deserialize)]
struct TokensRead {
    cached_tokens: Option<u64>,
}

impl ChatReader {
    /// Reads a reply that may call these tools.
    pub(crate) fn new(tools: &[ToolSpec]) -> Self {
        Self {
            text: String::new(),
            thinking: String::new(),
            calls: Calls::new(tools),
            refused: false,
            ended: None,
            usage: Usage::default(),
        }
    }

    fn choice(&mut self, choice: Choice, listener: &dyn Listener) -> Result<(), Fault> {
        if choice.delta.is_some_and(|delta| self.delta(delta, listener)) {
            // What goes on is not over, whatever was said before.
            self.ended = None;
        }
        match choice.finish_reason.as_deref() {
            None | Some("") => {}
            Some("length" | "max_tokens") => self.ended = Some(ReplyEnd::Length),
            Some("content_filter") => self.ended = Some(ReplyEnd::Refused),
            Some("error") => return Err(complaint(&Value::Null)),
            Some(_) => self.ended = Some(ReplyEnd::Complete),
        }
        Ok(())
    }

    /// Takes a piece and says whether there was anything in it.
    fn delta(&mut self, delta: Delta, listener: &dyn Listener) -> bool {
        let said = |text: Option<String>| text.filter(|text| !text.is_empty());
        let mut any = false;
        if let Some(text) = said(delta.reasoning_content).or_else(|| said(delta.reasoning)) {
            listener.hear(Part::Thinking(&text));
            self.thinking.push_str(&text);
            any = true;
        }
        let refusal = said(delta.refusal);
        self.refused |= refusal.is_some();
        for text in [said(delta.content), refusal].into_iter().flatten() {
            listener.hear(Part::Text(&text));
            self.text.push_str(&text);
            any = true;
        }
        for piece in delta.tool_calls.unwrap_or_default() {
            self.calls.add(piece, listener);
            any = true;
        }
        any
    }
}

impl Reader for ChatReader {
    fn event(&mut self, name: &str, data: &str, listener: &dyn Listener) -> Result<Progress, Fault> {
        match data.trim() {
            "" => return Ok(Progress::More),
            "[DONE]" if self.ended.is_some() => return Ok(Progress::Complete),
            "[DONE]" => return Err(cut()),
            _ => {}
        }
        let malformed = |error: serde_json::Error| Fault {
            kind: ProviderFailure::Malformed,
            message: format!("a piece of the reply cannot be read: {error}"),
        };
        if name == "error" {
            return Err(complaint(&serde_json::from_str::<Value>(data).unwrap_or_else(|_| data.into())));
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(malformed)?;
        if let Some(error) = chunk.error {
            return Err(complaint(&error));
        }
        if let Some(tokens) = chunk.usage {
            self.usage = Usage {
                input_tokens: tokens.prompt_tokens.unwrap_or_default(),
                output_tokens: tokens.completion_tokens.unwrap_or_default(),
                cached_tokens: tokens.prompt_tokens_details.and_then(|read| read.cached_tokens).unwrap_or_default(),
                ..Usage::default()
            };
        }
        // One reply is asked for; a server that gives more is heard once.
        for choice in chunk.choices.unwrap_or_default().into_iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
            self.choice(choice, listener)?;
        }
        Ok(Progress::More)
    }

    fn may_end(&self) -> bool {
        self.ended.is_some()
    }

    fn finish(self: Box<Self>) -> Result<Reply, Fault> {
        let ended = match self.ended.ok_or_else(cut)? {
            ReplyEnd::Complete if self.refused => ReplyEnd::Refused,
            ended => ended,
        };
        // Where a reply ran out of room or was stopped, nothing says that its calls are whole.
        let calls = if ended == ReplyEnd::Complete { self.calls.finish() } else { Vec::new() };
        let (text, thinking, usage) = (self.text, self.thinking, self.usage);
        Ok(Reply { text, thinking, calls, usage, ended, kept: None })
    }
}

fn cut() -> Fault {
    Fault { kind: ProviderFailure::Cut, message: "the stream ended before the reply did".to_owned() }
}
