//! Whatever a client writes, it gets the answer of the protocol, and the next request works.

use serde_json::{Value, json};

use super::stage::Client;
use crate::line::MESSAGE_LIMIT;

impl Client {
    /// The code of the answer to a line.
    async fn code(&mut self, line: &[u8]) -> i64 {
        self.write(line).await;
        self.write(b"\n").await;
        let answer = self.hear().await;
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{answer}"))
    }

    async fn still_works(&mut self) {
        let answer = self.call("check", "echo", json!({})).await;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
}

#[tokio::test]
async fn what_is_no_request_is_answered_with_its_error() {
    let mut client = Client::begun().await;
    let request = |method: Value, params: Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
    };
    for (line, code) in [
        ("{\"jsonrpc\"".to_owned(), -32700),
        ("\u{0}\u{1}".to_owned(), -32700),
        ("[1, 2]".to_owned(), -32600),
        (request(json!(5), json!({})), -32600),
        (request(json!("tools/unknown"), json!({})), -32601),
        (request(json!("tasks/get"), json!({ "taskId": "1" })), -32601),
        (request(json!("\u{1b}[2J"), json!({})), -32601),
        (request(json!("tools/call"), json!({})), -32602),
        (request(json!("tools/call"), json!({ "name": 5 })), -32602),
        (request(json!("tools/call"), json!({ "name": "echo", "arguments": [] })), -32602),
        (request(json!("tools/call"), json!([])), -32600),
        (request(json!("tools/call"), json!({ "name": "nothing" })), -32602),
        (request(json!("prompts/get"), json!({ "name": "x" })), -32601),
        (request(json!("logging/setLevel"), json!({ "level": "debug" })), -32601),
    ] {
        assert_eq!(client.code(line.as_bytes()).await, code, "{line}");
        client.still_works().await;
    }
    assert_eq!(client.code(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\xff\"}").await, -32700);
    client.still_works().await;
}

#[tokio::test]
async fn a_message_without_end_is_refused_and_read_past() {
    let mut client = Client::begun().await;
    let piece = vec![b'x'; 1 << 16];
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"").await;
    for _ in 0..(3 * MESSAGE_LIMIT / piece.len()) {
        client.write(&piece).await;
    }
    assert_eq!(client.code(b"").await, -32600);
    client.still_works().await;
    let text = "x".repeat(MESSAGE_LIMIT - 1024);
    let answer = client.call(2, "echo", json!({ "text": text })).await;
    assert_eq!(answer["result"]["isError"], false, "what just fits is read");
}

#[tokio::test]
async fn what_nobody_waits_for_is_not_answered() {
    let mut client = Client::begun().await;
    for line in [
        "",
        "   ",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"no\"}}",
    ] {
        client.write(format!("{line}\r\n").as_bytes()).await;
        client.still_works().await;
    }
}

#[tokio::test]
async fn what_is_said_before_a_beginning_does_not_prevent_it() {
    let mut client = Client::new();
    for line in [
        "nonsense",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
    ] {
        client.write(format!("{line}\n").as_bytes()).await;
    }
    assert_eq!(client.hear().await["error"]["code"], -32700);
    assert_eq!(client.ask(1, "ping", json!({})).await["result"], json!({}));
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
    assert_eq!(client.ask(2, "initialize", params).await["result"]["protocolVersion"], "2025-11-25");
    client.still_works().await;
}
