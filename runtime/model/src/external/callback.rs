//! Where an answer comes in: a server for one session and one message, on this machine alone.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use http_body_util::{BodyExt as _, Empty, LengthLimitError, Limited};
use hyper::{
    Method, Request, Response, StatusCode, body::Incoming, header::ORIGIN, server::conn::http1, service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use palisade_agent::{ENTRY_LIMIT, ProviderFailure};
use reqwest::Url;
use tokio::net::{TcpListener, TcpStream};

use super::ExternalError;
use crate::{SessionId, dialect::Fault, wire::loopback};

/// How many connections are served at once; a machine has other programs than the one that is waited for.
const CONNECTIONS: usize = 16;

/// How long a request may take to come in.
const REQUEST_WITHIN: Duration = Duration::from_secs(10);

/// Where answers are taken: an address of this machine, and the path in front of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    socket: SocketAddr,
    /// How the definition writes it, without a port.
    host: String,
    path: String,
}

impl Address {
    /// Reads `http://127.0.0.1:4100`, `http://localhost:4100/agents`, `http://[::1]:4100`.
    pub(super) fn parse(text: &str) -> Result<Self, ExternalError> {
        let url = Url::parse(text).map_err(|error| ExternalError::Callback(error.to_string()))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let Some(address) = loopback(&url) else { return Err(ExternalError::Elsewhere(text.to_owned())) };
        let Some(port) = url.port().filter(|_| url.scheme() == "http") else {
            return Err(ExternalError::Callback(format!("{text} is not http:// with a port")));
        };
        let path = url.path().trim_end_matches('/').to_owned();
        Ok(Self { socket: SocketAddr::new(address, port), host, path })
    }
}

/// Listens for the answer of one session.
#[derive(Debug)]
pub(super) struct Callback {
    listener: TcpListener,
    url: String,
    path: String,
}

impl Callback {
    pub(super) async fn listen(address: &Address, session: &SessionId) -> Result<Self, Fault> {
        let cannot = |error| Fault {
            kind: ProviderFailure::Unreachable,
            message: format!("answers cannot be taken on {}: {error}", address.socket),
        };
        let listener = TcpListener::bind(address.socket).await.map_err(cannot)?;
        let port = listener.local_addr().map_err(cannot)?.port();
        let path = format!("{}/external/sessions/{session}/messages", address.path);
        Ok(Self { listener, url: format!("http://{}:{port}{path}", address.host), path })
    }

    /// Where the answer is to be sent.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Serves until a message has come in, and gives it. Dropped, it serves nobody any longer.
    pub(super) async fn answer(self) -> Result<String, Fault> {
        let inbox = Arc::new(Inbox { path: self.path, message: OnceLock::new() });
        let mut connections = FuturesUnordered::new();
        loop {
            tokio::select! {
                // Only when a connection was served to its end was whoever brought it told that it was taken.
                Some(()) = connections.next() => if let Some(message) = inbox.message.get() {
                    return Ok(message.clone());
                },
                accepted = self.listener.accept(), if connections.len() < CONNECTIONS => {
                    let (stream, _) = accepted.map_err(|error| Fault {
                        kind: ProviderFailure::Cut,
                        message: format!("no more connections are taken: {error}"),
                    })?;
                    connections.push(serve(stream, inbox.clone()));
                }
            }
        }
    }
}

/// Where the message is put that is waited for.
struct Inbox {
    path: String,
    message: OnceLock<String>,
}

async fn serve(stream: TcpStream, inbox: Arc<Inbox>) {
    let service = service_fn(move |request| {
        let inbox = inbox.clone();
        async move {
            let taken = tokio::time::timeout(REQUEST_WITHIN, inbox.take(request)).await;
            let mut response = Response::new(Empty::<Bytes>::new());
            *response.status_mut() = taken.unwrap_or(StatusCode::REQUEST_TIMEOUT);
            Ok::<_, Infallible>(response)
        }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(REQUEST_WITHIN).keep_alive(false).max_buf_size(64 << 10);
    // A connection that breaks has brought its message or has not.
    drop(server.serve_connection(TokioIo::new(stream), service).await);
}

impl Inbox {
    /// Takes a message of the session that is waited for.
    async fn take(&self, request: Request<Incoming>) -> StatusCode {
        if request.uri().path() != self.path {
            return StatusCode::NOT_FOUND;
        }
        // A page that is open in a browser on this machine is not who is waited for.
        if request.headers().contains_key(ORIGIN) {
            return StatusCode::FORBIDDEN;
        }
        if request.method() != Method::POST {
            return StatusCode::METHOD_NOT_ALLOWED;
        }
        let body = match Limited::new(request.into_body(), ENTRY_LIMIT).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return StatusCode::PAYLOAD_TOO_LARGE,
            Err(_) => return StatusCode::BAD_REQUEST,
        };
        match String::from_utf8(body.into()) {
            Err(_) => StatusCode::BAD_REQUEST,
            // One message is the answer; there is nobody for another one.
            Ok(text) => match self.message.set(text) {
                Ok(()) => StatusCode::OK,
                Err(_) => StatusCode::CONFLICT,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// A browser lets every page send such a message, and says where the page is from.
    #[tokio::test]
    async fn an_answer_from_a_page_in_a_browser_is_not_taken() {
        let address = Address::parse("http://127.0.0.1:0").unwrap();
        let callback = Callback::listen(&address, &"known".parse().unwrap()).await.unwrap();
        let socket = callback.listener.local_addr().unwrap();
        let send = async |header: &str, body: &str| {
            let mut stream = TcpStream::connect(socket).await.unwrap();
            let length = body.len();
            let head = format!("POST /external/sessions/known/messages HTTP/1.1\r\nhost: x\r\n{header}");
            let request = format!("{head}content-length: {length}\r\n\r\n{body}");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut status = [0; 12];
            stream.read_exact(&mut status).await.unwrap();
            String::from_utf8_lossy(&status[9..]).into_owned()
        };
        let both = async {
            let page = send("origin: https://a.example\r\ncontent-type: text/plain\r\n", "trust me").await;
            (page, send("", "the answer").await)
        };
        let (answer, statuses) = futures_util::join!(callback.answer(), both);
        assert_eq!((answer, statuses), (Ok("the answer".to_owned()), ("403".to_owned(), "200".to_owned())));
    }

    /// O5
    #[test]
    fn answers_are_taken_on_this_machine_alone() {
        let parse = |text: &str| Address::parse(text).map(|address| (address.socket.to_string(), address.path));
        assert_eq!(parse("http://127.0.0.1:4100"), Ok(("127.0.0.1:4100".into(), String::new())));
        assert_eq!(parse("http://localhost:4100/a/"), Ok(("127.0.0.1:4100".into(), "/a".into())));
        assert_eq!(parse("http://[::1]:4100/"), Ok(("[::1]:4100".into(), String::new())));
        for elsewhere in
            ["http://0.0.0.0:4100", "http://agents.internal:80", "http://10.0.0.1:1", "http://127.0.0.1.example.com:1"]
        {
            let error = parse(elsewhere).unwrap_err();
            assert_eq!(error, ExternalError::Elsewhere(elsewhere.to_owned()));
            assert!(error.to_string().contains("`palisade serve`"), "{error}");
        }
        for none in ["nothing", "https://127.0.0.1:4100", "http://127.0.0.1", "http://localhost:80"] {
            assert!(matches!(parse(none), Err(ExternalError::Callback(_))), "{none}");
        }
    }
}
