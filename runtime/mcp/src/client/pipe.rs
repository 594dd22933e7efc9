//! Messages of a server over two streams of bytes, one line each.

use std::{
    io,
    sync::{Arc, OnceLock},
};

use rmcp::{
    RoleClient,
    model::{ErrorData, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use super::listener::Listener;
use crate::{
    line::{Line, LineReader},
    line_writer::LineWriter,
};

/// How many lines may be no messages: some servers print what belongs into a log.
const GARBAGE: usize = 64;

/// Why nothing comes any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    TooLong,
    Garbage,
    /// It has ended, or cannot be reached; in words if there are any.
    Ended(String),
}

/// Where a transport says why nothing comes any more.
#[derive(Debug, Default)]
pub(super) struct Fault(OnceLock<Trouble>);

impl Fault {
    pub(super) fn trouble(&self) -> Option<&Trouble> {
        self.0.get()
    }

    /// What was wrong first is what is told.
    pub(super) fn set(&self, trouble: Trouble) {
        let _first = self.0.set(trouble);
    }
}

/// Messages over two streams of bytes.
pub(super) struct Pipe<R> {
    input: LineReader<R>,
    output: LineWriter,
    garbage: usize,
    fault: Arc<Fault>,
    listener: Arc<Listener>,
}

impl<R: AsyncRead + Send + Unpin> Pipe<R> {
    pub(super) fn new<W: AsyncWrite + Send + Unpin + 'static>(
        input: R,
        output: W,
        fault: Arc<Fault>,
        listener: Arc<Listener>,
    ) -> Self {
        let (input, output) = (LineReader::hasty(input), LineWriter::new(output));
        Self { input, output, garbage: 0, fault, listener }
    }

    async fn next(&mut self) -> Result<RxJsonRpcMessage<RoleClient>, Trouble> {
        loop {
            match self.input.next().await {
                Ok(Line::Whole(line)) => match read(&line) {
                    Some(message) => return Ok(message),
                    None => self.garbage += 1,
                },
                Ok(Line::TooLong) => return Err(Trouble::TooLong),
                Ok(Line::Last) | Err(_) => return Err(Trouble::Ended(String::new())),
            }
            if self.garbage > GARBAGE {
                return Err(Trouble::Garbage);
            }
        }
    }
}

/// One message. An answer that has the form of none is an error for whoever waits for it.
pub(super) fn read(text: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    if let Ok(message) = serde_json::from_slice(text) {
        return Some(message);
    }
    let value: Value = serde_json::from_slice(text).ok()?;
    let is_answer = value.get("method").is_none() && (value.get("result").is_some() || value.get("error").is_some());
    let id: RequestId = serde_json::from_value(value.get("id").filter(|_| is_answer)?.clone()).ok()?;
    let error = ErrorData::internal_error("its answer has no form of the protocol", None);
    Some(RxJsonRpcMessage::<RoleClient>::error(error, Some(id)))
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleClient> for Pipe<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.output.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let broken = self.output.broken();
        let next = tokio::select! {
            next = self.next() => next,
            () = broken.cancelled() => Err(Trouble::Ended("it does not read any more".to_owned())),
        };
        let message = next.map_err(|trouble| self.fault.set(trouble)).ok()?;
        self.listener.notice(&message);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.output.close().await;
        Ok(())
    }
}
