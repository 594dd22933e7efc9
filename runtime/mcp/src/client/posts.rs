//! Messages of a server over HTTP: each is sent as one request, and what comes back is one message or a stream of them.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use rmcp::{
    RoleClient,
    model::{ErrorData, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    events::Events,
    listener::Listener,
    pipe::{Fault, Trouble, read},
};
use crate::{line::MESSAGE_LIMIT, line_writer::PATIENCE};

/// How many messages may wait to be read.
const QUEUE: usize = 64;
/// The longest name of a session that is repeated to the server.
const SESSION: usize = 1024;

/// Sends requests to one address. Whether and where it may is decided by whoever implements it.
#[async_trait]
pub trait Posting: Send + Sync + 'static {
    /// Posts a body with these headers beside its own.
    async fn post(&self, headers: Vec<(String, String)>, body: Vec<u8>) -> Result<Posted, String>;

    /// Says that a session is over.
    async fn delete(&self, headers: Vec<(String, String)>) -> Result<(), String>;
}

/// What came back.
pub struct Posted {
    /// The status.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Box<dyn Pieces>,
}

/// A body that comes piece by piece.
#[async_trait]
pub trait Pieces: Send {
    /// The next piece; nothing at the end.
    async fn piece(&mut self) -> Result<Option<Vec<u8>>, String>;
}

/// Messages over HTTP.
pub(super) struct Posts {
    way: Arc<Way>,
    heard: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
    listener: Arc<Listener>,
}

/// What all requests share.
struct Way {
    posting: Arc<dyn Posting>,
    hears: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    session: Mutex<Session>,
    fault: Arc<Fault>,
    over: CancellationToken,
}

/// What a server wants to be told again with every request.
#[derive(Clone, Debug, Default)]
struct Session {
    id: Option<String>,
    version: Option<String>,
}

/// What of a message decides about its headers.
struct Outline {
    method: Option<String>,
    name: Option<String>,
    version: Option<String>,
    id: Option<RequestId>,
}

impl Posts {
    pub(super) fn new(posting: Arc<dyn Posting>, fault: Arc<Fault>, listener: Arc<Listener>) -> Self {
        let (hears, heard) = mpsc::channel(QUEUE);
        let (session, over) = (Mutex::default(), CancellationToken::new());
        Self { way: Arc::new(Way { posting, hears, session, fault, over }), heard, listener }
    }
}

impl Outline {
    fn of(message: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let params = &message["params"];
        Self {
            method: text(&message["method"]),
            name: text(&params["name"]).or_else(|| text(&params["uri"])),
            version: text(&params["_meta"]["io.modelcontextprotocol/protocolVersion"]),
            id: serde_json::from_value(message["id"].clone()).ok(),
        }
    }
}

