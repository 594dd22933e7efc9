//! What only OpenAI's dialects do, over HTTP.

use palisade_agent::{Kept, ProviderFailure};
use palisade_model::Dialect;
use serde_json::json;

use super::recorded::{RECORDED, check};
use super::server::{Answer, Server};
use super::world::{KEY, PATIENCE, ask, connection};

fn stream(dialect: Dialect) -> &'static str {
    let recorded = RECORDED.iter().find(|recorded| recorded.dialect == dialect).unwrap();
    str::from_utf8(recorded.stream).unwrap()
}

#[tokio::test]
async fn requests_go_below_the_base_url_with_the_key_in_their_head() {
    for (dialect, path) in [(Dialect::Chat, "/v1/chat/completions"), (Dialect::Responses, "/v1/responses")] {
        let server = Server::start([Answer::stream(stream(dialect))]).await;
        let reply = ask(connection(dialect, &server.url, PATIENCE)).await.reply.unwrap();
        assert_eq!(reply.usage.cached_tokens, 300);
        let request = &server.requests()[0];
        let head: Vec<&str> = request.head.lines().collect();
        assert_eq!(head[0], format!("POST {path} HTTP/1.1"));
        let key = format!("authorization: Bearer {KEY}");
        assert!(head.contains(&key.as_str()), "{head:#?}");
        assert_eq!((&request.body["model"], &request.body["stream"]), (&json!("test-model"), &json!(true)));
    }
}

#[tokio::test]
async fn encrypted_thoughts_are_kept_as_they_came() {
    let server = Server::start([Answer::stream(stream(Dialect::Responses))]).await;
    let reply = ask(connection(Dialect::Responses, &server.url, PATIENCE)).await.reply.unwrap();
    assert_eq!(reply.thinking, "The user wants the file — I read it.");
    let thought = json!({
        "id": "rs_01",
        "type": "reasoning",
        "encrypted_content": "gAAAAABoZm9yIHRoZSBzZXJ2ZXI=",
        "summary": [{"type": "summary_text", "text": reply.thinking}],
    });
    let value = json!([thought, "message", "function_call", "function_call"]);
    assert_eq!(reply.kept, Some(Kept { by: "responses/mock/test-model".into(), value }));
}

/// PROV-03
#[tokio::test]
async fn a_chat_server_may_leave_out_the_last_word_but_not_the_end_of_the_reply() {
    let whole = stream(Dialect::Chat);
    let without_done = whole.strip_suffix("data: [DONE]\n\n").unwrap();
    let usage = without_done.trim_end().rfind("\n\n").unwrap() + 2;
    let finish = without_done[..usage].trim_end().rfind("\n\n").unwrap() + 2;
    assert!(without_done[finish..usage].contains(r#""finish_reason":"tool_calls""#));
    // Ended properly each time, so nothing but the dialect can know.
    let ends = [without_done.len(), usage, finish, finish / 2];
    let server = Server::start(ends.map(|end| Answer::stream(whole[..end].to_owned()))).await;
    let connection = connection(Dialect::Chat, &server.url, PATIENCE);
    check(&ask(connection.clone()).await.reply.unwrap());
    assert_eq!(ask(connection.clone()).await.reply.unwrap().calls.len(), 2);
    assert_eq!(ask(connection.clone()).await.failure().0, ProviderFailure::Cut);
    assert_eq!(ask(connection).await.failure().0, ProviderFailure::Cut);
}

/// PROV-02, PROV-10
#[tokio::test]
async fn an_error_inside_of_a_stream_is_typed_and_shows_no_key() {
    let begun = stream(Dialect::Chat).split_inclusive("\n\n").next().unwrap();
    let error = format!(r#"{{"error":{{"code":429,"message":"slow down, {KEY}"}}}}"#);
    let server = Server::start([Answer::stream(format!("{begun}data: {error}\n\n"))]).await;
    let asked = ask(connection(Dialect::Chat, &server.url, PATIENCE)).await;
    let (kind, message) = asked.failure();
    assert_eq!(kind, ProviderFailure::RateLimited);
    assert!(message.contains("slow down") && !message.contains(KEY), "{message}");
}
