//! Replies that are meant to do harm: each is a typed failure, or a reply with which the conversation goes on.

use palisade_agent::{
    CALLS_PER_REPLY, ENTRY_LIMIT, Part, Prompt, ProviderError, ProviderFailure, Reply, ReplySettings, ToolResult,
    Transcript,
};
use palisade_model::{Dialect, Patience, connect};
use serde_json::{Value, json};

use super::recorded::RECORDED;
use super::server::{Answer, Server};
use super::world::{PATIENCE, connection};

/// The usual limit of a reply.
const HOSTILE: Patience = Patience { bytes: 16 << 20, ..PATIENCE };

/// Stands where something else is put into a stream.
const MARK: &str = "@mark@";

/// A call: its id, the tool and the input as it is written.
type Call = (String, String, String);

fn call(id: &str, tool: &str, written: &str) -> Call {
    (id.to_owned(), tool.to_owned(), written.to_owned())
}

/// A whole reply, as a server of this dialect streams it.
fn stream(dialect: Dialect, text: &str, calls: &[Call]) -> String {
    let event = |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or("message"));
    let numbered = calls.iter().enumerate();
    let events: Vec<Value> = match dialect {
        Dialect::Anthropic => {
            let block = |index: usize, block: Value, delta: Value| {
                [
                    json!({"type": "content_block_start", "index": index, "content_block": block}),
                    json!({"type": "content_block_delta", "index": index, "delta": delta}),
                    json!({"type": "content_block_stop", "index": index}),
                ]
            };
            let said = block(0, json!({"type": "text"}), json!({"type": "text_delta", "text": text}));
            let called = numbered.flat_map(|(at, (id, tool, written))| {
                let used = json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
                block(at + 1, used, json!({"type": "input_json_delta", "partial_json": written}))
            });
            let end = [
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
                json!({"type": "message_stop"}),
            ];
            let start = json!({"type": "message_start", "message": {}});
            [start].into_iter().chain(said).chain(called).chain(end).collect()
        }
        Dialect::Chat => {
            let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
            let called = numbered.map(|(at, (id, tool, written))| {
                let function = json!({"name": tool, "arguments": written});
                delta(json!({"tool_calls": [{"index": at, "id": id, "function": function}]}))
            });
            let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
            [delta(json!({"content": text}))].into_iter().chain(called).chain([end]).collect()
        }
        Dialect::Responses => {
            let done = |item: Value| json!({"type": "response.output_item.done", "item": item});
            let called = calls.iter().map(|(id, tool, written)| {
                done(json!({"type": "function_call", "call_id": id, "name": tool, "arguments": written,
                    "status": "completed"}))
            });
            let said = done(json!({"type": "message", "content": [{"type": "output_text", "text": text}]}));
            let end = json!({"type": "response.completed", "response": {}});
            [said].into_iter().chain(called).chain([end]).collect()
        }
    };
    events.into_iter().map(event).collect()
}

/// Asks in every dialect. Where there is a reply, its calls get results and it is asked again: the second
/// request must be one that an honest server would take.
async fn ask(hostile: impl Fn(Dialect) -> Vec<u8>) -> Vec<Result<Reply, ProviderError>> {
    let mut all = Vec::new();
    for recorded in RECORDED {
        let server = Server::start([Answer::stream(hostile(recorded.dialect)), Answer::stream(recorded.stream)]).await;
        let provider = connect(connection(recorded.dialect, &server.url, HOSTILE)).unwrap();
        let (mut transcript, settings) = (Transcript::new(), ReplySettings::default());
        transcript.record_user("What is in the file?");
        let deaf = |_: Part<'_>| {};
        let reply = provider.reply(Prompt::new("", &[], &transcript, &settings), &deaf).await;
        if let Ok(reply) = &reply {
            for call in transcript.record_reply(reply) {
                transcript.record_result(&call.id, ToolResult::done("no"));
            }
            provider.reply(Prompt::new("", &[], &transcript, &settings), &deaf).await.unwrap();
            check_request(recorded.dialect, &server.requests()[1].body);
        }
        all.push(reply);
    }
    all
}

