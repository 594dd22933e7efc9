//! Requests of guests that run in another process. They are permitted, looked up, dialled, given their secrets and
//! cleaned of them here; the process has the pieces that a guest would have.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, SizeHint};
use tokio::{sync::mpsc, task::JoinHandle};
use wasmtime_wasi_http::{Error, WasiBody};

use super::{
    keep::Shared,
    live::Live,
    protocol::{Answer, Blob, Head, Order, WebAnswer, WebAsk, WebError},
};
use crate::{
    Limits,
    capabilities::http::{Response, in_words},
};

/// The requests of one call.
pub(super) struct Requests {
    open: Mutex<HashMap<u64, Arc<Request>>>,
    /// Asked and not answered.
    asked: AtomicUsize,
    most: usize,
}

/// One request on its way. What happens to it happens one after the other.
#[derive(Default)]
struct Request {
    body: tokio::sync::Mutex<Option<mpsc::Sender<Result<Bytes, Error>>>>,
    answer: tokio::sync::Mutex<State>,
}

#[derive(Default)]
enum State {
    #[default]
    Nothing,
    Coming(Task),
    Here(Incoming),
}

/// The body of an answer.
struct Incoming {
    body: WasiBody,
    /// What goes on behind it until it is read, and ends with it.
    _driver: Box<dyn Future<Output = Result<(), Error>> + Send>,
}

