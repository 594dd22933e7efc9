//! A server with a few odd tools, and a client that writes lines.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use palisade_agent::{
    Cancellation, Canceller, Event, FailureKind, Progress, Tool, ToolResult, ToolSpec, Toolbox, Watcher, cancellation,
};
use palisade_grants::{Access, Grants};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf},
    sync::{Notify, mpsc},
    task::JoinHandle,
};

use crate::{AgentOffer, AgentTool, Answer, Hints, Offer, Runs, ServeError, Work, serve};

/// A client, and what it is told of what happens on the other side.
pub(super) struct Client {
    input: Option<WriteHalf<DuplexStream>>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    pub(super) served: JoinHandle<Result<(), ServeError>>,
    pub(super) ends: Canceller,
    /// What tools and agents did.
    pub(super) deeds: mpsc::UnboundedReceiver<String>,
    /// Lets calls of `wait` end.
    pub(super) release: Arc<Notify>,
}

impl Client {
    /// A server that nothing was said to yet.
    pub(super) fn new() -> Self {
        let (told, deeds) = mpsc::unbounded_channel();
        let release = Arc::new(Notify::new());
        let odd = |name: &'static str| {
            let (told, release) = (told.clone(), Arc::clone(&release));
            Arc::new(Odd { spec: spec(name), told, release, under_way: AtomicUsize::new(0) }) as Arc<dyn Tool>
        };
        let tools = Toolbox::new(["echo", "refuse", "tell", "wait"].map(odd).to_vec()).unwrap();
        let offer = AgentOffer {
            name: "ferryman".to_owned(),
            description: "Carries parcels.".to_owned(),
            hints: Hints::of(&Grants::workspace(Access::ReadWrite), false),
        };
        let agent: Arc<dyn Tool> = Arc::new(AgentTool::new(&offer, Arc::new(Ferryman { told })));
        let mut hints: BTreeMap<String, Hints> =
            ["echo", "wait"].map(|name| (name.to_owned(), Hints::of(&Grants::default(), false))).into();
        hints.insert("agent_ferryman".to_owned(), offer.hints);
        let agents = Toolbox::new(vec![agent]).unwrap();
        let offer = Offer { tools, agents, hints, instructions: "Odd tools.".to_owned() };
        let (own, theirs) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(theirs);
        let (ends, told_to_end) = cancellation();
        let served = tokio::spawn(serve(offer, read, write, told_to_end));
        let (output, input) = tokio::io::split(own);
        Self { input: Some(input), output: BufReader::new(output).lines(), served, ends, deeds, release }
    }

    /// The same, after the beginning of the protocol that most clients speak.
    pub(super) async fn begun() -> Self {
        let mut client = Self::new();
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" },
        });
        client.ask(0, "initialize", params).await;
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }

    pub(super) async fn say(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    /// The next line.
    pub(super) async fn hear(&mut self) -> Value {
        let line = self.output.next_line().await.unwrap().expect("the server has left");
        serde_json::from_str(&line).unwrap()
    }

    /// Whatever else comes until the server leaves.
    pub(super) async fn hear_the_rest(&mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Some(line) = self.output.next_line().await.unwrap() {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        rest
    }

    /// Asks, and takes the next line for the answer.
    pub(super) async fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        let id = id.into();
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        let answer = self.hear().await;
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &id), "{answer}");
        answer
    }

    pub(super) async fn call(&mut self, id: impl Into<Value>, tool: &str, input: Value) -> Value {
        self.ask(id, "tools/call", json!({ "name": tool, "arguments": input })).await
    }

    /// Leaves as clients do: nothing more is said.
    pub(super) async fn leave(&mut self) {
        self.input.take().unwrap().shutdown().await.unwrap();
    }

    pub(super) async fn deed(&mut self) -> String {
        self.deeds.recv().await.unwrap()
    }
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("The odd tool `{name}`."),
        input_schema: json!({
            "type": "object",
            "properties": { "text": { "type": "string" } },
            "additionalProperties": false,
        }),
        capabilities: Vec::new(),
        read_only: false,
        idempotent: false,
    }
}

/// Does what it is called.
struct Odd {
    spec: ToolSpec,
    told: mpsc::UnboundedSender<String>,
    release: Arc<Notify>,
    under_way: AtomicUsize,
}

/// Says that a call was given up, unless it ended.
struct GivenUp<'a>(&'a Odd, bool);

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
        if !self.1 {
            self.0.told.send("given up".to_owned()).unwrap();
        }
    }
}

#[async_trait]
impl Tool for Odd {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, input: &str, progress: &Progress) -> ToolResult {
        match self.spec.name.as_str() {
            "refuse" => ToolResult::failed(FailureKind::Denied, "not granted; a grant would allow it"),
            "tell" => {
                ["one", "two", "three"].iter().for_each(|word| progress.report(word));
                ToolResult::done("told")
            }
            "wait" => {
                self.under_way.fetch_add(1, Ordering::SeqCst);
                let mut guard = GivenUp(self, false);
                let released = self.release.notified();
                self.told.send("waiting".to_owned()).unwrap();
                released.await;
                guard.1 = true;
                ToolResult::done("waited")
            }
            _ => ToolResult::done(input),
        }
    }
}

/// Works until it is told to end, unless there is nothing to carry.
struct Ferryman {
    told: mpsc::UnboundedSender<String>,
}

#[async_trait]
impl Runs for Ferryman {
    async fn run(&self, work: Work, watcher: Arc<dyn Watcher>, cancellation: Cancellation) -> Answer {
        watcher.watch(Event::StepStarted { step: 1 });
        let told = self.told.clone();
        let Work { agent, task, session } = work;
        if task != "work on" {
            let text = format!("{agent} did: {task}, in {}", session.as_deref().unwrap_or("a new session"));
            let text = if task == "sink" { Err("the ferry sank".to_owned()) } else { Ok(text) };
            return Answer { text, session: Some("s-1".to_owned()) };
        }
        // As a run does, it goes on by itself and is told to end.
        let ended = tokio::spawn(async move {
            told.send("working".to_owned()).unwrap();
            cancellation.cancelled().await;
            told.send("ended".to_owned()).unwrap();
        });
        drop(ended.await);
        Answer { text: Err("the run was cancelled".to_owned()), session: None }
    }
}
