#![expect(clippy::disallowed_methods, reason = "tests make and read the files of recordings")]

use std::sync::Mutex;

use palisade_agent::{
    Agent, Kept, Outcome, Part, Quiet, ReplyEnd, ReplySettings, Run, ToolCall, Toolbox, Transcript, Usage, cancellation,
};
use secrecy::SecretString;
use serde_json::json;

use super::*;
use crate::Secrets;

async fn reply(provider: &dyn Provider) -> Result<Reply, ProviderError> {
    heard(provider).await.1
}

/// What a listener heard, and the reply.
async fn heard(provider: &dyn Provider) -> (Vec<String>, Result<Reply, ProviderError>) {
    let (transcript, settings) = (Transcript::new(), ReplySettings::default());
    let heard = Mutex::new(Vec::new());
    let listener = |part: Part<'_>| heard.lock().unwrap().push(format!("{part:?}"));
    let reply = provider.reply(Prompt::new("", &[], &transcript, &settings), &listener).await;
    (heard.into_inner().unwrap(), reply)
}

fn call(id: &str, tool: &str, input: serde_json::Value) -> ToolCall {
    ToolCall { id: id.into(), tool: tool.into(), input }
}

#[tokio::test]
async fn replies_come_in_order_and_then_no_more() {
    let script = r#"[{"calls": [{"tool": "ls"}, {"tool": "read", "input": {"path": "a"}}]}, {"text": "done"}]"#;
    let scripted = Scripted::parse(script).unwrap();
    let calls = vec![call("1.1", "ls", json!({})), call("1.2", "read", json!({"path": "a"}))];
    assert_eq!(reply(&scripted).await, Ok(Reply { calls, ..Reply::default() }));
    assert_eq!(reply(&scripted).await, Ok(Reply::answer("done")));
    let error = reply(&scripted).await.unwrap_err().to_string();
    assert_eq!(error, "scripted: the script has no reply left; end it with one that has no calls");
}

