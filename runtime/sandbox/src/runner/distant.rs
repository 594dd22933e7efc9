//! Requests of guests in a process that has no network: the host makes them, piece by piece.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc;
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::{
    Remote,
    protocol::{Blob, Head, WebAnswer, WebAsk},
};
use crate::capabilities::http::Response;

/// A request that the host makes. It is over there when this is dropped.
struct Made {
    host: Remote,
    request: u64,
}

impl Drop for Made {
    fn drop(&mut self) {
        self.host.forget(self.request);
    }
}

impl Made {
    async fn ask(&self, what: WebAsk) -> Result<WebAnswer, Error> {
        self.host.ask_for_request(what).await.map_err(Error::from)
    }
}

/// Has the host make a request.
pub(crate) async fn send(host: Remote, request: Request<WasiBody>, options: RequestOptions) -> Result<Response, Error> {
    let (parts, body) = request.into_parts();
    let header =
        |(name, value): (&HeaderName, &HeaderValue)| (name.as_str().to_owned(), Blob(value.as_bytes().to_vec()));
    let head = Head {
        method: parts.method.as_str().to_owned(),
        uri: parts.uri.to_string(),
        headers: parts.headers.iter().map(header).collect(),
        length: body.size_hint().exact(),
        waits: options.into(),
    };
    let made = Arc::new(Made { request: host.number(), host });
    let request = made.request;
    made.ask(WebAsk::Begin { request, head }).await?;
    let sending = spawn(send_body(Arc::clone(&made), body));
    let (status, headers) = match made.ask(WebAsk::Answer { request }).await? {
        WebAnswer::Head { status, headers } => (status, headers),
        _ => return Err(Error::HttpProtocolError),
    };
    let (sender, receiver) = mpsc::channel(1);
    let reading = spawn(read_body(Arc::clone(&made), sender));
    let body = Pieces { receiver, _made: made, _reading: reading };
    let mut response = http::Response::new(body.boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(status).map_err(|_| Error::HttpProtocolError)?;
    for (name, Blob(value)) in headers {
        let name = name.parse::<HeaderName>().map_err(|_| Error::HttpProtocolError)?;
        let value = HeaderValue::from_bytes(&value).map_err(|_| Error::HttpProtocolError)?;
        response.headers_mut().append(name, value);
    }
    // The body may still be on its way when the answer begins.
    Ok((
        response,
        Box::new(async move {
            let _ = sending.await;
            Ok(())
        }),
    ))
}

async fn send_body(made: Arc<Made>, mut body: WasiBody) {
    let request = made.request;
    let is_whole = loop {
        match body.frame().await {
            None => break true,
            Some(Err(_)) => break false,
            // What stands behind a body would be headers that nobody looked at.
            Some(Ok(frame)) => match frame.into_data() {
                Err(_trailers) => break true,
                Ok(piece) if piece.is_empty() => {}
                Ok(piece) => {
                    if made.ask(WebAsk::Write { request, piece: Blob(piece.into()) }).await.is_err() {
                        return;
                    }
                }
            },
        }
    };
    let _ = made.ask(WebAsk::Finish { request, is_whole }).await;
}

async fn read_body(made: Arc<Made>, sender: mpsc::Sender<Result<Bytes, Error>>) {
    let request = made.request;
    loop {
        let piece = match made.ask(WebAsk::Read { request }).await {
            Ok(WebAnswer::Piece(Some(Blob(piece)))) => Ok(piece.into()),
            Ok(WebAnswer::Piece(None)) => return,
            Ok(_) => Err(Error::HttpProtocolError),
            Err(error) => Err(error),
        };
        let is_last = piece.is_err();
        if sender.send(piece).await.is_err() || is_last {
            return;
        }
    }
}

/// The body of an answer, as it comes from the host.
struct Pieces {
    receiver: mpsc::Receiver<Result<Bytes, Error>>,
    _made: Arc<Made>,
    _reading: AbortOnDropJoinHandle<()>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.receiver.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
