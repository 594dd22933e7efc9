//! Every dialect against servers that nobody here wrote: npm `@copilotkit/aimock`, which is itself held
//! against the real ones. `just test` installs it; where it cannot be, these tests are skipped, but not in CI.

#![expect(clippy::disallowed_methods, reason = "a test asks where it runs and starts the server it speaks to")]

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use palisade_agent::{
    Agent, Cancellation, Entry, Event, Outcome, Progress, ProviderFailure, Run, RunError, Tool, ToolResult, ToolSpec,
    Toolbox, Transcript,
};
use palisade_model::{Dialect, Patience, connect};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::recorded::RECORDED;
use super::world::{PATIENCE, connection};

/// The other server. It ends when this does.
struct Mock {
    url: String,
    _process: Child,
}

impl Mock {
    /// Starts it; none where it cannot be started.
    async fn start() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let package = root.join("../../target/aimock/node_modules/@copilotkit/aimock");
        let script = root.join("tests/aimock/serve.mjs");
        let mut command = Command::new("node");
        command.arg(script).arg(&package).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let started = package.is_dir().then(|| command.spawn().ok()).flatten();
        let Some(mut process) = started else {
            let why = "SKIPPED: @copilotkit/aimock or node is not here; `tests/prepare models` installs them";
            assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{why}");
            #[expect(clippy::print_stderr, reason = "what is not tested must not go unseen")]
            {
                eprintln!("{why}");
            }
            return None;
        };
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = lines.next_line().await.unwrap().unwrap();
        Some(Self { url, _process: process })
    }

    /// Works on a task in the real loop, with a tool that says what is in a file.
    async fn run(&self, dialect: Dialect, task: &str) -> Worked {
        let patience = Patience { retries: 1, ..PATIENCE };
        let mut connection = connection(dialect, &self.url, patience);
        // The server counts per test which answer is next.
        connection.headers.insert("x-test-id".into(), format!("{dialect:?}"));
        let provider = connect(connection).unwrap();
        let reader = Arc::new(Read::new());
        let toolbox = Toolbox::new(vec![reader.clone()]).unwrap();
        let (agent, again) = (Agent::new("tester", "Tests."), AtomicUsize::new(0));
        let watcher = |event: Event| {
            again.fetch_add(usize::from(matches!(event, Event::ReplyAgain { .. })), Ordering::SeqCst);
        };
        let mut run = Run::new(&agent, &*provider, &toolbox, &watcher, Cancellation::never(), Transcript::new());
        let outcome = run.answer(task).await;
        let transcript = run.into_transcript();
        let (calls, again) = (reader.calls.load(Ordering::SeqCst), again.into_inner());
        Worked { outcome, transcript, calls, again }
    }
}

/// What came of a task.
struct Worked {
    outcome: Result<Outcome, RunError>,
    transcript: Transcript,
    /// How often the tool was called.
    calls: usize,
    /// How often the model was asked again.
    again: usize,
}

/// A tool that counts how often it is called.
struct Read {
    spec: ToolSpec,
    calls: AtomicUsize,
}

impl Read {
    fn new() -> Self {
        let spec = ToolSpec {
            name: "read".into(),
            description: "Reads a file.".into(),
            input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
            capabilities: vec!["fs.read".into()],
            read_only: true,
            idempotent: true,
        };
        Self { spec, calls: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, input: &str, _: &Progress) -> ToolResult {
        self.calls.fetch_add(1, Ordering::SeqCst);
        assert_eq!(input, r#"{"path":"größe.txt"}"#);
        ToolResult::done("the answer is 42")
    }
}

/// Works on a task in every dialect, and checks the answer, how often the tool was called, and how
/// often the model was asked again.
async fn check(task: &str, answer: &str, calls: usize, again: usize) {
    let Some(mock) = Mock::start().await else { return };
    for recorded in RECORDED {
        let worked = mock.run(recorded.dialect, task).await;
        assert_eq!(worked.outcome, Ok(Outcome::Answered(answer.to_owned())), "{:?}", recorded.dialect);
        assert_eq!((worked.calls, worked.again), (calls, again), "{:?}", recorded.dialect);
        let kinds: Vec<&str> = worked.transcript.entries().iter().map(kind).collect();
        let expected: &[&str] = if calls == 1 { &["user", "reply", "result", "reply"] } else { &["user", "reply"] };
        assert_eq!(kinds, expected, "{:?}", recorded.dialect);
    }
}

fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::User { .. } => "user",
        Entry::Reply { .. } => "reply",
        Entry::Result { .. } => "result",
        Entry::Notice { .. } => "notice",
        Entry::Summary { .. } => "summary",
    }
}

#[tokio::test]
async fn a_text_is_the_answer() {
    check("say hello", "Hello — from a mock.", 0, 0).await;
}

#[tokio::test]
async fn a_call_and_its_result_lead_to_the_answer() {
    check("read the file", "It says 42.", 1, 0).await;
}

/// PROV-02
#[tokio::test]
async fn a_server_out_of_order_is_asked_again() {
    check("break first", "In order again.", 0, 1).await;
}

/// PROV-01
#[tokio::test]
async fn a_busy_server_is_asked_again() {
    check("be busy first", "Free again.", 0, 1).await;
}

/// PROV-03
#[tokio::test]
async fn a_connection_lost_inside_a_call_executes_it_once() {
    check("hang up first", "It says 42.", 1, 1).await;
}

/// PROV-02, PROV-06
#[tokio::test]
async fn nonsense_and_refusals_are_typed_and_leave_the_transcript_as_it_was() {
    let Some(mock) = Mock::start().await else { return };
    let tasks = [("talk nonsense", ProviderFailure::Malformed), ("refuse the key", ProviderFailure::Unauthorized)];
    for (recorded, (task, expected)) in RECORDED.iter().flat_map(|recorded| tasks.map(|task| (recorded, task))) {
        let worked = mock.run(recorded.dialect, task).await;
        let Err(RunError::Provider(error)) = &worked.outcome else { panic!("{task}: {:?}", worked.outcome) };
        assert_eq!((error.kind, worked.calls), (expected, 0), "{:?}: {error}", recorded.dialect);
        assert_eq!(worked.transcript.entries().len(), 1);
    }
}