impl Way {
    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn headers(&self, outline: &Outline) -> Vec<(String, String)> {
        let Session { id, version } = self.session().clone();
        let version = outline.version.clone().or(version).filter(|_| outline.method.as_deref() != Some("initialize"));
        let is_plain = |text: &String| !text.is_empty() && text.bytes().all(|byte| (b'!'..=b'~').contains(&byte));
        let usual = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        let usual = usual.map(|(name, value)| (name.to_owned(), value.to_owned()));
        // Without a handshake each request names what it is for those on the way.
        let is_new = outline.version.is_some();
        let own = [
            ("mcp-session-id", id),
            ("mcp-protocol-version", version),
            ("mcp-method", outline.method.clone().filter(|_| is_new)),
            ("mcp-name", outline.name.clone().filter(|_| is_new)),
        ];
        let own = own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.filter(is_plain)?)));
        usual.into_iter().chain(own).collect()
    }

    /// Sends one message, and lets what comes back be read.
    async fn post(self: Arc<Self>, message: Value) -> io::Result<()> {
        let outline = Outline::of(&message);
        let body = serde_json::to_vec(&message)?;
        let posting = self.posting.post(self.headers(&outline), body);
        let posted = tokio::select! {
            posted = posting => posted.map_err(io::Error::other)?,
            () = self.over.cancelled() => return Err(io::ErrorKind::NotConnected.into()),
        };
        let header = |name: &str| {
            posted.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
        };
        if outline.method.as_deref() == Some("initialize") {
            self.session().id = header("mcp-session-id").filter(|id| id.len() <= SESSION);
        }
        let kind = header("content-type").unwrap_or_default().to_ascii_lowercase();
        let is_stream = kind.starts_with("text/event-stream");
        let Posted { status, body, .. } = posted;
        let way = Arc::clone(&self);
        tokio::spawn(async move {
            let over = way.over.clone();
            tokio::select! {
                () = way.take(status, is_stream, body, outline) => {}
                () = over.cancelled() => {}
            }
        });
        Ok(())
    }

    /// Reads what came back. Whoever waits for an answer that is not there is told so.
    async fn take(&self, status: u16, is_stream: bool, body: Box<dyn Pieces>, outline: Outline) {
        let read = match is_stream && (200..300).contains(&status) {
            true => self.stream(body, outline.id.as_ref()).await,
            false => self.whole(status, body, &outline).await,
        };
        let why = match read {
            Ok(true) => return,
            Ok(false) => format!("it answered with the status {status} and no message"),
            Err(Trouble::Ended(why)) => why,
            Err(trouble) => {
                self.fault.set(trouble);
                self.over.cancel();
                return;
            }
        };
        if let Some(id) = outline.id {
            let error = ErrorData::internal_error(why, None);
            self.hear(RxJsonRpcMessage::<RoleClient>::error(error, Some(id))).await;
        }
    }

    /// One message; says whether the request was answered, or wants no answer.
    async fn whole(&self, status: u16, mut body: Box<dyn Pieces>, outline: &Outline) -> Result<bool, Trouble> {
        let mut text = Vec::new();
        while let Some(piece) = body.piece().await.map_err(Trouble::Ended)? {
            text.extend_from_slice(&piece);
            if text.len() > MESSAGE_LIMIT {
                return Err(Trouble::TooLong);
            }
        }
        if outline.id.is_none() {
            return Ok(true);
        }
        let Some(message) = read(&text) else {
            return Err(Trouble::Ended(format!("it answered with the status {status} and no message")));
        };
        let is_answer = self.is_answer(&message, &text, outline.id.as_ref());
        self.hear(message).await;
        Ok(is_answer)
    }

    /// Messages until the stream ends, or the answer has come.
    async fn stream(&self, mut body: Box<dyn Pieces>, id: Option<&RequestId>) -> Result<bool, Trouble> {
        let (mut events, mut answered) = (Events::default(), id.is_none());
        loop {
            let Some(piece) = body.piece().await.map_err(Trouble::Ended)? else { break };
            for text in events.push(&piece).map_err(|_| Trouble::TooLong)? {
                answered |= self.event(&text, id).await;
            }
            if answered && id.is_some() {
                return Ok(true);
            }
        }
        if let Some(text) = events.rest() {
            answered |= self.event(&text, id).await;
        }
        Ok(answered)
    }

    async fn event(&self, text: &[u8], id: Option<&RequestId>) -> bool {
        let Some(message) = read(text) else { return false };
        let is_answer = self.is_answer(&message, text, id);
        self.hear(message).await;
        is_answer
    }

    /// Whether a message answers a request; which version a server chose is repeated to it.
    fn is_answer(&self, message: &RxJsonRpcMessage<RoleClient>, text: &[u8], id: Option<&RequestId>) -> bool {
        let value: Value = serde_json::from_slice(text).unwrap_or_default();
        if let Some(version) = value["result"]["protocolVersion"].as_str() {
            self.session().version = Some(version.to_owned());
        }
        let own: Option<RequestId> = serde_json::from_value(value["id"].clone()).ok();
        match message {
            RxJsonRpcMessage::<RoleClient>::Response(_) => own.as_ref() == id,
            // An error without an id is one about the request.
            RxJsonRpcMessage::<RoleClient>::Error(_) => own.is_none() || own.as_ref() == id,
            _ => false,
        }
    }

    async fn hear(&self, message: RxJsonRpcMessage<RoleClient>) {
        // Who has left does not want to know.
        drop(self.hears.send(message).await);
    }
}

impl Transport<RoleClient> for Posts {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let way = Arc::clone(&self.way);
        async move { way.post(serde_json::to_value(&item)?).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = tokio::select! {
            biased;
            () = self.way.over.cancelled() => None,
            message = self.heard.recv() => message,
        };
        message.inspect(|message| self.listener.notice(message))
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.way.over.cancel();
        let session = self.way.session().clone();
        if let Some(id) = session.id {
            let headers = vec![("mcp-session-id".to_owned(), id)];
            drop(tokio::time::timeout(PATIENCE, self.way.posting.delete(headers)).await);
        }
        Ok(())
    }
}

impl Drop for Posts {
    fn drop(&mut self) {
        self.way.over.cancel();
    }
}
