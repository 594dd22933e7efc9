//! The other side: a client of a server that nobody vouches for.
//!
//! It may be silent, flood, lie, or end at any time. Whatever it does, a call ends in a bounded text or in a
//! [`ClientError`], within the time that it was given.

mod events;
mod listener;
mod pipe;
mod posts;
mod said;

use std::{collections::BTreeSet, io, sync::Arc, time::Duration};

use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest, ListToolsRequest,
        PaginatedRequestParams, ProtocolVersion, RequestId, ServerResult,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, PeerRequestOptions, RunningService, serve_client_with_lifecycle,
    },
    transport::Transport,
};
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

use listener::Listener;
use pipe::{Fault, Pipe, Trouble};
use posts::Posts;

pub use posts::{Pieces, Posted, Posting};
pub use said::Said;

/// The most tools of one server.
const TOOLS: usize = 256;
/// The most pages of their list.
const PAGES: usize = 64;
/// The most bytes of all that is told of them.
const TOLD: usize = 1 << 20;

/// A connection to a server. It ends when this is dropped.
pub struct Client {
    running: RunningService<RoleClient, Arc<Listener>>,
    listener: Arc<Listener>,
    fault: Arc<Fault>,
}

/// What a server says of a tool. Its annotations are left out: nothing may follow from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// What it calls the tool.
    pub name: String,
    /// What the tool does, in its words.
    pub description: String,
    /// What the input looks like, as JSON Schema.
    pub schema: Value,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// No session began.
    #[error("the server did not begin a session: {0}")]
    Beginning(String),
    /// It has ended, or cannot be reached any more.
    #[error("the server has ended the connection{0}")]
    Ended(String),
    /// It took too long.
    #[error("the server did not answer within {} s", .0.as_secs_f32())]
    OutOfTime(Duration),
    /// It answered with an error of the protocol.
    #[error("the server answered with error {code}: {text}")]
    Refused {
        /// The number of the protocol.
        code: i32,
        /// What it said, clipped.
        text: String,
    },
    /// What it answered is no answer to what was asked.
    #[error("the server gave no answer to what was asked: {0}")]
    Wrong(String),
    /// It says more than anybody would read.
    #[error("the server says too much: {0}")]
    TooMuch(String),
}

