//! What a model without tools is told, and what its replies mean.

use palisade_agent::{ProviderFailure, Reply, ReplyEnd, ReplySettings, ToolResult, Transcript};

use super::*;
use crate::ToolMode;
use crate::dialect::chat::Chat;
use crate::dialect::chat::tests::{call, connection, conversation, read, spec};
use crate::dialect::{Fault, Speak as _};

fn tools() -> Vec<ToolSpec> {
    let path = json!({"type": "object", "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer", "description": "How many\n lines."},
    }, "required": ["path"], "additionalProperties": false});
    vec![spec("read", path), spec("lists.write", json!({"type": "object"}))]
}

fn json_connection() -> Connection {
    Connection { tool_mode: ToolMode::Json, ..connection() }
}

fn request(tools: &[ToolSpec], transcript: &Transcript, settings: &ReplySettings) -> Value {
    Chat.request(&Prompt::new("Be brief.", tools, transcript, settings), &json_connection())
}

#[test]
fn a_reply_is_held_to_one_call_or_the_answer() {
    let body = request(&tools(), &Transcript::new(), &ReplySettings::default());
    assert_eq!(body["tools"], Value::Null);
    let choice = |tool: &str, input: Value| {
        json!({"type": "object", "properties": {"tool": {"const": tool}, "input": input},
            "required": ["tool", "input"], "additionalProperties": false})
    };
    let text = json!({"type": "object", "properties": {"text": {"type": "string", "minLength": 1}}, "required": ["text"],
        "additionalProperties": false});
    let mut read = tools()[0].input_schema.clone();
    read["properties"]["path"]["minLength"] = json!(1);
    let expected = json!({"anyOf": [
        choice("read", read),
        choice("lists_write", json!({"type": "object", "properties": {}})),
        choice("answer", text),
    ]});
    let format = &body["response_format"]["json_schema"];
    assert_eq!((&format["schema"], &format["strict"]), (&expected, &json!(false)));
    let told = body["messages"][0]["content"].as_str().unwrap();
    let expected = "Be brief.\n\nThe tools:\n\
        - read: Does read. `path` `limit` (optional): How many lines.\n\
        - lists_write: Does lists.write.\n\n\
        Reply with one JSON object, a call of one tool or the answer:\n\
        {\"tool\":\"read\",\"input\":{\"path\":\"\"}}\n\
        {\"tool\":\"lists_write\",\"input\":{}}\n\
        {\"tool\":\"answer\",\"input\":{\"text\":\"\"}}\n";
    assert_eq!(told, expected);
}

#[test]
fn a_call_that_was_just_repeated_is_not_offered_again() {
    let mut transcript = Transcript::new();
    transcript.record_user("look");
    let settings = ReplySettings::default();
    let offered = |transcript: &Transcript| {
        let body = request(&tools(), transcript, &settings);
        let schema = &body["response_format"]["json_schema"]["schema"]["anyOf"];
        let names = schema.as_array().unwrap().iter().map(|choice| choice["properties"]["tool"]["const"].as_str());
        names.map(|name| name.unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let mut call_it = |path: &str, expected: &str| {
        let calls = transcript
            .record_reply(&Reply { calls: vec![call("", "read", json!({ "path": path }))], ..Reply::default() });
        transcript.record_result(&calls[0].id, ToolResult::done("same"));
        assert_eq!(offered(&transcript), expected);
    };
    call_it("a", "read lists_write answer");
    call_it("b", "read lists_write answer");
    call_it("b", "lists_write answer");
    call_it("c", "read lists_write answer");
    call_it("c", "lists_write answer");
    transcript.record_user("once more");
    assert_eq!(offered(&transcript), "read lists_write answer");
}

#[test]
fn references_lead_to_where_they_led() {
    let schema =
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}});
    let body = request(&[spec("x", schema)], &Transcript::new(), &ReplySettings::default());
    let schema = &body["response_format"]["json_schema"]["schema"];
    assert_eq!(schema["anyOf"][0]["properties"]["input"], json!({"$ref": "#/$defs/x_input"}));
    assert_eq!(schema["$defs"]["x_input"]["properties"]["a"], json!({"$ref": "#/$defs/x_input/$defs/A"}));
    assert_eq!(schema.pointer("/$defs/x_input/$defs/A"), Some(&json!({"type": "string"})));
}