/// Every call has one result, and names and inputs are such as servers accept.
fn check_request(dialect: Dialect, body: &Value) {
    assert!(body.to_string().len() < 2 * ENTRY_LIMIT, "{}", body.to_string().len());
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (calls, results): (Vec<Value>, Vec<Value>) = match dialect {
        Dialect::Anthropic => {
            let blocks: Vec<Value> =
                list(&body["messages"]).iter().flat_map(|message| list(&message["content"])).collect();
            assert!(blocks.iter().filter(|block| block["type"] == "tool_use").all(|block| block["input"].is_object()));
            let of = |kind: &str, id: &str| {
                blocks.iter().filter(|block| block["type"] == kind).map(|block| block[id].clone()).collect()
            };
            (of("tool_use", "id"), of("tool_result", "tool_use_id"))
        }
        Dialect::Chat => {
            let messages = list(&body["messages"]);
            let calls = messages.iter().flat_map(|message| list(&message["tool_calls"]));
            let results = messages.iter().filter(|message| message["role"] == "tool");
            (calls.map(|call| call["id"].clone()).collect(), results.map(|told| told["tool_call_id"].clone()).collect())
        }
        Dialect::Responses => {
            let of = |kind: &str| {
                let items = list(&body["input"]).into_iter().filter(|item| item["type"] == kind);
                items.map(|item| item["call_id"].clone()).collect()
            };
            (of("function_call"), of("function_call_output"))
        }
    };
    assert_eq!(calls, results);
    assert!(calls.iter().all(|id| (1..=64).contains(&id.as_str().unwrap().len())), "{calls:?}");
}

/// PROV-05
#[tokio::test]
async fn what_is_no_text_is_malformed_wherever_it_is() {
    let places = [
        ("so", call("a", "read", &format!(r#"{{"path": "{MARK}"}}"#))),
        ("so", call("a", MARK, "{}")),
        ("so", call(MARK, "read", "{}")),
        (MARK, call("a", "read", "{}")),
    ];
    for (text, call) in places {
        // No UTF-8 at all, half a character, a surrogate, more than there is.
        for unfit in [&b"\xff"[..], b"\xf0\x9f", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"] {
            let hostile = |dialect| {
                let stream = stream(dialect, text, std::slice::from_ref(&call));
                let (before, after) = stream.split_once(MARK).unwrap();
                [before.as_bytes(), unfit, after.as_bytes()].concat()
            };
            for reply in ask(hostile).await {
                let error = reply.unwrap_err();
                assert_eq!(error.kind, ProviderFailure::Malformed, "{error}");
                assert!(error.message.contains("no UTF-8"), "{error}");
            }
        }
    }
}

/// PROV-04, PROV-05
#[tokio::test]
async fn a_call_id_of_a_megabyte_is_one_call() {
    let long = "x".repeat(1 << 20);
    for reply in ask(|dialect| stream(dialect, "", &[call(&long, "read", "{}")]).into_bytes()).await {
        assert_eq!(reply.unwrap().calls.len(), 1);
    }
    let tool = |dialect| stream(dialect, "", &[call("a", &long, "{}"), call("a", "read", "{}")]).into_bytes();
    for reply in ask(tool).await {
        assert_eq!(reply.unwrap().calls.len(), 2);
    }
}

/// PROV-05, PROV-09
#[tokio::test]
async fn ten_thousand_calls_are_a_reply_of_which_few_are_made() {
    for id in ["a", ""] {
        let calls = vec![call(id, "read", r#"{"path": "a"}"#); 10_000];
        for reply in ask(|dialect| stream(dialect, "", &calls).into_bytes()).await {
            let reply = reply.unwrap();
            assert!(reply.calls.iter().all(|call| call.input == json!({"path": "a"})), "no input of two calls is one");
            let recorded = Transcript::new().record_reply(&reply);
            assert_eq!((reply.calls.len(), recorded.len()), (10_000, CALLS_PER_REPLY));
        }
    }
}

/// PROV-04
#[tokio::test]
async fn an_input_that_is_ten_thousand_deep_is_refused() {
    let deep = format!("{}{}", r#"{"a":"#.repeat(10_000) + "1", "}".repeat(10_000));
    for reply in ask(|dialect| stream(dialect, "", &[call("a", "read", &deep)]).into_bytes()).await {
        // No tool accepts a text.
        assert_eq!(reply.unwrap().calls[0].input, json!(deep));
    }
    // As a part of an event, not of a text in it.
    let inside = |dialect| {
        let stream = stream(dialect, "", &[call("a", "read", MARK)]);
        stream.replace(&format!("\"{MARK}\""), &deep).into_bytes()
    };
    for reply in ask(inside).await {
        let error = reply.unwrap_err();
        assert_eq!(error.kind, ProviderFailure::Malformed, "{error}");
    }
}
