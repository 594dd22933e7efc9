//! PyPI's `openai` and `anthropic`, with an agent in the place of a model.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Server;
use crate::{
    peers::{self, Ran},
    world::World,
};

const OPENAI: &str = "openai-3.51.0";
const ANTHROPIC: &str = "anthropic-2.9.0";

/// A model that looks at something before it answers.
pub(super) const LOOKS: &str = r#"[
    {"text": ["I look ", "around."], "calls": [{"tool": "read", "input": {"path": "README.md"}}],
     "usage": {"input_tokens": 10, "output_tokens": 2}},
    {"text": ["It carries ", "parcels."], "usage": {"input_tokens": 30, "output_tokens": 5}}
]"#;
/// What it says at the end, and all that it says.
const ANSWER: &str = "It carries parcels.";
const SAID: &str = "I look around.\n\nIt carries parcels.";

/// A model that says something and fails.
const FAILS: &str = r#"[{"text": ["I look ", "around."], "error": {"kind": "rate_limited", "message": "come later"}}]"#;

/// A server with one tenant, whose agents have the model of a script, and a key of that tenant.
pub(super) fn scripted(replies: &str, quotas: Value) -> (Server, String) {
    let world = World::new();
    let model = world.script("replies.json", replies);
    world.configure(&format!("model = {}\n", json!(model)));
    let settings = json!({ "workspace": world.workspace(), "quotas": quotas }).to_string();
    world.palisade(&["tenants", "add", "acme", "--settings", &settings]).with_code(0);
    let key = world.palisade(&["tenants", "key", "acme"]).with_code(0).stdout.trim().to_owned();
    (Server::start(world, &["--keys", "--no-apart"]), key)
}

impl Server {
    /// What a script of the tests reports that speaks to this server through a client.
    fn report(&self, client: &str, script: &str, arguments: &[&str]) -> Option<Value> {
        let python = peers::installed(client, "_clients")?.join("bin/python");
        let script = peers::root().join("tests/clients").join(script).display().to_string();
        let ran = peers::run(&python, &[&[script.as_str()], arguments].concat(), &self.world.home(), &[]);
        Some(report(&ran))
    }

    /// What was said in the session of a run.
    fn said(&self, key: &str, run: &str) -> Vec<(String, String)> {
        let run = self.get(&format!("/api/runs/{run}"), key).with(200).json();
        let session = run["session"].as_str().unwrap();
        let entries = self.get(&format!("/api/sessions/{session}/entries"), key).with(200).json();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        entries["data"].as_array().unwrap().iter().map(|it| (text(&it["entry"]), text(&it["text"]))).collect()
    }
}

fn report(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
}

fn entry(kind: &str, text: &str) -> (String, String) {
    (kind.to_owned(), text.to_owned())
}

#[test]
fn the_openai_client_talks_to_an_agent_and_sees_nothing_of_its_tools() {
    let (server, key) = scripted(LOOKS, json!({}));
    let Some(report) = server.report(OPENAI, "openai_session.py", &[&server.address, &key]) else { return };
    let models = report["models"].as_array().unwrap();
    assert!(models.contains(&json!("explore")) && models.contains(&json!("general")), "{models:?}");
    assert_eq!(report["model"], "explore");
    let chat = json!({ "text": ANSWER, "tool_calls": null, "finish": "stop", "usage": [40, 7, 47] });
    assert_eq!(report["chat"], chat);
    let stream = &report["stream"];
    assert_eq!((&stream["text"], &stream["finish"]), (&json!(SAID), &json!(["stop"])));
    assert_eq!((&stream["tool_calls"], &stream["usage"]), (&json!([]), &json!([[40, 7, 47]])));
    assert!(stream["pieces"].as_u64().unwrap() > 1 && stream["ids"] == 1, "{stream}");
    let several = server.said(&key, report["several"].as_str().unwrap());
    assert_eq!(several[0], entry("user", "<instructions>\nSpeak of the river.\n</instructions>\n\nwhat is here?"));
    assert_eq!(several[1..3], [entry("reply", "A ferry."), entry("user", "and what does it carry?")]);
    assert_eq!(several.last().unwrap(), &entry("reply", ANSWER));
    // Nothing is kept but what was to be: one conversation of each kind.
    assert_eq!(server.get("/api/sessions", &key).json()["data"].as_array().unwrap().len(), 2);
}

