use std::collections::BTreeMap;
use std::sync::Mutex;

use palisade_agent::{
    FailureKind, Kept, Part, ProviderFailure, Reply, ReplyEnd, ReplySettings, ToolResult, ToolSpec, Transcript, Usage,
};

use super::*;
use crate::dialect::{Fault, Progress};
use crate::{Dialect, Patience, ToolMode};

fn connection() -> Connection {
    Connection {
        provider: "anthropic".into(),
        model: "claude".into(),
        dialect: Dialect::Anthropic,
        base_url: "https://api.anthropic.com".into(),
        proxy: None,
        key: None,
        headers: BTreeMap::new(),
        tool_mode: ToolMode::Native,
        context_window: None,
        max_tokens: None,
        price: None,
        patience: Patience::default(),
    }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("Does {name}."),
        input_schema: json!({"type": "object"}),
        capabilities: Vec::new(),
        read_only: true,
        idempotent: true,
    }
}

fn request(tools: &[ToolSpec], transcript: &Transcript, settings: &ReplySettings) -> Value {
    Anthropic.request(&Prompt::new("Be brief.", tools, transcript, settings), &connection())
}

fn asked(text: &str) -> Transcript {
    let mut transcript = Transcript::new();
    transcript.record_user(text);
    transcript
}

fn call(id: &str, tool: &str, input: Value) -> ToolCall {
    ToolCall { id: id.into(), tool: tool.into(), input }
}

/// Reads events and gives the reply, and what was heard of it.
fn read(tools: &[ToolSpec], events: &[Value]) -> (Result<Option<Reply>, Fault>, Vec<String>) {
    let (transcript, settings) = (Transcript::new(), ReplySettings::default());
    let mut reader = Anthropic.reader(&Prompt::new("", tools, &transcript, &settings), &connection());
    let heard = Mutex::new(Vec::new());
    let listener = |part: Part<'_>| heard.lock().unwrap().push(format!("{part:?}"));
    let mut reply = Ok(None);
    for event in events {
        match reader.event(event["type"].as_str().unwrap(), &event.to_string(), &listener) {
            Ok(Progress::More) => {}
            Ok(Progress::Complete) => {
                reply = reader.finish().map(Some);
                break;
            }
            Err(fault) => {
                reply = Err(fault);
                break;
            }
        }
    }
    (reply, heard.into_inner().unwrap())
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}})
}

fn begin(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn end(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn stop(reason: &str) -> [Value; 2] {
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}});
    [delta, json!({"type": "message_stop"})]
}

/// A reply of one call with this input as it is written.
fn writing(input: &str, reason: &str) -> Vec<Value> {
    let mut events = vec![start(), begin(0, json!({"type": "tool_use", "id": "a", "name": "read", "input": {}}))];
    events.extend(input.chars().map(|letter| delta(0, json!({"type": "input_json_delta", "partial_json": letter}))));
    events.push(end(0));
    events.extend(stop(reason));
    events
}

#[test]
fn a_request_marks_what_is_worth_caching() {
    let mut transcript = asked("look");
    transcript.record_reply(&Reply { calls: vec![call("a", "read", json!({"path": "x"}))], ..Reply::default() });
    transcript.record_result("a", ToolResult::failed(FailureKind::Failed, "no"));
    transcript.record_notice("hurry");
    let settings = ReplySettings { temperature: Some(0.5), max_tokens: Some(100), ..ReplySettings::default() };
    let cached = json!({"type": "ephemeral"});
    let expected = json!({
        "model": "claude",
        "max_tokens": 100,
        "stream": true,
        "temperature": 0.5,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": cached}],
        "tools": [
            {"name": "ls", "description": "Does ls.", "input_schema": {"type": "object"}},
            {"name": "read", "description": "Does read.", "input_schema": {"type": "object"}, "cache_control": cached},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "look"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": true},
                {"type": "text", "text": "hurry", "cache_control": cached},
            ]},
        ],
    });
    assert_eq!(request(&[tool("ls"), tool("read")], &transcript, &settings), expected);
}

#[test]
fn thinking_fits_into_the_reply() {
    let check = |effort, max_tokens, expected: (u64, Option<u64>)| {
        let settings = ReplySettings {
            temperature: Some(1.0),
            reasoning_effort: Some(effort),
            max_tokens,
            ..ReplySettings::default()
        };
        let request = request(&[], &asked("hi"), &settings);
        let thinking = request["thinking"]["budget_tokens"].as_u64();
        assert_eq!((request["max_tokens"].as_u64().unwrap(), thinking), expected);
        assert_eq!(request.get("temperature").is_some(), thinking.is_none());
    };
    check(ReasoningEffort::Low, None, (10_240, Some(2048)));
    check(ReasoningEffort::Medium, None, (16_384, Some(8192)));
    check(ReasoningEffort::High, None, (32_768, Some(24_576)));
    check(ReasoningEffort::High, Some(10_000), (10_000, Some(5000)));
    check(ReasoningEffort::High, Some(1025), (1025, Some(1024)));
    check(ReasoningEffort::Low, Some(1024), (1024, None));
    check(ReasoningEffort::Inherit, None, (8192, None));
}

