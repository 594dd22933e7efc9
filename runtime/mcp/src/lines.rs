//! Messages over two streams of bytes, one line each.

use std::io;

use palisade_agent::Canceller;
use rmcp::{
    RoleServer,
    model::{ClientRequest, GetMeta as _, JsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    line::{Line, LineReader, MESSAGE_LIMIT},
    line_writer::LineWriter,
    message::{self, Received},
};

/// Messages over two streams of bytes.
pub(crate) struct Lines<R> {
    input: LineReader<R>,
    /// What is to be answered before anything else is read.
    pending: Option<TxJsonRpcMessage<RoleServer>>,
    /// A session of the protocol has begun, so that notifications mean something.
    begun: bool,
    output: LineWriter,
    /// Told when nothing more comes.
    ended: Canceller,
}

impl<R: AsyncRead + Send + Unpin> Lines<R> {
    /// Reads and writes from now on.
    pub(crate) fn new<W: AsyncWrite + Send + Unpin + 'static>(input: R, output: W, ended: Canceller) -> Self {
        let (input, output) = (LineReader::new(input), LineWriter::new(output));
        Self { input, pending: None, begun: false, output, ended }
    }

    /// The next message. Whatever is wrong is answered and then forgotten.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.pending.is_some() {
                let room = self.output.room().await?;
                if let Some(answer) = self.pending.take() {
                    room.take(&answer);
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
        self.output.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let broken = self.output.broken();
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
        self.output.close().await;
        Ok(())
    }
}
