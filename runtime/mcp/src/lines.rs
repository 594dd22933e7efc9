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
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::{
    line::{Line, LineReader, MESSAGE_LIMIT},
    message::{self, Received},
};

/// How many messages may wait to be written.
pub(crate) const QUEUE: usize = 64;

/// How long somebody who does not read is waited for at the end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// Messages over two streams of bytes.
pub(crate) struct Lines<R> {
    input: LineReader<R>,
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
pub(crate) type Written = (Vec<u8>, Option<oneshot::Sender<()>>);

impl<R: AsyncRead + Send + Unpin> Lines<R> {
    /// Reads and writes from now on. What is written is written by one task, line after line: a line that was begun is
    /// finished, whatever is given up meanwhile.
    pub(crate) fn new<W: AsyncWrite + Send + Unpin + 'static>(input: R, output: W, ended: Canceller) -> Self {
        let (sender, lines) = mpsc::channel(QUEUE);
        let broken = CancellationToken::new();
        let writer = tokio::spawn(write(output, lines, broken.clone()));
        Self {
            input: LineReader::new(input),
            pending: None,
            begun: false,
            output: Some(sender),
            writer: Some(writer),
            broken,
            ended,
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
            let received = match self.input.next().await {
                Ok(Line::Whole(line)) => message::read(&line),
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

pub(crate) async fn write(
    mut output: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<Written>,
    broken: CancellationToken,
) {
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
