use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::recover::CUT_OFF;
use super::*;
use palisade_grants::{Policy, Rule, ToolScope};

use crate::{
    Answer, Artifacts, Asker, Budget, DuplicateTool, Entry, FailureKind, Listener, OUTPUT_LIMIT, Progress,
    ProviderError, ProviderFailure, Quiet, ReplyEnd, RunLimits, Tool, ToolCall, ToolOutcome, ToolResult, ToolSpec,
    cancellation,
};

mod corrections;
mod long;
mod writing;

/// Replays replies; when there are none left, fails or never returns.
struct Script(Mutex<VecDeque<Reply>>, WhenEmpty);

#[derive(PartialEq)]
enum WhenEmpty {
    Fail,
    Hang,
}

#[async_trait]
impl Provider for Script {
    fn name(&self) -> &str {
        "script"
    }

    async fn reply(&self, _: Prompt<'_>, _: &dyn Listener) -> Result<Reply, ProviderError> {
        let next = self.0.lock().unwrap().pop_front();
        match next {
            Some(reply) => Ok(reply),
            None if self.1 == WhenEmpty::Hang => std::future::pending().await,
            None => Err(ProviderError {
                provider: "script".into(),
                kind: ProviderFailure::Exhausted,
                message: "no reply is left".into(),
            }),
        }
    }
}

fn script(replies: impl Into<VecDeque<Reply>>) -> Script {
    Script(Mutex::new(replies.into()), WhenEmpty::Fail)
}

type Deed = dyn Fn(&str, &Progress) -> Option<ToolResult> + Send + Sync;

/// A tool made of a closure; `None` never returns.
struct Closure(ToolSpec, Box<Deed>);

#[async_trait]
impl Tool for Closure {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, input: &str, progress: &Progress) -> ToolResult {
        match (self.1)(input, progress) {
            Some(result) => result,
            None => std::future::pending().await,
        }
    }
}

fn tool(name: &str, deed: impl Fn(&str, &Progress) -> Option<ToolResult> + Send + Sync + 'static) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: name.into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        capabilities: vec![],
        read_only: true,
        idempotent: true,
    };
    Arc::new(Closure(spec, Box::new(deed)))
}

fn toolbox() -> Toolbox {
    Toolbox::new(vec![
        tool("echo", |input, _| Some(ToolResult::done(input))),
        tool("hang", |_, progress| {
            progress.report("waiting");
            None
        }),
        tool("flood", |_, _| Some(ToolResult::done("x".repeat(OUTPUT_LIMIT + 10)))),
    ])
    .unwrap()
}

fn agent(budget: Budget) -> Agent {
    let Budget { steps, tokens, calls, cost, time, depth } = budget;
    let budget = RunLimits { steps: Some(steps), tokens, calls, cost, time: Some(time), depth: Some(depth) };
    Agent { budget, ..Agent::new("clerk", "Tests.") }
}

const PLENTY: Budget =
    Budget { steps: 9, tokens: None, calls: None, cost: None, depth: 3, time: Duration::from_secs(60) };

fn call(id: &str, tool: &str, input: Value) -> ToolCall {
    ToolCall { id: id.into(), tool: tool.into(), input }
}

fn calls(calls: Vec<ToolCall>) -> Reply {
    Reply { calls, ..Reply::default() }
}

fn user(text: &str) -> Entry {
    Entry::User { text: text.into() }
}

fn replied(text: &str, calls: Vec<ToolCall>) -> Entry {
    Entry::Reply { text: text.into(), thinking: String::new(), calls, kept: None }
}

fn done(id: &str, text: &str) -> Entry {
    Entry::Result { id: id.into(), result: ToolResult::done(text) }
}

fn failed(id: &str, kind: FailureKind, text: &str) -> Entry {
    Entry::Result { id: id.into(), result: ToolResult::failed(kind, text) }
}

