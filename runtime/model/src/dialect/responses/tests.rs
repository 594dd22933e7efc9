//! What is asked of a Responses server, and what is made of what it says.

use palisade_agent::{ProviderFailure, ReasoningEffort, Reply, ReplyEnd, ReplySettings, ToolResult, Transcript, Usage};

use super::*;
use crate::dialect::chat::tests::{call as tool_call, connection, conversation, read, spec};
use crate::dialect::{Fault, Progress};

fn tools() -> Vec<ToolSpec> {
    vec![spec("read", json!({"type": "object"})), spec("lists.write", json!({"type": "object"}))]
}

fn read_responses(events: &[Value]) -> (Result<Reply, Fault>, Vec<String>) {
    let (transcript, settings, tools) = (Transcript::new(), ReplySettings::default(), tools());
    let prompt = Prompt::new("", &tools, &transcript, &settings);
    let events: Vec<String> = events.iter().map(Value::to_string).collect();
    read(Responses.reader(&prompt, &connection()), &events)
}

fn thought(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAAA"})
}

fn item(item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": 0, "item": item})
}

fn function(id: &str, name: &str, arguments: &str, status: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": arguments, "status": status})
}

fn text(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn completed() -> Value {
    let usage = json!({"input_tokens": 20, "input_tokens_details": {"cached_tokens": 16}, "output_tokens": 4, "total_tokens": 24});
    json!({"type": "response.completed", "response": {"status": "completed", "output": [], "usage": usage}})
}

fn incomplete(reason: &str) -> Value {
    json!({"type": "response.incomplete", "response": {"status": "incomplete", "incomplete_details": {"reason": reason}}})
}

#[test]
fn text_thoughts_calls_and_tokens_are_read() {
    let delta = |kind: &str, delta: &str| json!({"type": kind, "output_index": 0, "delta": delta});
    let (reply, heard) = read_responses(&[
        json!({"type": "response.created", "response": {"status": "in_progress"}}),
        json!({"type": "response.output_item.added", "item": {"type": "reasoning"}}),
        json!({"type": "response.reasoning_summary_part.added"}),
        delta("response.reasoning_summary_text.delta", "hm"),
        json!({"type": "response.reasoning_summary_part.added"}),
        delta("response.reasoning_summary_text.delta", "so"),
        item(thought("rs_1")),
        delta("response.output_text.delta", "I "),
        delta("response.output_text.delta", "look"),
        item(text("I look")),
        json!({"type": "response.output_item.added", "item": function("a", "lists_write", "", "in_progress")}),
        delta("response.function_call_arguments.delta", "{\"n\""),
        delta("response.function_call_arguments.delta", ":1}"),
        json!({"type": "response.function_call_arguments.done", "arguments": "{\"n\":1}"}),
        item(function("a", "lists_write", "{\"n\":1}", "completed")),
        json!({"type": "response.something_new"}),
        completed(),
        item(text("never read")),
    ]);
    let kept = Kept { by: "responses/local/small".into(), value: json!([thought("rs_1"), "message", "function_call"]) };
    let expected = Reply {
        text: "I look".into(),
        thinking: "hm\n\nso".into(),
        calls: vec![tool_call("a", "lists.write", json!({"n": 1}))],
        usage: Usage { input_tokens: 20, output_tokens: 4, cached_tokens: 16, ..Usage::default() },
        ended: ReplyEnd::Complete,
        kept: Some(kept),
    };
    assert_eq!(reply, Ok(expected));
    let expected = [
        "thinking hm",
        "thinking \n\n",
        "thinking so",
        "text I ",
        "text look",
        "call lists.write",
        "input {\"n\"",
        "input :1}",
    ];
    assert_eq!(heard, expected);
}

/// PROV-03, PROV-04, PROV-08
#[test]
fn a_call_exists_once_it_and_its_response_have_ended() {
    let whole = || item(function("a", "read", "{}", "completed"));
    let half = || item(function("b", "read", "{\"pa", "incomplete"));
    let cut = |events: &[Value]| assert_eq!(read_responses(events).0.unwrap_err().kind, ProviderFailure::Cut);
    cut(&[]);
    cut(&[whole()]);
    cut(&[json!({"type": "response.function_call_arguments.done", "arguments": "{}"})]);

    let calls = |events: &[Value]| {
        let reply = read_responses(events).0.unwrap();
        let ids: Vec<String> = reply.calls.iter().map(|call| call.id.clone()).collect();
        (ids.concat(), reply.ended, reply.kept)
    };
    assert_eq!(calls(&[whole(), half(), incomplete("max_output_tokens")]), ("a".into(), ReplyEnd::Length, None));
    assert_eq!(calls(&[whole(), incomplete("content_filter")]), (String::new(), ReplyEnd::Refused, None));
    assert_eq!(calls(&[whole(), half(), completed()]), ("a".into(), ReplyEnd::Complete, None));
    let raw = r#"{"a":1,"a":2}"#;
    let reply = read_responses(&[item(function("a", "read", raw, "completed")), completed()]).0.unwrap();
    assert_eq!(reply.calls, [tool_call("a", "read", json!(raw))]);
}

#[test]
fn a_server_may_give_everything_at_the_end() {
    let mut end = completed();
    end["response"]["output"] = json!([text("so"), function("a", "read", "{}", "completed")]);
    let reply = read_responses(&[end]).0.unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("so", 1));
    let delta = json!({"type": "response.output_text.delta", "delta": "half"});
    assert_eq!(read_responses(&[delta, incomplete("max_output_tokens")]).0.unwrap().text, "half");
}