/// Ends with whoever has it.
struct Task(JoinHandle<Result<Response, Error>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

type Told = Result<WebAnswer, WebError>;

impl Requests {
    pub(super) fn new(limits: &Limits) -> Self {
        let most = (limits.requests as usize).saturating_mul(3).saturating_add(16);
        Self { open: Mutex::default(), asked: AtomicUsize::new(0), most }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Request>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, request: u64) -> Option<Arc<Request>> {
        self.open().get(&request).cloned()
    }
}

impl Live {
    /// Takes what is asked for a request, and answers when it is there. An error is something that the process may not
    /// say.
    pub(super) fn request(
        self: &Arc<Self>,
        room: &Arc<Shared>,
        depth: u32,
        ask: u64,
        what: WebAsk,
    ) -> Result<(), String> {
        if self.requests.asked.fetch_add(1, Ordering::AcqRel) >= self.requests.most {
            return Err("it asked too much at once".to_owned());
        }
        let (told, what) = match what {
            WebAsk::Forget { request } => {
                self.requests.open().remove(&request);
                self.requests.asked.fetch_sub(1, Ordering::AcqRel);
                return Ok(());
            }
            WebAsk::Begin { request, head } => (self.start(depth, request, head)?, None),
            what => (Ok(WebAnswer::Done), Some(what)),
        };
        let (live, room) = (Arc::clone(self), Arc::clone(room));
        self.engine.runtime().spawn(async move {
            let told = match what {
                None => told,
                Some(what) => live.piece(what).await,
            };
            let answer = Order::Answer { ask, answer: Answer::Web(told) };
            // Writing may wait for the process to read.
            let _ = tokio::task::spawn_blocking(move || room.say(&answer)).await;
            live.requests.asked.fetch_sub(1, Ordering::AcqRel);
        });
        Ok(())
    }

    /// Decides about a request, and sends it.
    fn start(&self, depth: u32, number: u64, head: Head) -> Result<Told, String> {
        let (sender, receiver) = mpsc::channel(1);
        let body = Pieces { receiver, left: head.length };
        let options = head.waits.into();
        let request = match read(head, body.boxed_unsync()) {
            Ok(request) => request,
            Err(error) => return Ok(Err(error)),
        };
        let Some(sending) = self.with_http(depth, |http| http.send(request, options)) else {
            return Ok(Err(WebError::Terminated));
        };
        let task = Task(self.engine.runtime().spawn(sending));
        let request = Request {
            body: tokio::sync::Mutex::new(Some(sender)),
            answer: tokio::sync::Mutex::new(State::Coming(task)),
        };
        match self.requests.open().insert(number, Arc::new(request)) {
            None => Ok(Ok(WebAnswer::Done)),
            Some(_) => Err("it began a request twice".to_owned()),
        }
    }

    async fn piece(&self, what: WebAsk) -> Told {
        match what {
            WebAsk::Write { request, piece: Blob(piece) } => {
                let request = self.requests.find(request).ok_or(WebError::Terminated)?;
                let body = request.body.lock().await;
                // Whoever sends it has seen enough of it; the answer says why.
                if let Some(body) = body.as_ref() {
                    let _ = body.send(Ok(piece.into())).await;
                }
                Ok(WebAnswer::Done)
            }
            WebAsk::Finish { request, is_whole } => {
                let request = self.requests.find(request).ok_or(WebError::Terminated)?;
                let body = request.body.lock().await.take();
                if let Some(body) = body.filter(|_| !is_whole) {
                    let _ = body.send(Err(Error::HttpProtocolError)).await;
                }
                Ok(WebAnswer::Done)
            }
            WebAsk::Answer { request } => {
                let request = self.requests.find(request).ok_or(WebError::Terminated)?;
                request.head().await.map_err(WebError::from)
            }
            WebAsk::Read { request } => {
                let request = self.requests.find(request).ok_or(WebError::Terminated)?;
                request.next().await.map_err(WebError::from)
            }
            WebAsk::Begin { .. } | WebAsk::Forget { .. } => Err(WebError::Protocol),
        }
    }
}

impl Request {
    async fn head(&self) -> Result<WebAnswer, Error> {
        let mut answer = self.answer.lock().await;
        let State::Coming(task) = &mut *answer else { return Err(Error::HttpProtocolError) };
        let came = (&mut task.0).await.map_err(|_| Error::ConnectionTerminated)?;
        let (response, driver) = match came {
            Ok(came) => came,
            Err(error) => {
                *answer = State::Nothing;
                return Err(error);
            }
        };
        let (parts, body) = response.into_parts();
        *answer = State::Here(Incoming { body, _driver: driver });
        let header =
            |(name, value): (&HeaderName, &HeaderValue)| (name.as_str().to_owned(), Blob(value.as_bytes().to_vec()));
        Ok(WebAnswer::Head { status: parts.status.as_u16(), headers: parts.headers.iter().map(header).collect() })
    }

    async fn next(&self) -> Result<WebAnswer, Error> {
        let mut answer = self.answer.lock().await;
        let State::Here(Incoming { body, .. }) = &mut *answer else { return Err(Error::HttpProtocolError) };
        loop {
            let Some(frame) = body.frame().await.transpose()? else {
                *answer = State::Nothing;
                return Ok(WebAnswer::Piece(None));
            };
            if let Ok(piece) = frame.into_data() {
                return Ok(WebAnswer::Piece(Some(Blob(piece.into()))));
            }
        }
    }
}

fn read(head: Head, body: WasiBody) -> Result<http::Request<WasiBody>, WebError> {
    let mut request = http::Request::builder().method(head.method.as_str()).uri(head.uri);
    for (name, Blob(value)) in head.headers {
        request = request.header(name, value);
    }
    request.body(body).map_err(|_| WebError::UriInvalid)
}

/// A body whose pieces come from the process.
struct Pieces {
    receiver: mpsc::Receiver<Result<Bytes, Error>>,
    /// Bytes that are still to come, where that is known.
    left: Option<u64>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let piece = self.receiver.poll_recv(context);
        if let Poll::Ready(Some(Ok(piece))) = &piece {
            self.left = self.left.map(|left| left.saturating_sub(piece.len() as u64));
        }
        piece.map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl From<Error> for WebError {
    fn from(error: Error) -> Self {
        match in_words(error) {
            Error::HttpRequestBodySize(size) => Self::RequestBodySize(size),
            Error::DnsError { rcode, info_code } => Self::Dns { rcode, info_code },
            Error::DestinationIpProhibited => Self::AddressProhibited,
            Error::ConnectionRefused => Self::Refused,
            Error::ConnectionTerminated => Self::Terminated,
            Error::ConnectionTimeout => Self::ConnectTimeout,
            Error::ConnectionReadTimeout => Self::ReadTimeout,
            Error::ConnectionLimitReached => Self::TooMany,
            Error::TlsProtocolError => Self::TlsProtocol,
            Error::TlsCertificateError => Self::TlsCertificate,
            Error::HttpRequestDenied => Self::Denied,
            Error::HttpRequestUriInvalid => Self::UriInvalid,
            Error::HttpRequestHeaderSectionSize(size) => Self::RequestHeaderSize(size),
            Error::HttpResponseIncomplete => Self::ResponseIncomplete,
            Error::HttpResponseHeaderSectionSize(size) => Self::ResponseHeaderSize(size),
            Error::HttpResponseBodySize(size) => Self::ResponseBodySize(size),
            Error::HttpResponseContentCoding(coding) => Self::ResponseContentCoding(coding),
            Error::HttpResponseTimeout => Self::ResponseTimeout,
            Error::HttpUpgradeFailed => Self::UpgradeFailed,
            Error::HttpProtocolError => Self::Protocol,
            Error::ConfigurationError => Self::Configuration,
            Error::InternalError(text) => Self::Internal(text),
            other => Self::Internal(Some(other.to_string())),
        }
    }
}

impl From<WebError> for Error {
    fn from(error: WebError) -> Self {
        match error {
            WebError::RequestBodySize(size) => Self::HttpRequestBodySize(size),
            WebError::Dns { rcode, info_code } => Self::DnsError { rcode, info_code },
            WebError::AddressProhibited => Self::DestinationIpProhibited,
            WebError::Refused => Self::ConnectionRefused,
            WebError::Terminated => Self::ConnectionTerminated,
            WebError::ConnectTimeout => Self::ConnectionTimeout,
            WebError::ReadTimeout => Self::ConnectionReadTimeout,
            WebError::TooMany => Self::ConnectionLimitReached,
            WebError::TlsProtocol => Self::TlsProtocolError,
            WebError::TlsCertificate => Self::TlsCertificateError,
            WebError::Denied => Self::HttpRequestDenied,
            WebError::UriInvalid => Self::HttpRequestUriInvalid,
            WebError::RequestHeaderSize(size) => Self::HttpRequestHeaderSectionSize(size),
            WebError::ResponseIncomplete => Self::HttpResponseIncomplete,
            WebError::ResponseHeaderSize(size) => Self::HttpResponseHeaderSectionSize(size),
            WebError::ResponseBodySize(size) => Self::HttpResponseBodySize(size),
            WebError::ResponseContentCoding(coding) => Self::HttpResponseContentCoding(coding),
            WebError::ResponseTimeout => Self::HttpResponseTimeout,
            WebError::UpgradeFailed => Self::HttpUpgradeFailed,
            WebError::Protocol => Self::HttpProtocolError,
            WebError::Configuration => Self::ConfigurationError,
            WebError::Internal(text) => Self::InternalError(text),
        }
    }
}
