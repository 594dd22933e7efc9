//! Calls: what comes of them, what is told on the way, and how they are given up.

use serde_json::{Value, json};

use super::stage::Client;

fn text(answer: &Value) -> (&str, bool) {
    let result = &answer["result"];
    (result["content"][0]["text"].as_str().unwrap(), result["isError"].as_bool().unwrap())
}

#[tokio::test]
async fn a_call_gives_what_the_tool_says() {
    let mut client = Client::begun().await;
    assert_eq!(text(&client.call(1, "echo", json!({ "text": "a\nb" })).await), (r#"{"text":"a\nb"}"#, false));
    let answer = client.ask(2, "tools/call", json!({ "name": "echo" })).await;
    assert_eq!(text(&answer), ("{}", false), "no arguments are none");
}

/// INJ-04: what is refused is read by the model, and says what would allow it.
#[tokio::test]
async fn a_refusal_is_a_result_with_the_text_that_a_model_reads() {
    let mut client = Client::begun().await;
    assert_eq!(text(&client.call(1, "refuse", json!({})).await), ("not granted; a grant would allow it", true));
    let answer = client.call(2, "echo", json!({ "text": 7, "more": 1 })).await;
    let (text, is_error) = text(&answer);
    assert!(is_error && text.starts_with("the input of `echo` does not fit its schema: "), "{text}");
}

#[tokio::test]
async fn an_agent_is_a_tool_that_takes_a_task_and_goes_on_with_a_session() {
    let mut client = Client::begun().await;
    let answer = client.call(1, "agent_ferryman", json!({ "task": "carry" })).await;
    let expected = "ferryman did: carry, in a new session\n\n[session s-1; give it as `session` to go on]";
    assert_eq!(text(&answer), (expected, false));
    let answer = client.call(2, "agent_ferryman", json!({ "task": "carry", "session": "s-1" })).await;
    assert!(text(&answer).0.starts_with("ferryman did: carry, in s-1\n"), "{answer}");
    let answer = client.call(3, "agent_ferryman", json!({ "task": "sink" })).await;
    assert_eq!(text(&answer), ("the ferry sank\n\n[session s-1; give it as `session` to go on]", true));
    for input in [json!({}), json!({ "task": "" }), json!({ "task": "carry", "agent": "other" })] {
        assert!(text(&client.call(4, "agent_ferryman", input.clone()).await).1, "{input}");
    }
}

#[tokio::test]
async fn progress_is_told_in_order_and_before_the_answer_to_whoever_wants_it() {
    let mut client = Client::begun().await;
    assert_eq!(text(&client.call(1, "tell", json!({})).await).0, "told", "nobody asked for progress");
    let params = json!({ "name": "tell", "arguments": {}, "_meta": { "progressToken": "p" } });
    client.say(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params })).await;
    for (count, word) in ["one", "two", "three"].iter().enumerate() {
        let told = client.hear().await;
        assert_eq!(told["method"], "notifications/progress");
        assert_eq!(told["params"]["progressToken"], "p");
        assert_eq!(told["params"]["progress"].as_f64(), Some(count as f64 + 1.0));
        assert_eq!(told["params"]["message"], *word);
    }
    assert_eq!(text(&client.hear().await).0, "told");
    let params = json!({ "name": "agent_ferryman", "arguments": { "task": "carry" }, "_meta": { "progressToken": 7 } });
    let told = client.ask_for_progress(3, params).await;
    assert_eq!((&told["params"]["progressToken"], &told["params"]["message"]), (&json!(7), &json!("step 1")));
    assert!(!text(&client.hear().await).1);
}

impl Client {
    async fn ask_for_progress(&mut self, id: u32, params: Value) -> Value {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })).await;
        self.hear().await
    }

    async fn begin(&mut self, id: u32, tool: &str, input: Value) {
        let params = json!({ "name": tool, "arguments": input });
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })).await;
    }

    async fn cancel(&mut self, id: u32) {
        let params = json!({ "requestId": id, "reason": "no longer wanted" });
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_given_up_and_not_answered() {
    let mut client = Client::begun().await;
    client.begin(1, "wait", json!({})).await;
    assert_eq!(client.deed().await, "waiting");
    client.cancel(1).await;
    assert_eq!(client.deed().await, "given up");
    client.begin(2, "agent_ferryman", json!({ "task": "work on" })).await;
    assert_eq!(client.deed().await, "working");
    // Somebody else's call goes on meanwhile.
    assert_eq!(text(&client.call(3, "echo", json!({})).await).0, "{}");
    client.cancel(2).await;
    assert_eq!(client.deed().await, "ended");
    client.cancel(2).await;
    client.cancel(99).await;
    assert_eq!(text(&client.call(4, "echo", json!({})).await).0, "{}");
    client.leave().await;
    assert_eq!(client.hear_the_rest().await, Vec::<Value>::new(), "no answer to what was cancelled");
}

#[tokio::test]
async fn calls_are_made_side_by_side_but_not_without_end() {
    let mut client = Client::begun().await;
    for id in 0..64 {
        client.begin(id, "wait", json!({})).await;
        assert_eq!(client.deed().await, "waiting");
    }
    assert_eq!(text(&client.call(64, "echo", json!({})).await), ("64 calls are under way; wait for one of them", true));
    client.release.notify_waiters();
    let mut answered: Vec<u64> = Vec::new();
    for _ in 0..64 {
        answered.push(client.hear().await["id"].as_u64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (0..64).collect::<Vec<u64>>());
    assert_eq!(text(&client.call(65, "echo", json!({})).await).0, "{}");
}
