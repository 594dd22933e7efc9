//! A connection whose other end may stop listening.
//!
//! A server that has heard enough answers and closes: "too large" is said before all of it was sent. Writing fails
//! then, and what was said can still be read. It says more than the failed write, and whether that or the answer is
//! noticed first would otherwise be a matter of chance.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::network::Connection;

/// A connection that is read to its end, also when nobody listens any more.
pub(super) struct Patient {
    inner: Box<dyn Connection>,
    /// Nobody listens any more.
    is_unheard: bool,
}

impl Patient {
    pub(super) fn new(inner: Box<dyn Connection>) -> Self {
        Self { inner, is_unheard: false }
    }

    /// Does something with the end that listens; once it does not, everything is as good as done. If there is no
    /// answer, reading says so.
    fn heard<T>(
        &mut self,
        unheard: T,
        act: impl FnOnce(Pin<&mut dyn Connection>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if self.is_unheard {
            return Poll::Ready(Ok(unheard));
        }
        match ready!(act(Pin::new(&mut *self.inner))) {
            Err(error) if is_closed(&error) => {
                self.is_unheard = true;
                Poll::Ready(Ok(unheard))
            }
            done => Poll::Ready(done),
        }
    }
}

fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::NotConnected
    )
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.inner).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.heard(bytes.len(), |inner| inner.poll_write(context, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.heard((), |inner| inner.poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.heard((), |inner| inner.poll_shutdown(context))
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use bytes::Bytes;
    use http_body_util::{BodyExt as _, Full};
    use hyper::client::conn::http1;
    use wasmtime_wasi_http::io::TokioIo;

    use super::*;

    /// A server that has read some bytes, has answered and has closed. The answer is seen only after a write has failed,
    /// which is the order that a loaded machine may bring about.
    struct Closing {
        answer: &'static [u8],
        reads: usize,
        waiting: Option<Waker>,
        has_failed: bool,
    }

    impl AsyncRead for Closing {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            if !self.has_failed {
                self.waiting = Some(context.waker().clone());
                return Poll::Pending;
            }
            buffer.put_slice(std::mem::take(&mut self.answer));
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Closing {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            if self.reads > 0 {
                let taken = bytes.len().min(self.reads);
                self.reads -= taken;
                return Poll::Ready(Ok(taken));
            }
            self.has_failed = true;
            self.waiting.take().into_iter().for_each(Waker::wake);
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn closing(answer: &'static str) -> Box<dyn Connection> {
        Box::new(Closing { answer: answer.as_bytes(), reads: 1000, waiting: None, has_failed: false })
    }

    /// Sends more than is read; gives the status and the body of the answer.
    fn ask(connection: impl Connection + 'static) -> Result<(u16, Bytes), hyper::Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (mut sender, driver) = http1::handshake(TokioIo::new(connection)).await?;
            tokio::spawn(driver);
            let body = Full::new(Bytes::from(vec![b'x'; 1 << 20]));
            let request = http::Request::post("/").header("host", "a.test").body(body).unwrap();
            let answer = sender.send_request(request).await?;
            Ok((answer.status().as_u16(), answer.into_body().collect().await?.to_bytes()))
        })
    }

    const ANSWER: &str = "HTTP/1.1 413 Too Much\r\ncontent-length: 8\r\n\r\ntoo much";

    #[test]
    fn what_was_said_before_a_connection_closed_is_heard() {
        assert!(ask(closing(ANSWER)).is_err(), "the control: the failed write would hide it");
        assert_eq!(ask(Patient::new(closing(ANSWER))).unwrap(), (413, Bytes::from_static(b"too much")));
    }

    #[test]
    fn where_nothing_was_said_nothing_is_heard() {
        for answer in ["", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\ncut"] {
            assert!(ask(Patient::new(closing(answer))).is_err(), "{answer:?}");
        }
    }

    /// Only an end that closed is forgiven.
    #[test]
    fn other_failures_are_failures() {
        for kind in [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset, io::ErrorKind::ConnectionAborted] {
            assert!(is_closed(&kind.into()), "{kind}");
        }
        for kind in [io::ErrorKind::TimedOut, io::ErrorKind::PermissionDenied, io::ErrorKind::InvalidData] {
            assert!(!is_closed(&kind.into()), "{kind}");
        }
    }
}
