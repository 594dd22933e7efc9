//! Messages over two streams of bytes, one line each.

use std::{io, time::Duration};

use palisade_agent::Canceller;
use rmcp::{
    RoleServer,
    model::{ClientRequest, GetMeta as _, JsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::message::{self, Received};

/// The longest message that is read, in bytes. What a tool is given to write fits in; a line without an end does not
/// fill the memory.
pub(crate) const MESSAGE_LIMIT: usize = 8 << 20;

/// How many messages may wait to be written.
const QUEUE: usize = 64;

/// How long somebody who does not read is waited for at the end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Messages over two streams of bytes.
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    /// What was read of a line. A read that is given up goes on here.
    line: Vec<u8>,
    /// The line is too long, and its rest is of no interest.
    skipping: bool,
    /// What is to be answered before anything else is read.
    pending: Option<TxJsonRpcMessage<RoleServer>>,
    /// A session of the protocol has begun, so that notifications mean something.
    begun: bool,
    output: Option<mpsc::Sender<Written>>,
    writer: Option<JoinHandle<()>>,
    /// Nothing can be written any more.
    broken: CancellationToken,
    /// Told when nothing more comes.
    ended: Canceller,
}

/// A line to be written, and who waits for that.
type Written = (Vec<u8>, Option<oneshot::Sender<()>>);

/// A line as it came.
enum Line {
    Whole,
    TooLong,
    Last,
}

impl<R: AsyncRead + Send + Unpin> Lines<R> {
    /// Reads and writes from now on. What is written is written by one task, line after line: a line that was begun is
    /// finished, whatever is given up meanwhile.
    pub(crate) fn new<W: AsyncWrite + Send + Unpin + 'static>(input: R, output: W, ended: Canceller) -> Self {
        let (sender, lines) = mpsc::channel(QUEUE);
        let broken = CancellationToken::new();
        let writer = tokio::spawn(write(output, lines, broken.clone()));
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            skipping: false,
            pending: None,
            begun: false,
            output: Some(sender),
            writer: Some(writer),
            broken,
            ended,
        }
    }

    /// Reads on until a line ends; what there is of it stays if this is given up.
    async fn read_line(&mut self) -> io::Result<Line> {
        loop {
            let there = self.input.fill_buf().await?;
            if there.is_empty() {
                // Whoever leaves without ending the last line has still said it.
                return Ok(if self.line.is_empty() { Line::Last } else { Line::Whole });
            }
            let end = there.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(there.len(), |end| end + 1);
            if !self.skipping {
                self.line.extend_from_slice(&there[..end.unwrap_or(taken)]);
            }
            self.input.consume(taken);
            if self.line.len() > MESSAGE_LIMIT {
                self.line = Vec::new();
                self.skipping = true;
            }
            match (end, self.skipping) {
                (Some(_), true) => {
                    self.skipping = false;
                    return Ok(Line::TooLong);
                }
                (Some(_), false) => return Ok(Line::Whole),
                (None, _) => {}
            }
        }
    }

    /// The next message. Whatever is wrong is answered and then forgotten.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.pending.is_some() {
                let permit = self.output.as_ref()?.reserve().await.ok()?;
                if let Some(line) = self.pending.take().and_then(|answer| bytes(&answer).ok()) {
                    permit.send((line, None));
                }
            }
            let received = match self.read_line().await {
                Ok(Line::Whole) => {
                    let received = message::read(&self.line);
                    self.line.clear();
                    received
                }
                Ok(Line::TooLong) => message::too_long(MESSAGE_LIMIT),
                Ok(Line::Last) | Err(_) => return None,
            };
            match received {
                Received::Message(message) if self.is_meant(&message) => return Some(*message),
                Received::Wrong(answer) => self.pending = Some(*answer),
                Received::Message(_) | Received::Nothing => {}
            }
        }
    }

    /// Before a session has begun there is nothing that a notification could be about.
    fn is_meant(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        let JsonRpcMessage::Request(request) = message else { return self.begun };
        self.begun |= match &request.request {
            ClientRequest::InitializeRequest(_) => true,
            ClientRequest::DiscoverRequest(_) => false,
            other => other.get_meta().protocol_version().is_some(),
        };
        true
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let output = self.output.clone();
        async move {
            let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
            let (written, done) = oneshot::channel();
            output.ok_or_else(gone)?.send((bytes(&item)?, Some(written))).await.map_err(|_| gone())?;
            done.await.map_err(|_| gone())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let broken = self.broken.clone();
        let message = tokio::select! {
            message = self.next() => message,
            () = broken.cancelled() => None,
        };
        if message.is_none() {
            self.ended.cancel();
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        drop(self.output.take());
        if let Some(writer) = self.writer.take() {
            let abort = writer.abort_handle();
            if tokio::time::timeout(PATIENCE, writer).await.is_err() {
                abort.abort();
            }
        }
        Ok(())
    }
}

fn bytes(message: &TxJsonRpcMessage<RoleServer>) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

async fn write(mut output: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Written>, broken: CancellationToken) {
    while let Some((line, done)) = lines.recv().await {
        let written = async {
            output.write_all(&line).await?;
            output.flush().await
        };
        if written.await.is_err() {
            break;
        }
        // Whether anybody waits is their business.
        let _nobody = done.map(|done| done.send(()));
    }
    broken.cancel();
}
