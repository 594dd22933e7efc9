//! Streams as the servers document them, one per dialect. Each says the same: a text and two calls.

use palisade_agent::Reply;
use palisade_model::Dialect;
use serde_json::{Value, json};

/// A dialect and a stream in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    pub(crate) dialect: Dialect,
    pub(crate) stream: &'static [u8],
}

/// All dialects.
pub(crate) const RECORDED: &[Recorded] = &[
    Recorded { dialect: Dialect::Anthropic, stream: include_bytes!("../../streams/anthropic.sse") },
    Recorded { dialect: Dialect::Chat, stream: include_bytes!("../../streams/chat.sse") },
    Recorded { dialect: Dialect::Responses, stream: include_bytes!("../../streams/responses.sse") },
];

/// Checks that a reply is what every stream says, with nothing missing and nothing more.
pub(crate) fn check(reply: &Reply) {
    let calls: Vec<(&str, &Value)> = reply.calls.iter().map(|call| (call.tool.as_str(), &call.input)).collect();
    assert_eq!(reply.text, "I read größe.txt 📄.");
    assert_eq!(calls, [("read", &json!({"path": "größe.txt"})), ("ls", &json!({}))]);
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (412, 89));
}