impl Client {
    /// Speaks to a server over two streams.
    pub async fn over_streams<R, W>(input: R, output: W, patience: Duration) -> Result<Self, ClientError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (fault, listener) = (Arc::new(Fault::default()), Arc::new(Listener::default()));
        let pipe = Pipe::new(input, output, Arc::clone(&fault), Arc::clone(&listener));
        Self::begin(pipe, fault, listener, patience).await
    }

    /// Speaks to a server by requests over HTTP.
    pub async fn over_http(posting: Arc<dyn Posting>, patience: Duration) -> Result<Self, ClientError> {
        let (fault, listener) = (Arc::new(Fault::default()), Arc::new(Listener::default()));
        let posts = Posts::new(posting, Arc::clone(&fault), Arc::clone(&listener));
        Self::begin(posts, fault, listener, patience).await
    }

    /// Begins a session: in the newest way, or if the server does not know that, in the one before it.
    async fn begin<T>(
        transport: T,
        fault: Arc<Fault>,
        listener: Arc<Listener>,
        patience: Duration,
    ) -> Result<Self, ClientError>
    where
        T: Transport<RoleClient, Error = io::Error> + 'static,
    {
        let lifecycle = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        let beginning = serve_client_with_lifecycle(Arc::clone(&listener), transport, lifecycle);
        match timeout(patience, beginning).await {
            Ok(Ok(running)) => Ok(Self { running, listener, fault }),
            Ok(Err(error)) => Err(not_begun(&error, &fault)),
            Err(_) => Err(ClientError::OutOfTime(patience)),
        }
    }

    /// The tools that the server has now.
    pub async fn tools(&self, patience: Duration) -> Result<Vec<Told>, ClientError> {
        self.listener.looked();
        timeout(patience, self.all_tools(patience)).await.unwrap_or(Err(ClientError::OutOfTime(patience)))
    }

    /// Whether the server has said since they were last asked for that its tools are others now.
    pub fn has_changed(&self) -> bool {
        self.listener.has_changed()
    }

    /// Whether nothing comes from the server any more.
    pub fn has_ended(&self) -> bool {
        self.running.is_closed() || self.fault.trouble().is_some()
    }

    /// Calls a tool. The server is told if this is dropped before there is an answer.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        progress: impl Fn(&str) + Send + Sync + 'static,
        patience: Duration,
    ) -> Result<Said, ClientError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let heard = self.ask(request, Some(Box::new(progress)), patience).await?;
        match heard {
            ServerResult::CallToolResult(result) => Ok(Said::of(result)),
            ServerResult::InputRequiredResult(_) => {
                Err(ClientError::Wrong("it wants to be told more by a person, which is not offered".to_owned()))
            }
            ServerResult::CreateTaskResult(_) => {
                Err(ClientError::Wrong("it made a task of the call, which was not asked for".to_owned()))
            }
            _ => Err(ClientError::Wrong("it has not the form of a result of a tool".to_owned())),
        }
    }

    async fn all_tools(&self, patience: Duration) -> Result<Vec<Told>, ClientError> {
        let (mut told, mut bytes, mut cursor, mut cursors) = (Vec::new(), 0, None, BTreeSet::new());
        for _ in 0..PAGES {
            let params = Some(PaginatedRequestParams::default().with_cursor(cursor));
            let request = ListToolsRequest { method: Default::default(), params, extensions: Default::default() };
            let heard = self.ask(ClientRequest::ListToolsRequest(request), None, patience).await?;
            let ServerResult::ListToolsResult(page) = heard else {
                return Err(ClientError::Wrong("it has not the form of a list of tools".to_owned()));
            };
            for tool in page.tools {
                let schema = Value::Object(tool.input_schema.as_ref().clone());
                let description = tool.description.map(String::from).unwrap_or_default();
                bytes += tool.name.len() + description.len() + schema.to_string().len();
                told.push(Told { name: tool.name.into_owned(), description, schema });
                if told.len() > TOOLS || bytes > TOLD {
                    return Err(ClientError::TooMuch(format!(
                        "of its tools {TOOLS} with {} KiB of text are listened to",
                        TOLD >> 10
                    )));
                }
            }
            cursor = page.next_cursor;
            match &cursor {
                None => return Ok(told),
                Some(next) if cursors.insert(next.clone()) => {}
                Some(_) => return Err(ClientError::Wrong("the list of its tools goes in a circle".to_owned())),
            }
        }
        Err(ClientError::TooMuch(format!("the list of its tools has more than {PAGES} pages")))
    }

    /// Asks for something, and waits no longer than this.
    async fn ask(
        &self,
        request: ClientRequest,
        progress: Option<listener::Hear>,
        patience: Duration,
    ) -> Result<ServerResult, ClientError> {
        let peer = self.running.peer();
        let options = PeerRequestOptions::with_timeout(patience);
        let sending = timeout(patience, peer.send_request_with_option(request, options));
        let sent = sending.await.map_err(|_| ClientError::OutOfTime(patience))?;
        let handle = sent.map_err(|error| self.failed(error))?;
        let _hearing = progress.map(|hear| self.listener.hear(handle.progress_token.clone(), hear));
        let mut unanswered = Unanswered { peer: peer.clone(), id: Some(handle.id.clone()) };
        let answer = handle.await_response().await;
        unanswered.id = None;
        answer.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: ServiceError) -> ClientError {
        match (self.fault.trouble(), error) {
            (_, ServiceError::McpError(error)) => {
                ClientError::Refused { code: error.code.0, text: palisade_agent::clip(&error.message, 2048) }
            }
            (_, ServiceError::Timeout { timeout }) => ClientError::OutOfTime(timeout),
            (_, ServiceError::UnexpectedResponse) => ClientError::Wrong("it is of another form".to_owned()),
            (Some(trouble), _) => trouble.error(),
            (None, ServiceError::TransportSend(error)) => {
                ClientError::Ended(format!(": {}", palisade_agent::clip(&error.to_string(), 512)))
            }
            (None, _) => ClientError::Ended(String::new()),
        }
    }
}

impl Trouble {
    fn error(&self) -> ClientError {
        match self {
            Self::TooLong => ClientError::TooMuch("one message is longer than 8 MiB".to_owned()),
            Self::Garbage => ClientError::Wrong("it writes what is no message of the protocol".to_owned()),
            Self::Ended(why) if why.is_empty() => ClientError::Ended(String::new()),
            Self::Ended(why) => ClientError::Ended(format!(": {why}")),
        }
    }
}

fn not_begun(error: &ClientInitializeError, fault: &Fault) -> ClientError {
    match (fault.trouble(), error) {
        (Some(trouble), _) => trouble.error(),
        (None, ClientInitializeError::ConnectionClosed(_)) => ClientError::Ended(String::new()),
        (None, error) => ClientError::Beginning(palisade_agent::clip(&error.to_string(), 512)),
    }
}

/// Tells the server if nobody waits for an answer any more.
struct Unanswered {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let nobody_waits = CancelledNotificationParam::new(Some(id), Some("nobody waits for it".to_owned()));
            drop(peer.notify_cancelled(nobody_waits).await);
        });
    }
}

#[cfg(test)]
mod tests;
