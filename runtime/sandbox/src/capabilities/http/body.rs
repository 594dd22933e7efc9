//! Bodies on their way in and out, with all that bounds them.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::{Error, WasiBody};

use super::{scrub::Scrubber, spent::Spent};

/// What a guest sends.
pub(super) struct Outgoing {
    pub(super) body: WasiBody,
    pub(super) spent: Arc<Spent>,
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)?) else { return Poll::Ready(None) };
        Poll::Ready(match frame.into_data() {
            Ok(data) => match self.spent.send(data.len()) {
                Ok(()) => Some(Ok(Frame::data(data))),
                Err(()) => Some(Err(Error::HttpRequestBodySize(None))),
            },
            // What stands behind a body would be headers that nobody looked at.
            Err(_trailers) => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// What a guest receives.
pub(super) struct Received {
    body: Incoming,
    spent: Arc<Spent>,
    scrubber: Option<Scrubber>,
    wait: Duration,
    patience: Pin<Box<Sleep>>,
}

impl Received {
    pub(super) fn new(body: Incoming, spent: Arc<Spent>, scrubber: Option<Scrubber>, wait: Duration) -> Self {
        Self { body, spent, scrubber, wait, patience: Box::pin(tokio::time::sleep(wait)) }
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        loop {
            let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) else {
                ready!(this.patience.as_mut().poll(context));
                return Poll::Ready(Some(Err(Error::ConnectionReadTimeout)));
            };
            this.patience.as_mut().reset(Instant::now() + this.wait);
            let Some(frame) = frame.transpose()? else {
                let rest = this.scrubber.take().map(Scrubber::finish).filter(|rest| !rest.is_empty());
                return Poll::Ready(rest.map(|rest| Ok(Frame::data(rest))));
            };
            // What stands behind a body is left out.
            let Ok(data) = frame.into_data() else { continue };
            if this.spent.receive(data.len()).is_err() {
                return Poll::Ready(Some(Err(Error::HttpResponseBodySize(None))));
            }
            let data = match &mut this.scrubber {
                Some(scrubber) => scrubber.push(&data),
                None => data,
            };
            if !data.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
        }
    }
}