#[test]
fn responses_follow_each_other_in_one_session() {
    let (server, key) = scripted(LOOKS, json!({}));
    let Some(report) = server.report(OPENAI, "openai_session.py", &[&server.address, &key]) else { return };
    let responses = &report["responses"];
    assert_eq!((&responses["text"], &responses["streamed"]), (&json!(ANSWER), &json!(SAID)));
    assert_eq!((&responses["items"], &responses["status"]), (&json!(["message"]), &json!("completed")));
    assert_eq!((&responses["usage"], &responses["follows"]), (&json!([40, 7, 47]), &json!(true)));
    assert_eq!(responses["last"], "response.completed");
    assert!(!responses["kinds"].to_string().contains("function_call"), "{responses}");
    let said = server.said(&key, responses["run"].as_str().unwrap());
    assert_eq!(said[0], entry("user", "<instructions>\nBe short.\n</instructions>\n\nwhat is here?"));
    assert!(said.contains(&entry("user", "and what else?")), "{said:?}");
    assert_eq!(said.iter().filter(|(kind, _)| kind == "user").count(), 2);
}

#[test]
fn the_openai_client_knows_every_failure_for_what_it_is() {
    let (server, key) = scripted(LOOKS, json!({}));
    let Some(report) = server.report(OPENAI, "openai_session.py", &[&server.address, &key]) else { return };
    for (name, class, kind, code) in [
        ("model", "NotFoundError", "invalid_request_error", json!("model_not_found")),
        ("known", "NotFoundError", "invalid_request_error", json!("model_not_found")),
        ("response", "NotFoundError", "invalid_request_error", json!("model_not_found")),
        ("key", "AuthenticationError", "authentication_error", json!("invalid_api_key")),
        ("stream", "AuthenticationError", "authentication_error", json!("invalid_api_key")),
        ("body", "BadRequestError", "invalid_request_error", Value::Null),
        ("shape", "BadRequestError", "invalid_request_error", Value::Null),
        ("picture", "BadRequestError", "invalid_request_error", Value::Null),
    ] {
        let failure = &report["failures"][name];
        assert_eq!((&failure["class"], &failure["type"]), (&json!(class), &json!(kind)), "{name}: {failure}");
        assert_eq!((&failure["code"], &failure["media"]), (&code, &json!("application/json")), "{name}");
        assert!(failure["message"].as_str().is_some_and(|message| !message.is_empty()), "{name}: {failure}");
    }
}

#[test]
fn the_anthropic_client_talks_to_an_agent_and_sees_nothing_of_its_tools() {
    let (server, key) = scripted(LOOKS, json!({}));
    let Some(report) = server.report(ANTHROPIC, "anthropic_session.py", &[&server.address, &key]) else { return };
    assert!(report["models"].as_array().unwrap().contains(&json!("explore")), "{report}");
    assert_eq!(report["model"], "explore");
    let told = json!({ "text": ANSWER, "blocks": ["text"], "stop": "end_turn", "usage": [40, 7] });
    assert_eq!((&report["message"], &report["several"]), (&told, &told));
    let stream = &report["stream"];
    assert_eq!((&stream["text"], &stream["heard"]), (&json!(SAID), &json!(SAID)));
    assert_eq!((&stream["blocks"], &stream["stop"]), (&json!(["text"]), &json!("end_turn")));
    assert_eq!(stream["usage"], json!([40, 7]));
    assert!(stream["pieces"].as_u64().unwrap() > 1, "{stream}");
    assert_eq!(server.get("/api/sessions", &key).json()["data"], json!([]));
}