#[test]
fn a_refusal_ends_the_reply() {
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "I will not"}]});
    let reply =
        read_responses(&[item(refusal), item(function("a", "read", "{}", "completed")), completed()]).0.unwrap();
    assert_eq!((reply.text.as_str(), reply.ended, reply.calls.len()), ("I will not", ReplyEnd::Refused, 0));
}

/// PROV-05, PROV-06
#[test]
fn complaints_and_nonsense_are_typed_faults() {
    let fault = |event: Value| read_responses(&[event]).0.unwrap_err();
    let check = |event, kind, message: &str| assert_eq!(fault(event), Fault { kind, message: message.into() });
    let failed = json!({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "oops"}}});
    check(failed, ProviderFailure::Broken, "oops");
    let flat = json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": null});
    check(flat, ProviderFailure::RateLimited, "slow");
    let long = json!({"type": "error", "error": {"code": "context_length_exceeded", "message": "long"}});
    check(long, ProviderFailure::TooLong, "long");
    check(json!({"error": {"message": "gone"}}), ProviderFailure::Broken, "gone");
    let (transcript, settings) = (Transcript::new(), ReplySettings::default());
    let prompt = Prompt::new("", &[], &transcript, &settings);
    for (nonsense, kind) in [("<html>", ProviderFailure::Malformed), ("[DONE]", ProviderFailure::Cut)] {
        let reader = Responses.reader(&prompt, &connection());
        assert_eq!(read(reader, &[nonsense.to_owned()]).0.unwrap_err().kind, kind);
    }
    assert_eq!(fault(json!(7)).kind, ProviderFailure::Cut);
}

