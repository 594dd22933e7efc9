//! One message that comes by itself, as over HTTP, where nothing is remembered between two of them.
//!
//! The newest version of the protocol is made for that. For the versions before it a session is begun for each message, in
//! here, with what the client said that it speaks.

use palisade_agent::{Canceller, cancellation};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    sync::mpsc,
};

use crate::{Offer, serve};

/// The versions that are spoken one message at a time.
pub const VERSIONS: [&str; 4] = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The newest of them, and the first without a beginning.
pub const NEWEST: &str = "2026-07-28";
/// What a client speaks that does not say it.
const UNSAID: &str = "2025-03-26";
/// The answer to what nobody outside has asked.
const BEGINNING: &str = "palisade-beginning";
/// How many messages may wait to be passed on.
const QUEUE: usize = 64;
/// What a pipe holds.
const PIPE: usize = 64 << 10;

/// A request under way. If this is dropped before there is an answer, what was begun for it ends.
pub struct Exchange {
    heard: mpsc::Receiver<String>,
    _ends: Ends,
}

struct Ends(Canceller);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What a message is, as far as whoever passes it on needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// What it asks for; nothing in an answer.
    pub method: Option<String>,
    /// Whether somebody waits for an answer.
    pub is_request: bool,
    /// The version that it says it is of.
    pub version: Option<String>,
    /// The tool that it is about.
    pub name: Option<String>,
}

impl Outline {
    /// Looks at a message.
    pub fn of(message: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let params = &message["params"];
        Self {
            method: text(&message["method"]),
            is_request: message["method"].is_string() && !message["id"].is_null(),
            version: text(&params["_meta"]["io.modelcontextprotocol/protocolVersion"]),
            name: text(&params["name"]),
        }
    }
}

impl Exchange {
    /// Answers a request with what is offered. `said` is the version that its client said it speaks.
    pub fn begin(offer: Offer, message: &Value, said: Option<&str>) -> Self {
        let (ends, told_to_end) = cancellation();
        let (sender, heard) = mpsc::channel(QUEUE);
        let (own, theirs) = tokio::io::duplex(PIPE);
        let (input, output) = tokio::io::split(theirs);
        let mut lines: Vec<String> = Vec::new();
        let outline = Outline::of(message);
        let begins = outline.method.as_deref() == Some("initialize");
        if outline.version.is_none() && !begins {
            // One that names the newest version and does not say so in the message is held to the one before it.
            let said = said.filter(|said| *said != NEWEST).unwrap_or(UNSAID);
            let client = json!({ "name": "http", "version": "0" });
            let params = json!({ "protocolVersion": said, "capabilities": {}, "clientInfo": client });
            lines.push(
                json!({ "jsonrpc": "2.0", "id": BEGINNING, "method": "initialize", "params": params }).to_string(),
            );
            lines.push(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        }
        lines.push(message.to_string());
        let id = message["id"].clone();
        tokio::spawn(async move {
            let serving = serve(offer, input, output, told_to_end.clone());
            let (read, mut write) = tokio::io::split(own);
            let speaking = async move {
                for line in lines {
                    if write.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                        return;
                    }
                }
                let mut said = BufReader::new(read).lines();
                while let Ok(Some(line)) = said.next_line().await {
                    let answered: Value = serde_json::from_str(&line).unwrap_or_default();
                    let is_answer = answered.get("method").is_none();
                    if is_answer && answered["id"] == BEGINNING {
                        continue;
                    }
                    let is_last = is_answer && (answered["id"] == id || answered["id"].is_null());
                    if sender.send(line).await.is_err() || is_last {
                        return;
                    }
                }
            };
            tokio::select! {
                () = speaking => {}
                _ended = serving => {}
                () = told_to_end.cancelled() => {}
            }
        });
        Self { heard, _ends: Ends(ends) }
    }

