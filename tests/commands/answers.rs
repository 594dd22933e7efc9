//! `palisade run` with a model behind HTTP that answers: from the configuration to the screen.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its stage has failed")]

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{self, Receiver},
    thread,
};

use serde_json::{Value, json};

use crate::world::World;

/// A server on loopback that gives these bodies, one per request, and passes on what it was sent.
struct Server {
    url: String,
    requests: Receiver<String>,
}

#[expect(clippy::disallowed_methods, reason = "a server of the test's own, on loopback")]
impl Server {
    fn start(kind: &'static str, bodies: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::channel();
        thread::spawn(move || {
            for body in bodies {
                let (mut stream, _) = listener.accept().unwrap();
                let request = read(&mut stream);
                let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n", body.len());
                stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).unwrap();
                // Whoever started the server may have seen enough.
                drop(sender.send(request));
            }
        });
        Self { url, requests }
    }
}

/// A request with its whole body.
fn read(stream: &mut TcpStream) -> String {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 8192]);
    loop {
        let length = stream.read(&mut buffer).unwrap();
        bytes.extend_from_slice(&buffer[..length]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let wanted = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if length == 0 || wanted.is_none_or(|wanted: usize| body.len() >= wanted) {
            return text;
        }
    }
}

/// A reply of a chat server, as a stream of these deltas.
fn stream(deltas: &[Value], finish: &str) -> String {
    let end = json!({"choices": [{"delta": {}, "finish_reason": finish}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}});
    let events = deltas.iter().map(|delta| json!({"choices": [{"delta": delta}]})).chain([end, usage]);
    events.map(|event| format!("data: {event}\n\n")).collect::<String>() + "data: [DONE]\n\n"
}

fn look_then_answer() -> Vec<String> {
    let call = json!({"tool_calls": [
        {"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"path\": \"AGENTS.md\"}"}},
        {"index": 1, "id": "b", "function": {"name": "write", "arguments": "{\"path\": \"x\", \"content\": \"y\"}"}},
    ]});
    vec![
        stream(&[json!({"content": "Let me look."}), call], "tool_calls"),
        stream(&[json!({"content": "It says "}), json!({"content": "**be brief**."})], "stop"),
    ]
}

/// O2, M5
#[test]
fn a_model_on_this_machine_looks_and_answers() {
    let (world, server) = (World::new(), Server::start("text/event-stream", look_then_answer()));
    world.add("AGENTS.md", "Be brief.");
    world.configure(&format!(
        "model = \"small\"\n[providers.here]\nbase_url = \"{}/v1\"\ndialect = \"chat\"\n\
         [models.small]\nmodel = \"here:tiny\"\nprice = {{ input = 1.0, output = 2.0 }}\n",
        server.url
    ));
    let ended = world.palisade(&["run", "explore", "--json", "what holds here?"]).with_code(0);
    let result = ended.json();
    assert_eq!((&result["answer"], &result["calls"]), (&json!("It says **be brief**."), &json!(2)));
    assert_eq!(result["usage"], json!({"input_tokens": 200, "output_tokens": 20, "cost_micros": 240}));
    assert!(ended.stderr.contains("no such tool") && !world.workspace().join("x").exists(), "{}", ended.stderr);

    let first = server.requests.recv().unwrap();
    assert!(first.starts_with("POST /v1/chat/completions ") && first.contains("Be brief."), "{first}");
    let second = server.requests.recv().unwrap();
    let (_, body) = second.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let roles: Vec<&str> = body["messages"].as_array().unwrap().iter().filter_map(|it| it["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
}

#[test]
fn a_run_is_traced_where_that_is_configured() {
    let world = World::new();
    let model = Server::start("text/event-stream", look_then_answer());
    let collector = Server::start("application/x-protobuf", vec![String::new()]);
    world.configure(&format!(
        "model = \"openai-compatible:tiny\"\n[providers.openai-compatible]\nbase_url = \"{}/v1\"\n\
         [traces]\nendpoint = \"{}\"\n",
        model.url, collector.url
    ));
    world.palisade(&["run", "explore", "-q", "what holds in secret?"]).with_code(0);
    let sent = collector.requests.recv().unwrap();
    for part in ["POST /v1/traces", "invoke_agent explore", "chat tiny", "execute_tool read"] {
        assert!(sent.contains(part), "{part} is not in {sent}");
    }
    assert!(!sent.contains("in secret") && !sent.contains("be brief"), "{sent}");
}

/// PROV-08
#[test]
fn a_reply_that_breaks_off_calls_nothing_and_has_an_exit_code_of_its_own() {
    let world = World::new();
    let whole = look_then_answer().remove(0);
    let cut = whole.split("\"finish_reason\"").next().unwrap().to_owned();
    let server = Server::start("text/event-stream", vec![cut]);
    world.configure(&format!(
        "model = \"openai-compatible:tiny\"\n[providers.openai-compatible]\nbase_url = \"{}/v1\"\nretries = 0\n",
        server.url
    ));
    let result = world.palisade(&["run", "explore", "--json", "anything"]).with_code(4).json();
    assert_eq!((&result["outcome"], &result["calls"]), (&json!("failed"), &json!(0)));
    assert_eq!(result["said_last"], "Let me look.");
}
