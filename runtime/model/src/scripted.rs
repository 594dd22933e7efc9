//! A provider that replays replies from a JSON text, for tests and demonstrations.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use palisade_agent::{Listener, Prompt, Provider, ProviderError, ProviderFailure, Reply, ToolCall};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// Replays replies, one per step.
#[derive(Debug)]
pub struct Scripted {
    replies: Mutex<VecDeque<Reply>>,
}

/// A script that cannot be read.
#[derive(Debug, Error)]
#[error(r#"the script is not a list of {{"text": "…", "calls": [{{"tool": "…", "input": {{…}}}}]}}: {0}"#)]
pub struct ScriptError(#[from] serde_json::Error);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedReply {
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<ScriptedCall>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    tool: String,
    #[serde(default = "no_input")]
    input: Value,
}

fn no_input() -> Value {
    Value::Object(serde_json::Map::new())
}

impl Scripted {
    /// Reads a script: a list of `{"text": …, "calls": [{"tool": …, "input": …}]}`, all fields optional
    /// but `tool`.
    pub fn parse(script: &str) -> Result<Self, ScriptError> {
        let replies: Vec<ScriptedReply> = serde_json::from_str(script)?;
        Ok(Self::new(replies.into_iter().enumerate().map(|(step, reply)| reply.numbered(step + 1))))
    }

    /// Replays these replies.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: Mutex::new(replies.into_iter().collect()) }
    }
}

impl ScriptedReply {
    fn numbered(self, step: usize) -> Reply {
        let calls = self.calls.into_iter().enumerate().map(|(at, call)| ToolCall {
            id: format!("{step}.{}", at + 1),
            tool: call.tool,
            input: call.input,
        });
        Reply { text: self.text, calls: calls.collect(), ..Reply::default() }
    }
}

#[async_trait]
impl Provider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn reply(&self, _: Prompt<'_>, _: &dyn Listener) -> Result<Reply, ProviderError> {
        let next = self.replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        next.ok_or_else(|| ProviderError {
            provider: self.name().to_owned(),
            kind: ProviderFailure::Exhausted,
            message: "the script has no reply left; end it with one that has no calls".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use palisade_agent::{Part, ReplySettings, Transcript};
    use serde_json::json;

    use super::*;

    async fn reply(scripted: &Scripted) -> Result<Reply, ProviderError> {
        let (transcript, settings) = (Transcript::new(), ReplySettings::default());
        scripted.reply(Prompt::new("", &[], &transcript, &settings), &|_: Part<'_>| {}).await
    }

    #[tokio::test]
    async fn replies_come_in_order_and_then_no_more() {
        let script = r#"[{"calls": [{"tool": "ls"}, {"tool": "read", "input": {"path": "a"}}]}, {"text": "done"}]"#;
        let scripted = Scripted::parse(script).unwrap();
        let call = |id: &str, tool: &str, input| ToolCall { id: id.into(), tool: tool.into(), input };
        let calls = vec![call("1.1", "ls", json!({})), call("1.2", "read", json!({"path": "a"}))];
        assert_eq!(reply(&scripted).await, Ok(Reply { calls, ..Reply::default() }));
        assert_eq!(reply(&scripted).await, Ok(Reply::answer("done")));
        let error = reply(&scripted).await.unwrap_err().to_string();
        assert_eq!(error, "scripted: the script has no reply left; end it with one that has no calls");
    }

    #[test]
    fn a_misspelt_script_is_an_error() {
        for script in ["", "{}", r#"[{"cals": []}]"#, r#"[{"calls": [{"input": {}}]}]"#] {
            assert!(Scripted::parse(script).is_err(), "{script}");
        }
    }
}