#[test]
fn a_misspelt_script_is_an_error() {
    let check = |script: &str, expected: &str| {
        let error = Scripted::parse(script).unwrap_err().to_string();
        assert!(error.contains(expected), "{script}: {error}");
    };
    check("", "the script is empty");
    check("[{}]", "reply 1 of the script says nothing");
    check("{}", "reply 1 of the script says nothing");
    check("no", "is not a list of");
    check(r#"[{"cals": []}]"#, "unknown field `cals`");
    check(r#"[{"calls": [{"input": {}}]}]"#, "missing field `tool`");
    check(r#"[{"error": {"kind": "tired", "message": ""}}]"#, "unknown variant `tired`");
    check("{\"text\": \"a\"}\n{\"txt\": \"b\"}\n", "line 2 of the script");
    // Cut off in the middle of the only line there is: nothing could be replayed.
    check("{\"text\": \"a", "line 1 of the script");
}

#[test]
fn bytes_that_are_no_text_are_an_error_with_their_place() {
    let check = |script: &[u8], expected: &str| {
        assert_eq!(Scripted::parse(script).unwrap_err().to_string(), expected);
    };
    check(b"\xff", "line 1 of the script is not UTF-8, from byte 1 of the line on");
    check(
        b"{\"text\": \"a\"}\n{\"text\": \"\xc0\xaf\"}\n",
        "line 2 of the script is not UTF-8, from byte 11 of the line on",
    );
    // Half a character, as where a file was cut.
    check("[\"é".as_bytes().split_last().unwrap().1, "line 1 of the script is not UTF-8, from byte 3 of the line on");
}

#[tokio::test]
async fn a_reply_is_heard_in_pieces_that_add_up() {
    let script = r#"[{"thinking": "hm", "text": "one two three four five six seven eight", "calls": [{"tool": "ls"}]},
                     {"text": ["\u001b[3", "1m", ""]}]"#;
    let scripted = Scripted::parse(script).unwrap();
    let (parts, reply) = heard(&scripted).await;
    assert_eq!(
        parts,
        [
            r#"Thinking("hm")"#,
            r#"Text("one two three four five six")"#,
            r#"Text(" seven eight")"#,
            r#"Call { tool: "ls" }"#,
            r#"Input("{}")"#
        ]
    );
    let reply = reply.unwrap();
    assert_eq!((reply.thinking.as_str(), reply.text.as_str()), ("hm", "one two three four five six seven eight"));
    let (parts, reply) = heard(&scripted).await;
    assert_eq!(parts, [r#"Text("\u{1b}[3")"#, r#"Text("1m")"#, r#"Text("")"#]);
    assert_eq!(reply.unwrap().text, "\u{1b}[31m");
}

#[tokio::test]
async fn a_reply_can_fail_after_its_parts_were_heard() {
    let script = r#"[{"text": "half", "error": {"kind": "cut", "message": "gone"}},
                     {"text": "", "ended": "length", "usage": {"input_tokens": 3, "output_tokens": 4}}]"#;
    let scripted = Scripted::parse(script).unwrap();
    let (parts, failed) = heard(&scripted).await;
    assert_eq!(parts, [r#"Text("half")"#]);
    let failed = failed.unwrap_err();
    assert_eq!((failed.kind, failed.to_string().as_str()), (ProviderFailure::Cut, "scripted: gone"));
    let usage = Usage { input_tokens: 3, output_tokens: 4, ..Usage::default() };
    assert_eq!(reply(&scripted).await, Ok(Reply { ended: ReplyEnd::Length, usage, ..Reply::default() }));
}

const EVERYTHING: &str = r#"[
    {"text": "looking", "thinking": "where?", "calls": [{"tool": "none", "input": {"path": "a"}, "id": "toolu_1"}],
     "usage": {"input_tokens": 5, "output_tokens": 6, "cached_tokens": 2}, "kept": {"by": "x", "value": [1, "sig"]}},
    {"text": "found: \"a\"\nand b", "usage": {"input_tokens": 7, "output_tokens": 8}}
]"#;

async fn transcript_of(provider: &dyn Provider) -> Transcript {
    let (agent, toolbox) = (Agent::new("a", "b"), Toolbox::new(Vec::new()).unwrap());
    let (_canceller, cancellation) = cancellation();
    let mut run = Run::new(&agent, provider, &toolbox, &Quiet, cancellation, Transcript::new());
    assert!(matches!(run.answer("task").await, Ok(Outcome::Answered(_))));
    run.into_transcript()
}

#[tokio::test]
async fn a_recorded_run_replays_to_the_same_transcript() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let scripted = Box::new(Scripted::parse(EVERYTHING).unwrap());
    let recording = Recording::append(scripted, &path, Secrets::default()).unwrap();
    let recorded = transcript_of(&recording).await;
    recording.finish().unwrap();
    assert_eq!(recorded.entries().len(), 4);
    let script = std::fs::read_to_string(&path).unwrap();
    assert_eq!(transcript_of(&Scripted::parse(&script).unwrap()).await, recorded);
}

#[tokio::test]
async fn a_recording_holds_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let key = "sk-secret";
    let replies = [Reply {
        text: format!("the key is {key}."),
        thinking: key.to_owned(),
        calls: vec![call(key, "bash", json!({ "command": format!("echo {key}"), key: [key] }))],
        kept: Some(Kept { by: "x".into(), value: json!({ "deep": [key] }) }),
        ..Reply::default()
    }];
    let secrets = Secrets::new([SecretString::from(key)]);
    let recording = Recording::append(Box::new(Scripted::new(replies)), &path, secrets.clone()).unwrap();
    assert!(reply(&recording).await.unwrap().text.contains(key), "only the file is cleaned");
    let failing = format!(r#"[{{"error": {{"kind": "unauthorized", "message": "{key} is wrong"}}}}]"#);
    let recording = Recording::append(Box::new(Scripted::parse(&failing).unwrap()), &path, secrets).unwrap();
    reply(&recording).await.unwrap_err();
    let script = std::fs::read_to_string(&path).unwrap();
    assert!(!script.contains(key), "{script}");
    let replayed = Scripted::parse(&script).unwrap();
    assert_eq!(reply(&replayed).await.unwrap().text, "the key is [key].");
    let failed = reply(&replayed).await.unwrap_err();
    assert_eq!((failed.kind, failed.message.as_str()), (ProviderFailure::Unauthorized, "[key] is wrong"));
}

#[tokio::test]
async fn a_recording_that_was_cut_off_can_be_replayed_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let whole = "{\"text\":\"one\"}\n{\"text\":\"two\"}\n";
    for length in 15..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let script = Scripted::parse(&whole[..length]).unwrap();
        assert_eq!(reply(&script).await, Ok(Reply::answer("one")), "{length}");
        let scripted = Box::new(Scripted::new([Reply::answer("three")]));
        reply(&Recording::append(scripted, &path, Secrets::default()).unwrap()).await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"text\":\"one\"}\n{\"text\":\"three\"}\n", "{length}");
    }
}

#[test]
fn a_file_that_is_no_recording_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.md");
    let append = |path: &std::path::Path| {
        Recording::append(Box::new(Scripted::new([])), path, Secrets::default())
            .map(drop)
            .map_err(|error| error.to_string())
    };
    for text in ["# Notes", "{\"name\": \"x\"}", "{\n  \"name\": \"x\"\n}", "{}", "[{\"text\": \"a\"}]"] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(append(&path), Err("the file is there and is no recording".to_owned()), "{text}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    // Half of the first line was written.
    std::fs::write(&path, "{\"text\": \"a").unwrap();
    assert_eq!(append(&path), Ok(()));
}

/// A workspace that is not trusted may have a link or a pipe where somebody wants to record.
#[test]
fn a_link_or_a_pipe_is_not_recorded_into() {
    let folder = tempfile::tempdir().unwrap();
    let (precious, link, pipe) = (folder.path().join("a.json"), folder.path().join("b"), folder.path().join("c"));
    std::fs::write(&precious, "{\n  \"precious\": 1 }").unwrap();
    std::os::unix::fs::symlink(&precious, &link).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let refused = |path| {
        let scripted = Box::new(Scripted::new([]));
        Recording::append(scripted, path, Secrets::default()).err().unwrap().to_string()
    };
    assert_eq!(refused(&link), "the file is a link; name the file that it leads to");
    assert_eq!(refused(&pipe), "it is there and is no file");
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "{\n  \"precious\": 1 }");
}