#[test]
fn what_was_called_and_what_came_of_it_are_told_in_pairs() {
    let body = request(&tools(), &conversation(), &ReplySettings::default());
    let told: Vec<(&str, &str)> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .map(|message| (message["role"].as_str().unwrap(), message["content"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("user", "look"),
            ("assistant", r#"{"tool":"read","input":{"path":"x"}}"#),
            ("user", "Result of read:\nfound\n\nIf this is enough, give the answer."),
            ("assistant", r#"{"tool":"lists_write","input":"{broken"}"#),
            ("user", "Result of lists_write:\nerror: no object\n\nhurry"),
            ("assistant", r#"{"tool":"no_such_","input":{}}"#),
            ("user", "Result of no_such_:\n(no output)\n\nIf this is enough, give the answer."),
            ("assistant", r#"{"tool":"answer","input":{"text":"done"}}"#),
            ("user", "thanks"),
        ]
    );
}

/// Reads a reply that came in two pieces.
fn replied(text: &str, end: &str, tools: &[ToolSpec], settings: &ReplySettings) -> (Result<Reply, Fault>, Vec<String>) {
    let transcript = Transcript::new();
    let prompt = Prompt::new("", tools, &transcript, settings);
    let (head, tail) = text.split_at(text.len() / 2);
    let piece = |text: &str, end: Value| json!({"choices": [{"delta": {"content": text}, "finish_reason": end}]});
    let pieces = [piece(head, Value::Null).to_string(), piece(tail, json!(end)).to_string(), "[DONE]".to_owned()];
    read(Chat.reader(&prompt, &json_connection()), &pieces)
}

#[test]
fn the_value_becomes_a_call_or_the_answer_and_is_not_shown() {
    let check = |text: &str, expected: Reply| {
        let (reply, heard) = replied(text, "stop", &tools(), &ReplySettings::default());
        assert_eq!((reply, heard), (Ok(expected), vec![]), "{text}");
    };
    let calling = |call| Reply { calls: vec![call], ..Reply::default() };
    check(r#"{"tool":"answer","input":{"text":"It is so."}}"#, Reply::answer("It is so."));
    check(" {\n\"tool\": \"read\", \"input\": {\"path\": \"x\"}}\n", calling(call("", "read", json!({"path": "x"}))));
    check(r#"{"tool":"lists_write","input":{}}"#, calling(call("", "lists.write", json!({}))));
    check(r#"{"tool":"rm","input":[1]}"#, calling(call("", "rm", json!("[1]"))));
    check(r#"{"tool":"read"}"#, calling(call("", "read", json!({}))));
    check("Not held to a schema.", Reply::answer("Not held to a schema."));
    check(r#"{"other":1}"#, Reply::answer(r#"{"other":1}"#));
    check(r#"{"tool":"answer","input":{"a":1}}"#, Reply::answer(r#"{"a":1}"#));
}

/// PROV-04, PROV-08
#[test]
fn half_a_value_is_no_call() {
    let half = r#"{"tool":"read","input":{"path":"x"#;
    let (tools, settings) = (tools(), ReplySettings::default());
    let reply = replied(half, "length", &tools, &settings).0.unwrap();
    assert_eq!((reply.calls.len(), reply.ended, reply.text.as_str()), (0, ReplyEnd::Length, half));
    for unfit in [half, r#"{"tool":"read","tool":"rm","input":{}}"#] {
        let fault = replied(unfit, "stop", &tools, &settings).0.unwrap_err();
        assert_eq!(fault.kind, ProviderFailure::Malformed);
    }
}

#[test]
fn as_much_of_an_answer_as_there_is_is_kept() {
    let (tools, settings) = (tools(), ReplySettings::default());
    let check = |half: &str, expected: &str| {
        let reply = replied(half, "length", &tools, &settings).0.unwrap();
        assert_eq!((reply.text.as_str(), reply.calls.len(), reply.ended), (expected, 0, ReplyEnd::Length), "{half}");
    };
    check(r#"{"tool":"answer","input":{"text":"It opens at"#, "It opens at");
    check(r#"{"tool":"answer","input":{"text":"a\"b\"#, "a\"b");
    check(r#"{"tool":"answer","input":{"text":"a\ud83d\udc"#, "a");
    check(r#"{"tool":"answer","inp"#, r#"{"tool":"answer","inp"#);
    check("plain words", "plain words");
    check("", "");
}

#[test]
fn a_tool_called_answer_is_not_the_answer() {
    let tools = [spec("answer", json!({}))];
    let settings = ReplySettings::default();
    let meant = |text: &str| replied(text, "stop", &tools, &settings).0.unwrap();
    assert_eq!(meant(r#"{"tool":"answer","input":{"text":"x"}}"#).calls, [call("", "answer", json!({"text": "x"}))]);
    assert_eq!(meant(r#"{"tool":"answer_2","input":{"text":"x"}}"#), Reply::answer("x"));
}

#[test]
fn an_answer_that_has_a_schema_of_its_own_stays_json() {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    let settings = ReplySettings { answer_schema: Some(schema.clone()), ..ReplySettings::default() };
    let body = request(&tools(), &Transcript::new(), &settings);
    assert_eq!(body["response_format"]["json_schema"]["schema"]["anyOf"][2]["properties"]["input"], schema);
    let reply = replied(r#"{"tool":"answer","input":{"text":"x"}}"#, "stop", &tools(), &settings).0.unwrap();
    assert_eq!(reply.text, r#"{"text":"x"}"#);
}

#[test]
fn without_tools_a_reply_is_plain_text() {
    let settings = ReplySettings::default();
    assert_eq!(request(&[], &conversation(), &settings)["response_format"], Value::Null);
    let (reply, heard) = replied("Hello", "stop", &[], &settings);
    assert_eq!((reply, heard.concat()), (Ok(Reply::answer("Hello")), "text Hetext llo".to_owned()));
}
