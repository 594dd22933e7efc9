//! What a guest prints: the first bytes are kept, the rest is counted and dropped.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use wasmtime_wasi::{
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamResult},
};

/// What a guest printed on one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// The first bytes, up to the limit.
    pub kept: Vec<u8>,
    /// How many bytes were dropped after them.
    pub dropped: u64,
}

/// A stream that never fills the host and never makes a chatty tool fail. Nothing is allocated
/// until something is printed.
#[derive(Clone)]
pub(crate) struct Sink {
    captured: Arc<Mutex<Captured>>,
    limit: usize,
}

impl Sink {
    pub(crate) fn new(limit: usize) -> Self {
        Self { captured: Arc::default(), limit }
    }

    pub(crate) fn take(&self) -> Captured {
        std::mem::take(&mut *self.captured.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn keep(&self, bytes: &[u8]) {
        let mut captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        let room = self.limit.saturating_sub(captured.kept.len()).min(bytes.len());
        captured.kept.extend_from_slice(&bytes[..room]);
        captured.dropped += (bytes.len() - room) as u64;
    }
}

impl StdoutStream for Sink {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only WASI 0.3 asks for this, and it is not linked.
        Box::new(tokio::io::sink())
    }
}

impl IsTerminal for Sink {
    fn is_terminal(&self) -> bool {
        false
    }
}

#[async_trait::async_trait]
impl OutputStream for Sink {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.keep(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

#[async_trait::async_trait]
impl Pollable for Sink {
    async fn ready(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_are_kept_and_the_rest_counted() {
        let sink = Sink::new(5);
        sink.keep(b"abc");
        sink.keep(b"defg");
        sink.keep(b"h");
        assert_eq!(sink.take(), Captured { kept: b"abcde".to_vec(), dropped: 3 });
    }
}