#[test]
fn thinking_comes_back_as_it_was_and_in_its_place() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s1"});
    let redacted = json!({"type": "redacted_thinking", "data": "xyz"});
    let mut events = vec![start(), begin(0, json!({"type": "thinking", "thinking": "", "signature": "", "more": [0]}))];
    events.push(delta(0, json!({"type": "thinking_delta", "thinking": "hm"})));
    events.push(delta(0, json!({"type": "signature_delta", "signature": "s1"})));
    events.extend([end(0), begin(1, redacted.clone()), end(1), begin(2, json!({"type": "text", "text": "é"})), end(2)]);
    events.extend([begin(3, thinking.clone()), end(3)]);
    events.extend([begin(4, json!({"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}})), end(4)]);
    events.extend(stop("tool_use"));
    let (reply, heard) = read(&[], &events);
    let reply = reply.unwrap().unwrap();
    assert_eq!((reply.text.as_str(), reply.thinking.as_str()), ("é", "hmhm"));
    assert_eq!(heard, [r#"Thinking("hm")"#, r#"Text("é")"#, r#"Call { tool: "read" }"#]);

    let think = ReplySettings { reasoning_effort: Some(ReasoningEffort::Low), ..ReplySettings::default() };
    let mut transcript = asked("look");
    transcript.record_reply(&reply);
    transcript.record_result("a", ToolResult::done("x"));
    let (text, used) = (
        json!({"type": "text", "text": "é"}),
        json!({"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}}),
    );
    let again = request(&[], &transcript, &think);
    assert_eq!(again["messages"][1]["content"], json!([thinking, redacted, text, thinking, used]));
    assert!(again.get("thinking").is_some());

    // Another provider's or model's thinking means nothing to this one, and without it the server lets none begin.
    assert_eq!(reply.kept.as_ref().map(|kept| kept.by.clone()), Some(keeper("anthropic", &connection())));
    let elsewhere = Connection { provider: "elsewhere".into(), ..connection() };
    let there = Anthropic.request(&Prompt::new("", &[], &transcript, &think), &elsewhere);
    assert_eq!(there["messages"][1]["content"], json!([text, used]));
    let mut foreign = asked("look");
    let kept = reply.kept.clone().map(|kept| Kept { by: "anthropic/other".into(), ..kept });
    foreign.record_reply(&Reply { kept, ..reply });
    foreign.record_result("a", ToolResult::done("x"));
    let again = request(&[], &foreign, &think);
    assert_eq!(again["messages"][1]["content"], json!([text, used]));
    assert!(again.get("thinking").is_none());
    foreign.record_reply(&Reply::answer("done"));
    foreign.record_user("and now?");
    assert!(request(&[], &foreign, &think).get("thinking").is_some());
}

#[test]
fn names_and_ids_are_mapped_there_and_back() {
    let tools = [tool("lists.write"), tool("lists_write")];
    let mut transcript = asked("look");
    let calls = vec![call("1.1", "lists.write", json!("no object")), call("1_1", "", json!({}))];
    transcript.record_reply(&Reply { calls, ..Reply::default() });
    transcript.record_result("1.1", ToolResult::done(""));
    transcript.record_result("1_1", ToolResult::done(" "));
    let request = request(&tools, &transcript, &ReplySettings::default());
    assert_eq!(
        (&request["tools"][0]["name"], &request["tools"][1]["name"]),
        (&json!("lists_write_2"), &json!("lists_write"))
    );
    let expected = json!([
        {"type": "tool_use", "id": "1_1_2", "name": "lists_write_2", "input": {"not_an_object": "no object"}},
        {"type": "tool_use", "id": "1_1", "name": "unnamed", "input": {}},
    ]);
    assert_eq!(request["messages"][1]["content"], expected);
    let results = request["messages"][2]["content"].as_array().unwrap();
    assert!(results.iter().all(|result| result.get("content").is_none()));
    assert_eq!((&results[0]["tool_use_id"], &results[1]["tool_use_id"]), (&json!("1_1_2"), &json!("1_1")));

    let block = |name: &str| json!({"type": "tool_use", "id": "a", "name": name, "input": {}});
    let mut events = vec![start(), begin(0, block("lists_write_2")), end(0), begin(1, block("lists_write")), end(1)];
    events.extend(stop("tool_use"));
    let (reply, heard) = read(&tools, &events);
    let names: Vec<String> = reply.unwrap().unwrap().calls.into_iter().map(|call| call.tool).collect();
    assert_eq!(names, ["lists.write", "lists_write"]);
    assert_eq!(heard, [r#"Call { tool: "lists.write" }"#, r#"Call { tool: "lists_write" }"#]);
}

#[test]
fn a_schema_is_an_object_without_a_choice_at_its_root() {
    let check = |schema: Value, expected: Value| assert_eq!(input_schema(&schema), expected);
    check(json!(true), json!({"type": "object"}));
    check(
        json!({"properties": {"a": {"anyOf": []}}, "anyOf": []}),
        json!({"properties": {"a": {"anyOf": []}}, "type": "object"}),
    );
}

/// PROV-04
#[test]
fn an_input_that_is_no_object_is_the_text_as_it_was_written() {
    for written in [r#"{"path": "a"#, "null", "[1]", r#"{"path": "a",}"#, r#"{"a": 1, "a": 2}"#] {
        let reply = read(&[], &writing(written, "tool_use")).0.unwrap().unwrap();
        assert_eq!(reply.calls, [call("a", "read", json!(written))]);
    }
    let reply = read(&[], &writing("", "tool_use")).0.unwrap().unwrap();
    assert_eq!(reply.calls, [call("a", "read", json!({}))]);
}

/// PROV-08
#[test]
fn a_call_that_the_length_or_a_refusal_cut_off_is_none() {
    for (reason, ended) in [
        ("max_tokens", ReplyEnd::Length),
        ("model_context_window_exceeded", ReplyEnd::Length),
        ("refusal", ReplyEnd::Refused),
    ] {
        for written in ["", r#"{"path": "#, r#"{"path": "a"}"#] {
            let reply = read(&[], &writing(written, reason)).0.unwrap().unwrap();
            assert_eq!((reply.calls, reply.ended), (Vec::new(), ended), "{reason} {written}");
        }
    }
    // A call that was written before the text that was cut is whole; one before a refusal is not made.
    for (reason, calls) in [("max_tokens", 1), ("refusal", 0)] {
        let used = json!({"type": "tool_use", "id": "a", "name": "read", "input": {}});
        let mut events = vec![start(), begin(0, used), end(0), begin(1, json!({"type": "text", "text": "so"})), end(1)];
        events.extend(stop(reason));
        let reply = read(&[], &events).0.unwrap();
        assert_eq!(reply.map(|reply| (reply.calls.len(), reply.text)), Some((calls, "so".to_owned())));
    }
}

/// PROV-05
#[test]
fn what_is_unknown_is_ignored_and_what_contradicts_itself_is_malformed() {
    let text = |index| begin(index, json!({"type": "text", "text": ""}));
    let odd = json!({"type": "server_tool_use", "id": "x"});
    let mut events = vec![json!({"type": "ping"}), start(), json!({"type": "brand_new", "a": [1]})];
    events.extend([begin(7, odd), delta(7, json!({"type": "input_json_delta", "partial_json": "{"})), end(7), text(9)]);
    events
        .extend([delta(9, json!({"type": "citations_delta"})), delta(9, json!({"type": "text_delta", "text": "ok"}))]);
    events.push(end(9));
    events.extend(stop("end_turn"));
    let usage = Usage { input_tokens: 5, output_tokens: 7, ..Usage::default() };
    assert_eq!(read(&[], &events).0, Ok(Some(Reply { usage, ..Reply::answer("ok") })));

    let more = || delta(0, json!({"type": "text_delta", "text": "x"}));
    let done = || json!({"type": "message_stop"});
    for broken in [
        vec![start(), start()],
        vec![text(0)],
        vec![done()],
        vec![start(), more()],
        vec![start(), text(0), text(0)],
        vec![start(), text(0), end(0), more()],
        vec![start(), text(0), end(0), end(0)],
        vec![start(), text(0), done()],
        vec![start(), text(0), end(0), done()],
        vec![start(), text(0), delta(0, json!({"type": "input_json_delta", "partial_json": "{}"}))],
        vec![start(), json!({"type": "content_block_delta", "index": 0})],
    ] {
        let fault = read(&[], &broken).0.unwrap_err();
        assert_eq!(fault.kind, ProviderFailure::Malformed, "{broken:?}");
    }
}

#[test]
fn errors_inside_a_stream_are_typed() {
    let check = |kind: &str, message: &str, expected| {
        let error = json!({"type": "error", "error": {"type": kind, "message": message}});
        let fault = Fault { kind: expected, message: format!("{kind}: {message}") };
        assert_eq!(read(&[], &[start(), error]).0, Err(fault));
    };
    check("overloaded_error", "Overloaded", ProviderFailure::Broken);
    check("api_error", "oops", ProviderFailure::Broken);
    check("rate_limit_error", "slow down", ProviderFailure::RateLimited);
    check("timeout_error", "", ProviderFailure::TimedOut);
    check("authentication_error", "", ProviderFailure::Unauthorized);
    check("invalid_request_error", "no", ProviderFailure::Rejected);
    check("invalid_request_error", "prompt is too long: 9 > 8", ProviderFailure::TooLong);
    check("something_new", "", ProviderFailure::Broken);
}