    /// The next message for the client. The last one is the answer.
    pub async fn next(&mut self) -> Option<String> {
        self.heard.recv().await
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use async_trait::async_trait;
    use palisade_agent::{Progress, Tool, ToolResult, ToolSpec, Toolbox};

    use super::*;

    struct Echo(ToolSpec);

    #[async_trait]
    impl Tool for Echo {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        async fn call(&self, input: &str, progress: &Progress) -> ToolResult {
            progress.report("half");
            ToolResult::done(input)
        }
    }

    fn offer() -> Offer {
        let spec = ToolSpec {
            name: "echo".to_owned(),
            description: "Says it again.".to_owned(),
            input_schema: json!({ "type": "object" }),
            capabilities: Vec::new(),
            read_only: true,
            idempotent: true,
        };
        Offer {
            tools: Toolbox::new(vec![Arc::new(Echo(spec))]).unwrap(),
            agents: Toolbox::new(Vec::new()).unwrap(),
            hints: BTreeMap::new(),
            instructions: String::new(),
        }
    }

    async fn all(message: Value, said: Option<&str>) -> Vec<Value> {
        let mut exchange = Exchange::begin(offer(), &message, said);
        let mut heard = Vec::new();
        while let Some(line) = exchange.next().await {
            heard.push(serde_json::from_str(&line).unwrap());
        }
        heard
    }

    fn meta(more: Value) -> Value {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "0" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        meta
    }

    #[tokio::test]
    async fn each_message_of_any_version_is_answered_alone() {
        let own = json!({ "name": "t", "version": "0" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": own });
        let begun = all(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }), None).await;
        assert_eq!(begun[0]["result"]["protocolVersion"], "2025-11-25");
        for said in [None, Some("2025-06-18"), Some("2025-11-25"), Some("2026-07-28")] {
            let listed = all(json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/list" }), said).await;
            assert_eq!((listed.len(), &listed[0]["id"]), (1, &json!("a")), "{said:?}: {listed:?}");
            assert_eq!(listed[0]["result"]["tools"][0]["name"], "echo");
        }
        let params = json!({ "name": "echo", "arguments": { "a": 1 }, "_meta": meta(json!({})) });
        let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        let called = all(call, Some("2026-07-28")).await;
        assert_eq!((called.len(), &called[0]["result"]["content"][0]["text"]), (1, &json!("{\"a\":1}")));
        let discover = json!({
            "jsonrpc": "2.0", "id": 8, "method": "server/discover", "params": { "_meta": meta(json!({})) },
        });
        let found = all(discover, Some("2026-07-28")).await;
        let versions = found[0]["result"]["supportedVersions"].as_array().unwrap().clone();
        assert!(versions.contains(&json!("2026-07-28")), "{found:?}");
    }

    #[tokio::test]
    async fn progress_comes_before_the_answer_and_what_is_wrong_is_answered() {
        let params = json!({ "name": "echo", "_meta": meta(json!({ "progressToken": "p" })) });
        let heard = all(json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }), None).await;
        assert_eq!(heard.len(), 2, "{heard:?}");
        assert_eq!(heard[0]["params"]["message"], "half");
        assert_eq!(heard[1]["id"], 7);
        let unknown = all(json!({ "jsonrpc": "2.0", "id": 7, "method": "pigeons/feed" }), None).await;
        assert_eq!(unknown[0]["error"]["code"], -32601, "{unknown:?}");
        let wrong = all(json!({ "jsonrpc": "1.0", "id": 7, "method": "tools/list" }), None).await;
        assert_eq!(wrong[0]["error"]["code"], -32600, "{wrong:?}");
    }

    /// Whoever leaves is not worked for.
    #[tokio::test]
    async fn an_exchange_that_is_dropped_ends_what_it_began() {
        struct Waits(ToolSpec, mpsc::UnboundedSender<()>);
        #[async_trait]
        impl Tool for Waits {
            fn spec(&self) -> &ToolSpec {
                &self.0
            }
            async fn call(&self, _: &str, _: &Progress) -> ToolResult {
                struct Ended(mpsc::UnboundedSender<()>);
                impl Drop for Ended {
                    fn drop(&mut self) {
                        let _nobody_listens = self.0.send(());
                    }
                }
                let _ended = Ended(self.1.clone());
                let _nobody_listens = self.1.send(());
                std::future::pending().await
            }
        }
        let (sender, mut told) = mpsc::unbounded_channel();
        let mut offer = offer();
        let spec = offer.tools.specs()[0].clone();
        offer.agents =
            Toolbox::new(vec![Arc::new(Waits(ToolSpec { name: "agent_a".to_owned(), ..spec }, sender))]).unwrap();
        let params = json!({ "name": "agent_a", "_meta": meta(json!({})) });
        let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        let exchange = Exchange::begin(offer, &call, None);
        told.recv().await.unwrap();
        drop(exchange);
        told.recv().await.unwrap();
    }
}