async fn run(script: Script, budget: Budget) -> (Result<Outcome, RunError>, Vec<Entry>) {
    let (agent, toolbox) = (agent(budget), toolbox());
    let mut run = Run::new(&agent, &script, &toolbox, &Quiet, Cancellation::never(), Transcript::new());
    let outcome = run.answer("do it").await;
    (outcome, run.transcript().entries().to_vec())
}

#[tokio::test]
async fn calls_are_made_until_the_model_answers() {
    let wanted = vec![call("1", "echo", json!({"a": 1})), call("2", "echo", json!({"b": 2}))];
    let (outcome, entries) = run(script([calls(wanted.clone()), Reply::answer("done")]), PLENTY).await;
    assert_eq!(outcome, Ok(Outcome::Answered("done".into())));
    let expected =
        [user("do it"), replied("", wanted), done("1", r#"{"a":1}"#), done("2", r#"{"b":2}"#), replied("done", vec![])];
    assert_eq!(entries, expected);
}

#[tokio::test]
async fn a_wrong_call_is_a_result_the_model_can_correct() {
    let wanted = vec![call("1", "rm", json!({})), call("2", "echo", json!("text"))];
    let (_, entries) = run(script([calls(wanted.clone()), Reply::answer("ok")]), PLENTY).await;
    let expected = [
        user("do it"),
        replied("", wanted),
        failed("1", FailureKind::UnknownTool, "there is no tool `rm`; this agent has: echo, hang, flood"),
        failed(
            "2",
            FailureKind::InvalidInput,
            r#"the input of `echo` must be a JSON object, such as {"name": "value"}"#,
        ),
        replied("ok", vec![]),
    ];
    assert_eq!(entries, expected);
}

#[tokio::test]
async fn calls_over_the_limit_are_dropped_and_the_model_is_told() {
    let wanted: Vec<_> = (0..10_000).map(|id| call(&id.to_string(), "echo", json!({ "id": id }))).collect();
    let (_, entries) = run(script([calls(wanted), Reply::answer("ok")]), PLENTY).await;
    let results = entries.iter().filter(|entry| matches!(entry, Entry::Result { .. })).count();
    assert_eq!(results, CALLS_PER_REPLY);
    let Entry::Notice { text } = &entries[2 + CALLS_PER_REPLY] else { panic!("{entries:?}") };
    assert!(text.starts_with("9968 further calls of your reply were dropped"), "{text}");
}

#[tokio::test]
async fn long_output_is_clipped_and_says_so() {
    let (_, entries) = run(script([calls(vec![call("1", "flood", json!({}))]), Reply::answer("ok")]), PLENTY).await;
    let Entry::Result { result, .. } = &entries[2] else { panic!("{entries:?}") };
    assert!(result.text().len() < OUTPUT_LIMIT + 64);
    assert!(result.text().contains("\n… 10 bytes omitted …\n"));
    assert_eq!(result.artifact, None);
}

/// Remembers what it was given.
#[derive(Default)]
struct Shelf(Mutex<Vec<(String, usize)>>);

impl Artifacts for Shelf {
    fn keep(&self, call: &ToolCall, output: &str) -> Option<String> {
        self.0.lock().unwrap().push((call.id.clone(), output.len()));
        Some(format!("shelf/{}", call.id))
    }
}

#[tokio::test]
async fn the_whole_of_a_clipped_output_is_kept() {
    let shelf = Arc::new(Shelf::default());
    let toolbox = toolbox().keeping(Arc::clone(&shelf) as Arc<dyn Artifacts>);
    let result = toolbox.call(&call("1", "flood", json!({})), &Progress::unheard()).await;
    assert_eq!(result.artifact.as_deref(), Some("shelf/1"));
    assert!(toolbox.call(&call("2", "echo", json!({})), &Progress::unheard()).await.artifact.is_none());
    assert_eq!(*shelf.0.lock().unwrap(), [("1".to_owned(), OUTPUT_LIMIT + 10)]);
}

#[tokio::test]
async fn a_run_ends_when_its_steps_are_spent() {
    let again = || calls(vec![call("1", "echo", json!({}))]);
    let (outcome, entries) = run(script([again(), again(), again()]), Budget { steps: 2, ..PLENTY }).await;
    assert_eq!(outcome, Ok(Outcome::Spent(Spent::Steps)));
    let last = call("1-1", "echo", json!({}));
    let expected = [
        user("do it"),
        replied("", vec![call("1", "echo", json!({}))]),
        done("1", "{}"),
        replied("", vec![last]),
        done("1-1", "{}"),
    ];
    assert_eq!(entries, expected);
}

#[tokio::test]
async fn a_run_out_of_time_keeps_what_was_done_and_closes_what_was_not() {
    let wanted = vec![call("1", "hang", json!({})), call("2", "echo", json!({}))];
    let (outcome, entries) =
        run(script([calls(wanted.clone())]), Budget { time: Duration::from_millis(50), ..PLENTY }).await;
    assert_eq!(outcome, Ok(Outcome::Spent(Spent::Time)));
    let expected = [user("do it"), replied("", wanted), failed("1", FailureKind::Cancelled, CUT_OFF), done("2", "{}")];
    assert_eq!(entries, expected);
}

#[tokio::test]
async fn a_silent_provider_is_not_waited_for_beyond_the_time() {
    let hanging = Script(Mutex::default(), WhenEmpty::Hang);
    let (outcome, entries) = run(hanging, Budget { time: Duration::from_millis(20), ..PLENTY }).await;
    assert_eq!(outcome, Ok(Outcome::Spent(Spent::Time)));
    assert_eq!(entries, [user("do it")]);
}

#[tokio::test]
async fn a_provider_failure_is_an_error_and_the_transcript_stays() {
    let wanted = vec![call("1", "echo", json!({}))];
    let (outcome, entries) = run(script([calls(wanted.clone())]), PLENTY).await;
    assert_eq!(outcome.unwrap_err().to_string(), "no reply from script: no reply is left");
    assert_eq!(entries, [user("do it"), replied("", wanted), done("1", "{}")]);
}

#[tokio::test]
async fn cancelling_drops_the_calls_and_every_start_has_its_end() {
    let (agent, toolbox) = (agent(PLENTY), toolbox());
    let wanted = vec![call("1", "hang", json!({})), call("2", "hang", json!({}))];
    let script = script([calls(wanted.clone())]);
    let (canceller, cancellation) = cancellation();
    let events = Mutex::new(Vec::new());
    // The call cancels its own run as soon as it has said something.
    let watcher = |event: Event| {
        if matches!(&event, Event::CallProgress { id, .. } if id == "2") {
            canceller.cancel();
        }
        events.lock().unwrap().push(event);
    };
    let mut run = Run::new(&agent, &script, &toolbox, &watcher, cancellation, Transcript::new());
    assert_eq!(run.answer("do it").await, Ok(Outcome::Cancelled));

    let closed = |id| failed(id, FailureKind::Cancelled, CUT_OFF);
    assert_eq!(run.transcript().entries(), [user("do it"), replied("", wanted), closed("1"), closed("2")]);
    let told: Vec<Value> = events.lock().unwrap().iter().map(|event| json!(event)).collect();
    let names: Vec<(&str, Option<&str>)> =
        told.iter().map(|event| (event["event"].as_str().unwrap(), event["id"].as_str())).collect();
    let expected = [
        ("run_started", None),
        ("step_started", None),
        ("model_replied", None),
        ("call_started", Some("1")),
        ("call_started", Some("2")),
        ("call_progress", Some("1")),
        ("call_progress", Some("2")),
        ("call_finished", Some("1")),
        ("call_finished", Some("2")),
        ("run_ended", None),
    ];
    assert_eq!(names, expected);
    assert_eq!(told.last().unwrap()["ending"], json!("cancelled"));
}

#[tokio::test]
async fn a_run_goes_on_from_an_earlier_transcript() {
    let (agent, toolbox, script) = (agent(PLENTY), toolbox(), script([Reply::answer("one"), Reply::answer("two")]));
    let mut transcript = Transcript::new();
    for task in ["first", "second"] {
        let mut run = Run::new(&agent, &script, &toolbox, &Quiet, Cancellation::never(), transcript);
        run.answer(task).await.unwrap();
        transcript = run.into_transcript();
    }
    let expected = [user("first"), replied("one", vec![]), user("second"), replied("two", vec![])];
    assert_eq!(transcript.entries(), expected);
}

#[tokio::test]
async fn calls_of_a_run_that_was_dropped_are_closed_by_the_next() {
    let (agent, toolbox, script) = (agent(PLENTY), toolbox(), script([Reply::answer("ok")]));
    let mut transcript = Transcript::new();
    transcript.record_reply(&calls(vec![call("1", "hang", json!({}))]));
    let mut run = Run::new(&agent, &script, &toolbox, &Quiet, Cancellation::never(), transcript);
    run.answer("again").await.unwrap();
    let open = replied("", vec![call("1", "hang", json!({}))]);
    let closed = failed("1", FailureKind::Cancelled, CUT_OFF);
    assert_eq!(run.transcript().entries(), [open, closed, user("again"), replied("ok", vec![])]);
}

#[test]
fn two_tools_of_one_name_are_refused() {
    let twice = vec![tool("echo", |_, _| None), tool("echo", |_, _| None)];
    assert_eq!(Toolbox::new(twice).err(), Some(DuplicateTool { name: "echo".into() }));
}

/// Says the same to everything, and remembers why it was asked.
struct Oracle(Answer, Mutex<Vec<String>>);

#[async_trait]
impl Asker for Oracle {
    async fn ask(&self, call: &ToolCall, why: &str) -> Answer {
        self.1.lock().unwrap().push(format!("{}: {why}", call.tool));
        self.0
    }
}

fn asks_about_echo() -> ToolScope {
    let ask = vec![Rule::parse("echo").unwrap()];
    ToolScope { permissions: Policy { ask, ..Policy::default() }, ..ToolScope::default() }
}

/// CF-32
#[tokio::test]
async fn what_a_rule_asks_about_is_made_if_somebody_says_yes() {
    for (answer, is_made) in [(Answer::Yes, true), (Answer::No, false)] {
        let oracle = Arc::new(Oracle(answer, Mutex::default()));
        let toolbox = toolbox().ruled_by(asks_about_echo()).asking(Arc::clone(&oracle) as Arc<dyn Asker>);
        let result = toolbox.call(&call("1", "echo", json!({})), &Progress::unheard()).await;
        assert_eq!(result.is_done(), is_made, "{result:?}");
        assert_eq!(oracle.1.lock().unwrap().len(), 1);
    }
}

/// CF-32, CF-33
#[tokio::test]
async fn what_a_rule_asks_about_is_refused_if_there_is_nobody_to_ask() {
    let result = toolbox().ruled_by(asks_about_echo()).call(&call("1", "echo", json!({})), &Progress::unheard()).await;
    let ToolOutcome::Failed { kind: FailureKind::Denied, text } = result.outcome else { panic!("{result:?}") };
    assert!(text.starts_with("`echo` is refused:") && text.contains("nobody to ask"), "{text}");
}

/// E13, G2, F13
#[tokio::test]
async fn every_call_is_held_against_the_rules_and_the_others_go_on() {
    let deny = vec![Rule::parse("flood").unwrap()];
    let scope = ToolScope { disallowed: deny, ..ToolScope::default() };
    let toolbox = toolbox().ruled_by(scope);
    let refused = toolbox.call(&call("1", "functions.Flood", json!({})), &Progress::unheard()).await;
    assert!(matches!(refused.outcome, ToolOutcome::Failed { kind: FailureKind::Denied, .. }), "{refused:?}");
    assert!(toolbox.call(&call("2", "Echo", json!({})), &Progress::unheard()).await.is_done());
}
