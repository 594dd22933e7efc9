//! Messages that are written as lines by one task, one after the other: a line that was begun is finished, whatever is
//! given up meanwhile.

use std::{io, time::Duration};

use serde::Serialize;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// How many messages may wait to be written.
const QUEUE: usize = 64;

/// How long somebody who does not read is waited for at the end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// A line to be written, and who waits for that.
type Written = (Vec<u8>, Option<oneshot::Sender<()>>);

/// Messages to be written.
pub(crate) struct LineWriter {
    lines: Option<mpsc::Sender<Written>>,
    task: Option<JoinHandle<()>>,
    broken: CancellationToken,
}

/// Room for one message.
pub(crate) struct Room<'a>(mpsc::Permit<'a, Written>);

impl LineWriter {
    /// Writes from now on.
    pub(crate) fn new(output: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (sender, lines) = mpsc::channel(QUEUE);
        let broken = CancellationToken::new();
        let task = tokio::spawn(write(output, lines, broken.clone()));
        Self { lines: Some(sender), task: Some(task), broken }
    }

    /// Cancelled when nothing can be written any more.
    pub(crate) fn broken(&self) -> CancellationToken {
        self.broken.clone()
    }

    /// Waits until one more may wait; nothing if there is nobody to write to.
    pub(crate) async fn room(&self) -> Option<Room<'_>> {
        self.lines.as_ref()?.reserve().await.ok().map(Room)
    }

    /// Writes a message, and is done when that is.
    pub(crate) fn send<M: Serialize + Send + 'static>(
        &self,
        message: M,
    ) -> impl Future<Output = io::Result<()>> + Send + use<M> {
        let lines = self.lines.clone();
        async move {
            let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
            let (written, done) = oneshot::channel();
            lines.ok_or_else(gone)?.send((bytes(&message)?, Some(written))).await.map_err(|_| gone())?;
            done.await.map_err(|_| gone())
        }
    }

    /// Takes nothing more, and waits a little for what is left.
    pub(crate) async fn close(&mut self) {
        drop(self.lines.take());
        if let Some(task) = self.task.take() {
            let abort = task.abort_handle();
            if tokio::time::timeout(PATIENCE, task).await.is_err() {
                abort.abort();
            }
        }
    }
}

impl Room<'_> {
    /// Writes a message when its turn comes. What has no form is not written.
    pub(crate) fn take(self, message: &impl Serialize) {
        if let Ok(line) = bytes(message) {
            self.0.send((line, None));
        }
    }
}

fn bytes(message: &impl Serialize) -> io::Result<Vec<u8>> {
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