/// PROV-05
#[test]
fn an_event_of_any_shape_does_no_harm() {
    let (transcript, settings) = (Transcript::new(), ReplySettings::default());
    let prompt = Prompt::new("", &[], &transcript, &settings);
    let shapes =
        ["7", "[1]", "null", "\"x\"", "{}", r#"{"response": 1, "item": [2]}"#, r#"{"response": {"output": 3}}"#];
    for name in ["response.output_item.done", "response.completed", "response.incomplete", "response.failed", "error"] {
        for shape in shapes {
            let mut reader = Responses.reader(&prompt, &connection());
            let progress = reader.event(name, shape, &|_: palisade_agent::Part<'_>| {});
            if progress.is_ok_and(|progress| progress == Progress::Complete) {
                let reply = reader.finish().unwrap();
                assert!(reply.calls.is_empty() && reply.text.is_empty(), "{name} {shape}");
            }
        }
    }
}

#[test]
fn thoughts_that_no_transcript_keeps_are_not_held() {
    let long = |id: &str| {
        let mut thought = thought(id);
        thought["summary"] = json!(["x".repeat(palisade_agent::ENTRY_LIMIT)]);
        item(thought)
    };
    let kept = |count: usize| {
        let mut events: Vec<Value> = (0..count).map(|id| long(&id.to_string())).collect();
        events.extend([item(text("so")), completed()]);
        let reply = read_responses(&events).0.unwrap();
        (reply.text, reply.kept.map(|kept| kept.value.as_array().map(Vec::len)))
    };
    assert_eq!(kept(3), ("so".to_owned(), Some(Some(4))));
    assert_eq!(kept(5), ("so".to_owned(), None));
}

fn items(transcript: &Transcript) -> Value {
    let (settings, tools) = (ReplySettings::default(), tools());
    Responses.request(&Prompt::new("", &tools, transcript, &settings), &connection())["input"].clone()
}

#[test]
fn a_conversation_is_written_as_items() {
    let user = |text: &str| message("user", "input_text", text);
    let said = |text: &str| message("assistant", "output_text", text);
    let call = |id: &str, name: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments});
    let output = |id: &str, text: &str| json!({"type": "function_call_output", "call_id": id, "output": text});
    let id = call_id(&"i".repeat(80));
    let expected = json!([
        user("look"),
        call("a", "read", r#"{"path":"x"}"#),
        call("b", "lists_write", r#"{"input":"{broken"}"#),
        output("a", "found"),
        output("b", "error: no object"),
        user("hurry"),
        said("again"),
        call(&id, "no_such_", "{}"),
        output(&id, "(no output)"),
        said("done"),
        user("thanks"),
    ]);
    assert_eq!(items(&conversation()), expected);
}

#[test]
fn thoughts_go_back_unchanged_and_in_their_place() {
    let kinds = |by: &str, value: Value| {
        let calls = vec![tool_call("a", "read", json!({})), tool_call("b", "read", json!({}))];
        let mut transcript = Transcript::new();
        transcript.record_reply(&Reply {
            text: "so".into(),
            calls,
            kept: Some(Kept { by: by.into(), value }),
            ..Reply::default()
        });
        transcript.record_result("a", ToolResult::done("A"));
        transcript.record_result("b", ToolResult::done("B"));
        let items = items(&transcript);
        let word = |item: &Value| item["id"].as_str().or(item["call_id"].as_str()).unwrap_or("text").to_owned();
        let words: Vec<String> = items.as_array().unwrap().iter().map(word).collect();
        (words.join(" "), items)
    };
    let kept = json!([thought("r1"), "message", thought("r2"), "function_call", "function_call", thought("r3")]);
    let (words, items) = kinds("responses/local/small", kept.clone());
    assert_eq!(words, "r1 text r2 a b a b");
    assert_eq!(items[0], thought("r1"));
    for other in ["responses/local/other", "responses/other/small", "anthropic/local/small"] {
        assert_eq!(kinds(other, kept.clone()).0, "text a b a b");
    }
    assert_eq!(kinds("responses/local/small", json!("nonsense")).0, "text a b a b");
    assert_eq!(kinds("responses/local/small", json!([thought("r1")])).0, "text a b a b");
}

#[test]
fn settings_are_written_in_its_words() {
    let transcript = Transcript::new();
    let schema = json!({"type": "object"});
    let settings = ReplySettings {
        temperature: Some(0.5),
        reasoning_effort: Some(ReasoningEffort::High),
        max_tokens: None,
        answer_schema: Some(schema.clone()),
    };
    let connection = Connection { max_tokens: Some(100), ..connection() };
    let body = Responses.request(&Prompt::new("Be brief.", &[], &transcript, &settings), &connection);
    let expected = json!({
        "model": "small",
        "stream": true,
        "store": false,
        "instructions": "Be brief.",
        "input": [],
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "high", "summary": "auto"},
        "temperature": 0.5,
        "max_output_tokens": 100,
        "text": {"format": {"name": "answer", "schema": schema, "strict": false, "type": "json_schema"}},
    });
    assert_eq!(body, expected);

    let old = Connection { model: "gpt-4.1".into(), ..connection };
    let tools = [spec("lists.write", json!({"type": "object"}))];
    let body = Responses.request(&Prompt::new("", &tools, &transcript, &settings), &old);
    assert_eq!((&body["include"], &body["text"]), (&Value::Null, &Value::Null));
    let parameters = json!({"type": "object", "properties": {}});
    let tool = json!({"type": "function", "name": "lists_write", "description": "Does lists.write.",
        "parameters": parameters, "strict": false});
    assert_eq!(body["tools"], json!([tool]));
}