#[test]
fn the_anthropic_client_knows_every_failure_for_what_it_is() {
    let (server, key) = scripted(LOOKS, json!({}));
    let Some(report) = server.report(ANTHROPIC, "anthropic_session.py", &[&server.address, &key]) else { return };
    for (name, class, kind) in [
        ("model", "NotFoundError", "not_found_error"),
        ("known", "NotFoundError", "not_found_error"),
        ("key", "AuthenticationError", "authentication_error"),
        ("stream", "AuthenticationError", "authentication_error"),
        ("body", "BadRequestError", "invalid_request_error"),
        ("shape", "BadRequestError", "invalid_request_error"),
        ("picture", "BadRequestError", "invalid_request_error"),
    ] {
        let failure = &report["failures"][name];
        assert_eq!((&failure["class"], &failure["type"]), (&json!(class), &json!(kind)), "{name}: {failure}");
        assert_eq!((&failure["shape"], &failure["media"]), (&json!("error"), &json!("application/json")), "{name}");
        assert!(failure["message"].as_str().is_some_and(|message| !message.is_empty()), "{name}: {failure}");
    }
}

/// HTTP-17: whoever asks too often is told when to come again.
#[test]
fn clients_are_told_of_agents_that_fail_and_when_to_come_again() {
    for (client, package, whole, stream) in [
        (OPENAI, "openai", "UnprocessableEntityError", "APIError"),
        (ANTHROPIC, "anthropic", "UnprocessableEntityError", "APIStatusError"),
    ] {
        let (server, key) = scripted(FAILS, json!({ "requests": 2 }));
        let Some(report) = server.report(client, "broken.py", &[package, &server.address, &key]) else { return };
        assert_eq!((&report["whole"]["class"], &report["stream"]["class"]), (&json!(whole), &json!(stream)));
        for way in ["whole", "stream"] {
            assert!(report[way]["text"].as_str().unwrap().contains("come later"), "{report}");
        }
        assert_eq!(report["often"]["class"], "RateLimitError", "{report}");
        let after: u64 = report["often"]["after"].as_str().unwrap().parse().unwrap();
        assert!((1..=61).contains(&after), "{report}");
    }
}

/// The examples of docs/server.md, each with the address of a server in the place of the usual one.
#[test]
fn the_examples_of_the_documentation_work() {
    let document = include_str!("../../../docs/server.md");
    let server = Server::start(World::new(), &["--no-apart"]);
    let run = |program: PathBuf, flag: &str, example: &str| {
        let example = example.replace("127.0.0.1:7333", &server.address);
        let ran = peers::run(&program, &[flag, &example], &server.world.workspace(), &[]);
        assert_eq!(ran.code, Some(0), "{example}\n{}{}", ran.stdout, ran.stderr);
        ran.stdout
    };
    let [curl, python] = ["bash", "python"].map(|language| examples(document, language));
    assert!(curl.len() > 2 && python.len() > 1, "there are examples");
    for example in curl {
        let printed = run("bash".into(), "-euc", example);
        assert!(!printed.is_empty() && !printed.contains("/problems/"), "{example}\n{printed}");
    }
    for example in python {
        let client = if example.contains("anthropic") { ANTHROPIC } else { OPENAI };
        let Some(folder) = peers::installed(client, "_clients") else { continue };
        let printed = run(folder.join("bin/python"), "-c", example);
        assert!(printed.contains("harbour.rs"), "{example}\n{printed}");
    }
}

/// The examples in a language below the heading `API`.
fn examples<'a>(document: &'a str, language: &str) -> Vec<&'a str> {
    let (_, api) = document.split_once("\n## API\n").unwrap();
    let api = api.split("\n## ").next().unwrap();
    let fence = format!("```{language}\n");
    api.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}
