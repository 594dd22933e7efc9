//! What only Anthropic's dialect does, over HTTP.

use palisade_agent::{Kept, Usage};
use palisade_model::{Dialect, Price};
use serde_json::json;

use super::recorded::RECORDED;
use super::server::{Answer, Server};
use super::world::{KEY, PATIENCE, ask, connection};

#[tokio::test]
async fn a_request_is_what_the_server_documents_and_the_reply_is_whole() {
    let recorded = RECORDED.iter().find(|recorded| recorded.dialect == Dialect::Anthropic).unwrap();
    let server = Server::start([Answer::stream(recorded.stream)]).await;
    let mut connection = connection(Dialect::Anthropic, &server.url, PATIENCE);
    connection.headers.insert("X-Project".into(), "blue".into());
    connection.price = Some(Price { input: 3.0, output: 15.0, cached: 0.3, cache_written: 3.75 });
    let reply = ask(connection).await.reply.unwrap();

    let request = &server.requests()[0];
    let head: Vec<&str> = request.head.lines().collect();
    assert_eq!(head[0], "POST /v1/messages HTTP/1.1");
    let key = format!("x-api-key: {KEY}");
    for line in [key.as_str(), "anthropic-version: 2023-06-01", "content-type: application/json", "x-project: blue"] {
        assert!(head.contains(&line), "{line} is not in {head:#?}");
    }
    assert!(!request.head.contains("referer"), "{}", request.head);
    assert_eq!(request.body["model"], "test-model");
    assert_eq!(request.body["stream"], true);
    assert_eq!(request.body["messages"][0]["content"][0]["text"], "What is in the file?");

    assert_eq!(reply.thinking, "The user wants the file — I read it.");
    let layout = json!([
        { "type": "thinking", "thinking": reply.thinking, "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h" },
        { "type": "text", "bytes": reply.text.len() },
        { "type": "tool_use" },
        { "type": "tool_use" },
    ]);
    assert_eq!(reply.kept, Some(Kept { by: "anthropic/mock/test-model".into(), value: layout }));
    let expected = Usage {
        input_tokens: 412,
        output_tokens: 89,
        cached_tokens: 300,
        cache_written_tokens: 100,
        cost_micros: 36 + 1335 + 90 + 375,
    };
    assert_eq!(reply.usage, expected);
}

/// PROV-10
#[tokio::test]
async fn a_key_that_comes_in_pieces_is_found_in_the_whole() {
    let recorded = RECORDED.iter().find(|recorded| recorded.dialect == Dialect::Anthropic).unwrap();
    let (head, tail) = KEY.split_at(12);
    let stream = str::from_utf8(recorded.stream).unwrap();
    let stream = stream.replace("I read ", &format!("I read {head}")).replace("größe.txt 📄", &format!("{tail} 📄"));
    let stream = stream.replace(r#"th\": \"grö"#, &format!(r#"th\": \"{head}"#)).replace("ße.txt", tail);
    let server = Server::start([Answer::stream(stream)]).await;
    let reply = ask(connection(Dialect::Anthropic, &server.url, PATIENCE)).await.reply.unwrap();
    assert_eq!((reply.text.as_str(), &reply.calls[0].input), ("I read [key] 📄.", &json!({"path": "[key]"})));
}
