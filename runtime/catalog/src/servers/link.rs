//! The connection of one agent to one server: made when a tool is first called, kept until the agent's tools are gone.
//! No two agents share one, so that none finds what another has left there.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use palisade_agent::Progress;
use palisade_grants::Grants;
use palisade_mcp::{Client, ClientError, Said, Told};
use palisade_sandbox::{Failure, KeptProgram, Scope, ServiceProgram};
use serde_json::{Map, Value};
use tokio::{net::unix::pipe, sync::Mutex};

use crate::{PinnedTool, Server, definition::Connection, servers::posting::ToServer};

/// How long a server may take to begin, and likewise each call, if nobody says.
const TIME: Duration = Duration::from_secs(60);

/// How often a server that ended is started again for one agent.
const STARTS: usize = 8;

/// The connection of one agent to one server.
pub(crate) struct Link {
    server: Arc<Server>,
    scope: Arc<Scope>,
    /// What the server may touch.
    grants: Grants,
    /// What the server said of the agent's tools when it was met, by the names it has for them.
    pinned: BTreeMap<String, PinnedTool>,
    live: Mutex<Option<Arc<Live>>>,
    starts: AtomicUsize,
}

/// A connection that was made.
pub(super) struct Live {
    /// Before the program, so that it is told first.
    client: Client,
    program: Option<Arc<KeptProgram>>,
    /// Tools that are not what they were, with what is said of that.
    refused: RwLock<BTreeMap<String, String>>,
}

/// Why a call came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unserved {
    /// It is not allowed.
    Denied(Failure),
    /// The tool is not what it was.
    Changed(String),
    /// The server did not do what it should.
    Server(ClientError, String),
}

impl Link {
    pub(crate) fn new(
        server: &Arc<Server>,
        scope: &Arc<Scope>,
        grants: Grants,
        pinned: BTreeMap<String, PinnedTool>,
    ) -> Self {
        let (server, scope) = (Arc::clone(server), Arc::clone(scope));
        Self { server, scope, grants, pinned, live: Mutex::new(None), starts: AtomicUsize::new(0) }
    }

    /// Calls a tool. If nobody waits any more, the server is told so.
    pub(crate) async fn call(
        self: &Arc<Self>,
        tool: &str,
        input: Map<String, Value>,
        progress: &Progress,
    ) -> Result<Said, Unserved> {
        let (own, tool, progress) = (Arc::clone(self), tool.to_owned(), progress.clone());
        // What goes on between two calls needs somebody who lives longer than one.
        let task = self.scope.spawn(async move { own.make(&tool, input, progress).await });
        let _given_up = EndsTask(task.abort_handle());
        let ended = |_| Err(Unserved::Server(ClientError::Ended(String::new()), String::new()));
        task.await.unwrap_or_else(ended)
    }

    async fn make(&self, tool: &str, input: Map<String, Value>, progress: Progress) -> Result<Said, Unserved> {
        let live = self.live().await?;
        if live.client.has_changed() {
            let told = live.tools(self.time()).await?;
            live.compare(&self.server.name, &self.pinned, &told);
        }
        if let Some(why) = live.refused(tool) {
            return Err(Unserved::Changed(why));
        }
        let hear = move |message: &str| progress.report(message);
        match live.client.call(tool, input, hear, self.time()).await {
            Ok(said) => Ok(said),
            Err(error) => Err(live.failed(error).await),
        }
    }

    fn time(&self) -> Duration {
        self.server.time.unwrap_or(TIME)
    }

    /// The connection; one that ended is made again, but not without end.
    async fn live(&self) -> Result<Arc<Live>, Unserved> {
        let mut live = self.live.lock().await;
        if let Some(live) = live.as_ref().filter(|live| !live.client.has_ended()) {
            return Ok(Arc::clone(live));
        }
        // What is left of the one before ends first, and that may take a moment.
        let before = live.take();
        drop(tokio::task::spawn_blocking(move || drop(before)).await);
        if self.starts.fetch_add(1, Ordering::Relaxed) >= STARTS {
            let why = format!(": it ended {STARTS} times, so it is not started again in this run");
            return Err(Unserved::Server(ClientError::Ended(why), String::new()));
        }
        let made = connect(&self.server, &self.scope, &self.grants, self.time()).await?;
        let told = made.tools(self.time()).await?;
        made.compare(&self.server.name, &self.pinned, &told);
        Ok(Arc::clone(live.insert(Arc::new(made))))
    }
}

