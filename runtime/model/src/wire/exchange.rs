//! One try: sends a request and reads the reply, inside every limit that a connection's patience sets.

use std::future::Future;
use std::pin::pin;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use palisade_agent::{Listener, ProviderFailure, Reply};
use reqwest::header::CONTENT_TYPE;
use reqwest::{RequestBuilder, Response};
use tokio::time::{Instant, timeout_at};

use super::events::{LONGEST, Unreadable, events};
use super::redact::Redaction;
use super::refusal;
use crate::Patience;
use crate::dialect::{Fault, Progress, Reader};

/// The most bytes that are read of an answer that is no reply, for what it says.
const ERROR_BYTES: usize = 64 * 1024;

/// Why a try gave no reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) kind: ProviderFailure,
    /// What happened or what the server says; one line without a key.
    pub(crate) said: String,
    /// How long the server wants to be left alone.
    pub(crate) retry_after: Option<Duration>,
}

/// One try.
pub(crate) struct Exchange<'a> {
    patience: &'a Patience,
    secrets: &'a Redaction,
    /// When the first byte of the reply must be there.
    first_byte: Instant,
    /// When all of it must be there.
    end: Instant,
    /// Whether there was a first byte.
    begun: bool,
    received: usize,
}

impl<'a> Exchange<'a> {
    /// A try that begins now and is over by the deadline.
    pub(crate) fn new(patience: &'a Patience, secrets: &'a Redaction, deadline: Instant) -> Self {
        let now = Instant::now();
        let after = |time| now.checked_add(time).unwrap_or(deadline);
        let end = after(patience.total).min(deadline);
        Self { patience, secrets, first_byte: after(patience.first_byte), end, begun: false, received: 0 }
    }

    /// Sends the request and gives what comes back to the reader, until the reply is complete.
    pub(crate) async fn reply(
        mut self,
        request: RequestBuilder,
        mut reader: Box<dyn Reader>,
        listener: &dyn Listener,
    ) -> Result<Reply, Failed> {
        let sent = self.in_time(request.send()).await?;
        let mut response = sent.map_err(|error| self.unsent(&error))?;
        if let Some(failed) = self.refused(&mut response).await {
            return Err(failed);
        }
        let secrets = self.secrets;
        let fault = |Fault { kind, message }: Fault| Failed::new(kind, &message, secrets);
        {
            let pieces = stream::try_unfold((&mut self, response), |(exchange, mut response)| async move {
                let piece = exchange.piece(&mut response).await?;
                Ok(piece.map(|piece| (piece, (exchange, response))))
            });
            let mut events = pin!(events(pieces));
            while let Some(event) = events.next().await {
                let event = event.map_err(|why| Failed::reading(why, secrets))?;
                let clean = secrets.without(&event.data);
                let data = clean.as_ref().unwrap_or(&event.data);
                if reader.event(&event.event, data, listener).map_err(fault)? == Progress::Complete {
                    return reader.finish().map_err(fault);
                }
            }
        }
        if reader.may_end() {
            return reader.finish().map_err(fault);
        }
        Err(self
            .failed(ProviderFailure::Cut, &format!("the reply ended after {} bytes, before its end", self.received)))
    }

    /// An answer that is no stream of events.
    async fn refused(&mut self, response: &mut Response) -> Option<Failed> {
        let status = response.status();
        let is_success = status.is_success();
        let content = response.headers().get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let content = content.unwrap_or_default().into_owned();
        // Some small servers do not say what they send.
        if is_success && (content.is_empty() || content.to_ascii_lowercase().starts_with("text/event-stream")) {
            return None;
        }
        let retry_after = refusal::retry_after(response.headers(), SystemTime::now());
        let body = self.beginning(response).await;
        let said = refusal::said(&body);
        let (kind, what) = if is_success {
            (ProviderFailure::Malformed, format!("answered with `{content}` instead of a stream of events: {said}"))
        } else {
            (refusal::failure(status.as_u16(), &said), format!("status {}: {said}", status.as_u16()))
        };
        Some(Failed { retry_after, ..self.failed(kind, &what) })
    }

    /// The beginning of a body, as much as comes in time.
    async fn beginning(&mut self, response: &mut Response) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < ERROR_BYTES {
            // What is there says enough; why there is no more does not matter.
            let Ok(Some(piece)) = self.piece(response).await else { break };
            body.extend_from_slice(&piece[..piece.len().min(ERROR_BYTES - body.len())]);
        }
        body
    }

    /// The next piece of the body; none at its end.
    async fn piece(&mut self, response: &mut Response) -> Result<Option<Bytes>, Failed> {
        let piece = self.in_time(response.chunk()).await?;
        let piece = piece.map_err(|error| {
            let after = format!("the connection broke after {} bytes of the reply: ", self.received);
            self.failed(ProviderFailure::Cut, &(after + &chain(&error)))
        })?;
        self.begun = true;
        self.received = self.received.saturating_add(piece.as_ref().map_or(0, Bytes::len));
        if self.received > self.patience.bytes {
            let what = format!("the reply is longer than {} bytes, the most that is read", self.patience.bytes);
            return Err(self.failed(ProviderFailure::TooLarge, &what));
        }
        Ok(piece)
    }

    /// Waits for the server, but not longer than the patience lasts.
    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Failed> {
        let patience = self.patience;
        let (until, what) = if self.begun {
            let until = Instant::now().checked_add(patience.idle).unwrap_or(self.end);
            (until, format!("nothing more came for {:?}", patience.idle))
        } else {
            (self.first_byte, format!("nothing came for {:?}", patience.first_byte))
        };
        timeout_at(until.min(self.end), work).await.map_err(|_| {
            let what = if until < self.end { what } else { "the reply was not complete in time".to_owned() };
            self.failed(ProviderFailure::TimedOut, &what)
        })
    }

    fn unsent(&self, error: &reqwest::Error) -> Failed {
        let kind = match error {
            error if error.is_timeout() => ProviderFailure::TimedOut,
            error if error.is_builder() => ProviderFailure::Rejected,
            _ => ProviderFailure::Unreachable,
        };
        self.failed(kind, &chain(error))
    }

    fn failed(&self, kind: ProviderFailure, said: &str) -> Failed {
        Failed::new(kind, said, self.secrets)
    }
}

impl Failed {
    fn new(kind: ProviderFailure, said: &str, secrets: &Redaction) -> Self {
        Self { kind, said: secrets.line(said), retry_after: None }
    }

    /// A stream that is none, or that broke off.
    fn reading(why: Unreadable<Self>, secrets: &Redaction) -> Self {
        let (kind, what) = match why {
            Unreadable::Pieces(failed) => return failed,
            Unreadable::NoText => (ProviderFailure::Malformed, "the reply cannot be read: it is no UTF-8".to_owned()),
            Unreadable::TooLong => (
                ProviderFailure::TooLarge,
                format!("a part of the reply is longer than {LONGEST} bytes, the most of one"),
            ),
        };
        Self::new(kind, &what, secrets)
    }
}

/// What an error says and what was behind it. Its own words only repeat the address, which may hold a
/// password.
pub(crate) fn chain(error: &reqwest::Error) -> String {
    let mut words = Vec::new();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words.push(error.to_string());
        cause = error.source();
    }
    words.dedup();
    if words.is_empty() { "the request could not be sent".to_owned() } else { words.join(": ") }
}
