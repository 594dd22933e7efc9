//! A client and servers that do as they are told, honest ones and others. Each hostile one is the honest one with one
//! difference.

mod over_http;
mod over_streams;

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream},
    sync::mpsc,
    task::JoinHandle,
};

use super::*;

/// Long enough for anybody who answers at all.
const LONG: Duration = Duration::from_secs(30);
/// How long somebody is waited for who never answers.
const SHORT: Duration = Duration::from_millis(50);

/// What an honest server of the version before the newest answers.
fn honest(asked: &Value) -> Option<Value> {
    let result = match asked["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "honest", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [tool("echo", "Says it again.")] }),
        "tools/call" => {
            let text = asked["params"]["arguments"]["text"].as_str().unwrap_or("nothing");
            json!({ "content": [{ "type": "text", "text": text }] })
        }
        _ => return refusal(asked, -32601, "unknown method"),
    };
    answer(asked, result)
}

fn tool(name: &str, description: &str) -> Value {
    let properties = json!({ "text": { "type": "string" } });
    let annotations = json!({ "readOnlyHint": true });
    json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object", "properties": properties },
        "annotations": annotations,
    })
}

fn answer(asked: &Value, result: Value) -> Option<Value> {
    let id = asked.get("id")?;
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn refusal(asked: &Value, code: i32, text: &str) -> Option<Value> {
    let id = asked.get("id")?;
    Some(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } }))
}

fn arguments(text: &str) -> Map<String, Value> {
    Map::from_iter([("text".to_owned(), text.into())])
}

fn is_call(asked: &Value) -> bool {
    asked["method"] == "tools/call"
}
