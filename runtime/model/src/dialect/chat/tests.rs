//! What is asked of a chat server, and what is made of what it says.

use std::collections::BTreeMap;
use std::sync::Mutex;

use palisade_agent::{
    FailureKind, Part, Prompt, ProviderFailure, ReasoningEffort, Reply, ReplyEnd, ReplySettings, ToolCall, ToolResult,
    ToolSpec, Transcript, Usage,
};
use serde_json::{Value, json};

use super::*;
use crate::dialect::{Fault, Progress};
use crate::{Dialect, Patience};

/// A connection to a server that is not OpenAI's.
pub(in crate::dialect) fn connection() -> Connection {
    Connection {
        provider: "local".into(),
        model: "small".into(),
        dialect: Dialect::Chat,
        base_url: "http://127.0.0.1:1/v1".into(),
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

pub(in crate::dialect) fn spec(name: &str, input_schema: Value) -> ToolSpec {
    let description = format!("Does {name}.");
    ToolSpec { name: name.into(), description, input_schema, capabilities: vec![], read_only: true, idempotent: true }
}

pub(in crate::dialect) fn call(id: &str, tool: &str, input: Value) -> ToolCall {
    ToolCall { id: id.into(), tool: tool.into(), input }
}

/// Feeds a reader with pieces, then asks it for the reply whether it said that it is complete or not, as
/// is done when a stream ends. Gives also what a listener heard.
pub(in crate::dialect) fn read(mut reader: Box<dyn Reader>, pieces: &[String]) -> (Result<Reply, Fault>, Vec<String>) {
    let heard = Mutex::new(Vec::new());
    let listener = |part: Part<'_>| {
        heard.lock().unwrap().push(match part {
            Part::Text(text) => format!("text {text}"),
            Part::Thinking(text) => format!("thinking {text}"),
            Part::Call { tool } => format!("call {tool}"),
            Part::Input(text) => format!("input {text}"),
            other => panic!("{other:?}"),
        });
    };
    for piece in pieces {
        match reader.event("message", piece, &listener) {
            Ok(Progress::More) => {}
            Ok(Progress::Complete) => break,
            Err(fault) => return (Err(fault), heard.into_inner().unwrap()),
        }
    }
    (reader.finish(), heard.into_inner().unwrap())
}

fn tools() -> Vec<ToolSpec> {
    vec![spec("read", json!({"type": "object"})), spec("lists.write", json!({"type": "object"}))]
}

fn read_chat(pieces: &[Value]) -> (Result<Reply, Fault>, Vec<String>) {
    let (transcript, settings, tools) = (Transcript::new(), ReplySettings::default(), tools());
    let prompt = Prompt::new("", &tools, &transcript, &settings);
    let pieces: Vec<String> = pieces
        .iter()
        .map(|piece| match piece {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
        .collect();
    read(Chat.reader(&prompt, &connection()), &pieces)
}

fn delta(delta: Value) -> Value {
    json!({"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn over(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn done() -> Value {
    json!("[DONE]")
}

fn pieces(calls: Value) -> Value {
    delta(json!({ "tool_calls": calls }))
}

#[test]
fn text_thinking_and_tokens_are_read() {
    let usage = json!({"prompt_tokens": 12, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}});
    let (reply, heard) = read_chat(&[
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"reasoning_content": "hm"})),
        delta(json!({"reasoning": " so"})),
        delta(json!({"content": "Hel"})),
        delta(json!({"content": "lo"})),
        over("stop"),
        json!({"choices": [], "usage": usage}),
        done(),
        delta(json!({"content": "never read"})),
    ]);
    let usage = Usage { input_tokens: 12, output_tokens: 5, cached_tokens: 8, ..Usage::default() };
    let expected = Reply { text: "Hello".into(), thinking: "hm so".into(), usage, ..Reply::default() };
    assert_eq!(reply, Ok(expected));
    assert_eq!(heard, ["thinking hm", "thinking  so", "text Hel", "text lo"]);
}

/// PROV-05
#[test]
fn calls_are_put_together_however_a_server_numbers_them() {
    let a = || call("a", "read", json!({"path": "x"}));
    let b = || call("b", "lists.write", json!({"n": 1}));
    let check = |what: &str, calls: &[Value], expected: Vec<ToolCall>| {
        let mut all: Vec<Value> = calls.iter().cloned().map(pieces).collect();
        all.extend([over("tool_calls"), done()]);
        let (reply, _) = read_chat(&all);
        assert_eq!(reply.unwrap().calls, expected, "{what}");
    };
    let begin = |index: u64, id: &str, name: &str| json!([{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]);
    let more = |index: u64, text: &str| json!([{"index": index, "function": {"arguments": text}}]);
    check(
        "one after the other",
        &[
            begin(0, "a", "read"),
            more(0, r#"{"path""#),
            more(0, r#": "x"}"#),
            begin(1, "b", "lists_write"),
            more(1, r#"{"n": 1}"#),
        ],
        vec![a(), b()],
    );
    check(
        "interleaved",
        &[
            begin(0, "a", "read"),
            begin(1, "b", "lists_write"),
            more(1, r#"{"n""#),
            more(0, r#"{"path": "#),
            more(1, ": 1}"),
            more(0, r#""x"}"#),
        ],
        vec![a(), b()],
    );
    let whole = |index: Value, id: &str, name: &str, text: &str| json!({"index": index, "id": id, "function": {"name": name, "arguments": text}});
    let (first, second) = (r#"{"path":"x"}"#, r#"{"n":1}"#);
    check(
        "whole calls in one piece",
        &[json!([whole(json!(0), "a", "read", first), whole(json!(1), "b", "lists_write", second)])],
        vec![a(), b()],
    );
    check(
        "whole calls that all have the index 0",
        &[json!([whole(json!(0), "a", "read", first)]), json!([whole(json!(0), "b", "lists_write", second)])],
        vec![a(), b()],
    );
    check(
        "no index",
        &[
            json!([whole(Value::Null, "a", "read", "")]),
            json!([{"function": {"arguments": first}}]),
            json!([whole(Value::Null, "b", "lists_write", second)]),
        ],
        vec![a(), b()],
    );
    check(
        "no index, told apart by their ids",
        &[
            json!([whole(Value::Null, "a", "read", ""), whole(Value::Null, "b", "lists_write", "")]),
            json!([{"id": "a", "function": {"arguments": first}}, {"id": "b", "function": {"arguments": second}}]),
        ],
        vec![a(), b()],
    );
    check(
        "neither index nor id",
        &[
            json!([{"function": {"name": "read", "arguments": first}}, {"function": {"name": "read", "arguments": first}}]),
        ],
        vec![call("", "read", json!({"path": "x"})), call("", "read", json!({"path": "x"}))],
    );
    check(
        "an id that comes late",
        &[
            json!([{"index": 0, "function": {"name": "read"}}]),
            json!([{"index": 0, "id": "a", "function": {"arguments": first}}]),
        ],
        vec![a()],
    );
    check(
        "a name that comes late",
        &[
            json!([{"index": 0, "id": "a", "function": {"arguments": first}}]),
            json!([{"index": 0, "function": {"name": "read"}}]),
        ],
        vec![a()],
    );
    check(
        "name and id in every piece",
        &[json!([whole(json!(0), "a", "read", r#"{"path""#)]), json!([whole(json!(0), "a", "read", r#":"x"}"#)])],
        vec![a()],
    );
    check(
        "a new id in every piece",
        &[
            json!([whole(json!(0), "a", "read", r#"{"path""#)]),
            json!([{"index": 0, "id": "z", "function": {"name": null, "arguments": r#":"x"}"#}}]),
        ],
        vec![a()],
    );
    check(
        "an object in place of its text",
        &[json!([{"index": 0, "id": "a", "function": {"name": "read", "arguments": {"path": "x"}}}])],
        vec![a()],
    );
    check("a piece that is empty", &[json!([{"index": 0}]), begin(0, "a", "read"), more(0, first)], vec![a()]);
}

/// PROV-04, TOOL-13
#[test]
fn arguments_that_are_no_object_stay_a_text() {
    let check = |written: &str, expected: Value| {
        let piece = json!([{"index": 0, "id": "a", "function": {"name": "read", "arguments": written}}]);
        let (reply, _) = read_chat(&[pieces(piece), over("tool_calls")]);
        assert_eq!(reply.unwrap().calls, [call("a", "read", expected)]);
    };
    check("", json!({}));
    check("{}", json!({}));
    for unfit in ["null", "[1]", r#"{"path":"#, r#"{"path":"a",}"#, r#"{"path":"a","path":"b"}"#] {
        check(unfit, json!(unfit));
    }
}

/// PROV-03, PROV-08
#[test]
fn without_an_explicit_end_there_is_no_call() {
    let whole = pieces(json!([{"index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"}}]));
    let cut = |pieces: &[Value]| assert_eq!(read_chat(pieces).0.unwrap_err().kind, ProviderFailure::Cut);
    cut(&[]);
    cut(std::slice::from_ref(&whole));
    cut(&[whole.clone(), json!({"choices": [], "usage": {"prompt_tokens": 1}})]);
    cut(&[whole.clone(), done()]);
    cut(&[over("stop"), whole.clone()]);
    cut(&[over("stop"), whole.clone(), done()]);

    let ended = |reason: &str| {
        let reply = read_chat(&[delta(json!({"content": "so"})), whole.clone(), over(reason), done()]).0.unwrap();
        assert_eq!(reply.text, "so");
        (reply.ended, reply.calls.len())
    };
    assert_eq!(ended("tool_calls"), (ReplyEnd::Complete, 1));
    // Some servers say `stop` whatever there is.
    assert_eq!(ended("stop"), (ReplyEnd::Complete, 1));
    assert_eq!(ended("length"), (ReplyEnd::Length, 0));
    assert_eq!(ended("content_filter"), (ReplyEnd::Refused, 0));
}

#[test]
fn a_stream_may_end_without_done_once_the_reply_has() {
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}});
    let text = delta(json!({"content": "so"}));
    assert_eq!(read_chat(&[text.clone(), over("stop")]).0.unwrap().text, "so");
    assert_eq!(read_chat(&[text.clone(), over("stop"), usage]).0.unwrap().usage.total(), 7);
    // Text and end in one piece, and a server that says `stop` with every piece.
    let both = json!({"choices": [{"delta": {"content": "so"}, "finish_reason": "stop"}]});
    assert_eq!(read_chat(&[both.clone(), both]).0.unwrap().text, "soso");
}

#[test]
fn a_refusal_is_text_that_ends_the_reply() {
    let (reply, heard) = read_chat(&[delta(json!({"refusal": "I will not"})), over("stop"), done()]);
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.ended), ("I will not", ReplyEnd::Refused));
    assert_eq!(heard, ["text I will not"]);
}

/// PROV-05, PROV-06
#[test]
fn nonsense_is_a_typed_fault_or_passed_over() {
    let fault = |piece: Value| read_chat(&[piece]).0.unwrap_err().kind;
    for nonsense in ["<html>", "{", "null null", r#"{"choices": 7}"#, r#"{"choices":[{"delta":{"content":7}}]}"#] {
        assert_eq!(fault(json!(nonsense)), ProviderFailure::Malformed, "{nonsense}");
    }
    assert_eq!(fault(json!({"error": {"code": 429, "message": "slow"}})), ProviderFailure::RateLimited);
    assert_eq!(fault(json!({"error": {"message": "gone"}, "choices": []})), ProviderFailure::Broken);
    assert_eq!(fault(over("error")), ProviderFailure::Broken);
    let (reply, _) = read_chat(&[
        json!({"unknown": true}),
        json!({"choices": []}),
        json!({"choices": null, "usage": null, "error": null}),
        json!({"choices": [{"index": 1, "delta": {"content": "another"}}]}),
        json!({"choices": [{"delta": null}]}),
        json!(" "),
        over("stop"),
        done(),
    ]);
    assert_eq!(reply, Ok(Reply::default()));
}

#[test]
fn ten_thousand_calls_in_one_reply_are_read() {
    let one =
        |at: usize| json!([{"index": at, "id": format!("c{at}"), "function": {"name": "read", "arguments": "{}"}}]);
    let mut all: Vec<Value> = (0..10_000).map(|at| pieces(one(at))).collect();
    all.push(over("tool_calls"));
    assert_eq!(read_chat(&all).0.unwrap().calls.len(), 10_000);
}

/// A conversation in which everything happened once.
pub(in crate::dialect) fn conversation() -> Transcript {
    let mut transcript = Transcript::new();
    transcript.record_user("look");
    let (read, write) = (call("a", "read", json!({"path": "x"})), call("b", "lists.write", json!("{broken")));
    transcript.record_reply(&Reply { calls: vec![read, write], ..Reply::default() });
    transcript.record_result("a", ToolResult::done("found"));
    transcript.record_result("b", ToolResult::failed(FailureKind::InvalidInput, "no object"));
    transcript.record_notice("hurry");
    let long = call(&"i".repeat(80), "no such!", json!({}));
    transcript.record_reply(&Reply { text: "again".into(), calls: vec![long], ..Reply::default() });
    transcript.record_result(&"i".repeat(80), ToolResult::done(""));
    transcript.record_reply(&Reply::answer("done"));
    transcript.record_user("thanks");
    transcript
}

#[test]
fn a_request_says_what_happened_in_shapes_that_every_server_accepts() {
    let (transcript, settings, tools) = (conversation(), ReplySettings::default(), tools());
    let body = Chat.request(&Prompt::new("Be brief.", &tools, &transcript, &settings), &connection());
    let id = call_id(&"i".repeat(80));
    assert!(id.len() <= 40, "{id}");
    let function = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let tool = |name: &str, description: &str| {
        let parameters = json!({"type": "object", "properties": {}});
        json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
    };
    let expected = json!({
        "model": "small",
        "stream": true,
        "stream_options": {"include_usage": true},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": null, "tool_calls": [
                function("a", "read", r#"{"path":"x"}"#),
                function("b", "lists_write", r#"{"input":"{broken"}"#),
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "found"},
            {"role": "tool", "tool_call_id": "b", "content": "error: no object"},
            {"role": "user", "content": "hurry"},
            {"role": "assistant", "content": "again", "tool_calls": [function(&id, "no_such_", "{}")]},
            {"role": "tool", "tool_call_id": id, "content": "(no output)"},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "thanks"},
        ],
        "tools": [tool("read", "Does read."), tool("lists_write", "Does lists.write.")],
    });
    assert_eq!(body, expected);
}

#[test]
fn settings_are_written_in_the_words_of_the_server() {
    let transcript = Transcript::new();
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let settings = ReplySettings {
        temperature: Some(0.5),
        reasoning_effort: Some(ReasoningEffort::Low),
        max_tokens: Some(9),
        answer_schema: Some(schema.clone()),
    };
    let request = |provider: &str, tools: &[ToolSpec]| {
        let connection = Connection { provider: provider.into(), max_tokens: Some(100), ..connection() };
        Chat.request(&Prompt::new("", tools, &transcript, &settings), &connection)
    };
    let format = json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": true}});
    let local = request("ollama", &[]);
    assert_eq!((&local["temperature"], &local["reasoning_effort"]), (&json!(0.5), &json!("low")));
    assert_eq!((&local["max_tokens"], &local["max_completion_tokens"]), (&json!(9), &Value::Null));
    assert_eq!((&local["response_format"], &local["tools"]), (&format, &Value::Null));
    assert_eq!(request("ollama", &tools())["response_format"], Value::Null);
    let openai = request("openai", &tools());
    assert_eq!((&openai["max_tokens"], &openai["max_completion_tokens"]), (&Value::Null, &json!(9)));
    assert_eq!(openai["response_format"], format);
    let plain = ReplySettings { reasoning_effort: Some(ReasoningEffort::Inherit), ..ReplySettings::default() };
    let body = Chat.request(&Prompt::new(" ", &[], &transcript, &plain), &connection());
    let expected = json!({"model": "small", "stream": true, "stream_options": {"include_usage": true}, "messages": []});
    assert_eq!(body, expected);
}