/// Starts a server, or speaks to it, with no more than these grants.
pub(super) async fn connect(
    server: &Server,
    scope: &Scope,
    grants: &Grants,
    patience: Duration,
) -> Result<Live, Unserved> {
    let refused = RwLock::default();
    match &server.connection {
        Some(Connection::Program { program, arguments, env }) => {
            let nothing = || Unserved::Denied(Failure::Refused("native programs cannot be run here".to_owned()));
            let service = ServiceProgram {
                name: server.command(),
                program: program.clone(),
                arguments: arguments.clone(),
                env: env.clone(),
                programs: server.programs.clone().ok_or_else(nothing)?,
            };
            let mut program = scope.keep_program(&service, grants).map_err(Unserved::Denied)?;
            let failed =
                |error: std::io::Error| Unserved::Server(ClientError::Beginning(error.to_string()), String::new());
            let (input, output) = program.pipes().ok_or_else(nothing)?;
            let input = pipe::Sender::from_owned_fd(input).map_err(failed)?;
            let output = pipe::Receiver::from_owned_fd(output).map_err(failed)?;
            match Client::over_streams(output, input, patience).await {
                Ok(client) => Ok(Live { client, program: Some(Arc::new(program)), refused }),
                Err(error) => {
                    let words = tokio::task::spawn_blocking(move || program.last_words()).await;
                    Err(Unserved::Server(error, with_advice(words.unwrap_or_default(), &server.name)))
                }
            }
        }
        Some(Connection::Http { url, headers }) => {
            let headers = headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect();
            let to_server = ToServer { outlet: scope.outlet(grants), url: url.clone(), headers, patience };
            let client = Client::over_http(Arc::new(to_server), patience).await;
            let client = client.map_err(|error| Unserved::Server(error, String::new()))?;
            Ok(Live { client, program: None, refused })
        }
        None => Err(Unserved::Denied(Failure::Refused("nobody says how it is spoken to".to_owned()))),
    }
}

/// What a program said last; for one that was installed where it cannot be read, with what would help.
fn with_advice(words: String, server: &str) -> String {
    let lower = words.to_lowercase();
    match ["permission denied", "eacces", "no such file", "not found"].iter().any(|sign| lower.contains(sign)) {
        true => format!(
            "{words}; it sees the workspace and the folders of the system: `[mcp.{server}] read = [\"/folder\"]` in your \
             configuration lets it read more, such as where it is installed"
        ),
        false => words,
    }
}

impl Live {
    /// The tools that the server has now.
    pub(super) async fn tools(&self, patience: Duration) -> Result<Vec<Told>, Unserved> {
        match self.client.tools(patience).await {
            Ok(told) => Ok(told),
            Err(error) => Err(self.failed(error).await),
        }
    }

    fn refused(&self, tool: &str) -> Option<String> {
        self.refused.read().unwrap_or_else(PoisonError::into_inner).get(tool).cloned()
    }

    /// Notes which tools are not what they were.
    fn compare(&self, server: &str, pinned: &BTreeMap<String, PinnedTool>, told: &[Told]) {
        let changed = |(name, before): (&String, &PinnedTool)| {
            let mut now = told.iter().filter(|told| told.name == *name);
            let why = match (now.next(), now.next()) {
                (Some(now), None) if pinned_as(now).pin(name) == before.pin(name) => return None,
                (Some(_), _) => "describes it otherwise than when it was met",
                (None, _) => "does not have it any more",
            };
            let text = format!(
                "the MCP server `{server}` {why}; `palisade mcp trust {server}` shows what it says now and lets it be used"
            );
            Some((name.clone(), text))
        };
        let refused = pinned.iter().filter_map(changed).collect();
        *self.refused.write().unwrap_or_else(PoisonError::into_inner) = refused;
    }

    /// What went wrong; of a program that has ended, with what it said last.
    async fn failed(&self, error: ClientError) -> Unserved {
        let is_gone = matches!(error, ClientError::Ended(_));
        let Some(program) = self.program.clone().filter(|_| is_gone) else {
            return Unserved::Server(error, String::new());
        };
        let words = tokio::task::spawn_blocking(move || program.last_words()).await;
        Unserved::Server(error, words.unwrap_or_default())
    }
}

/// What a server says of a tool, to be kept.
pub(super) fn pinned_as(told: &Told) -> PinnedTool {
    PinnedTool { description: told.description.clone(), schema: told.schema.clone() }
}

struct EndsTask(tokio::task::AbortHandle);

impl Drop for EndsTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl std::fmt::Display for Unserved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Denied(failure) => failure.fmt(f),
            Self::Changed(why) => f.write_str(why),
            Self::Server(error, words) if words.is_empty() => error.fmt(f),
            Self::Server(error, words) => write!(f, "{error}; {words}"),
        }
    }
}
