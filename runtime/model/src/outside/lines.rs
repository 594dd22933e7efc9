//! The output of a program, as JSON objects one per line, within bounds and without the keys it was given:
//! whatever is told, quoted or cut of it later holds none, nor a part of one.

use std::io;

use palisade_agent::ProviderFailure;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use super::fault::{fault, head, malformed};
use crate::{Secrets, dialect::Fault};

/// How much a program may say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Bytes of a line.
    pub(super) line: usize,
    /// Bytes in all.
    pub(super) total: u64,
}

impl Bounds {
    /// A line may hold a whole conversation, or a file that was read. All lines together may be far more
    /// than a run has: this only ends those that never stop.
    pub(super) const USUAL: Self = Self { line: 16 << 20, total: 512 << 20 };
}

/// Reads the output.
#[derive(Debug)]
pub(super) struct Lines<R> {
    output: BufReader<R>,
    bounds: Bounds,
    secrets: Secrets,
    line: Vec<u8>,
    total: u64,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn of(output: R, bounds: Bounds, secrets: Secrets) -> Self {
        Self { output: BufReader::with_capacity(64 << 10, output), bounds, secrets, line: Vec::new(), total: 0 }
    }

    /// The next event; none at the end. May be dropped while it waits: nothing is lost.
    pub(super) async fn next(&mut self) -> Result<Option<Value>, Fault> {
        loop {
            let bytes = self.output.fill_buf().await.map_err(unreadable)?;
            let (taken, is_whole) = match bytes.iter().position(|byte| *byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (bytes.len(), bytes.is_empty()),
            };
            self.line.extend_from_slice(&bytes[..taken]);
            self.output.consume(taken);
            self.total += taken as u64;
            let Bounds { line, total } = self.bounds;
            if self.line.len() > line || self.total > total {
                let message = format!("it said more than there may be: {line} bytes a line, {total} bytes in all");
                return Err(fault(ProviderFailure::TooLarge, message));
            }
            if !is_whole {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            if !line.trim_ascii().is_empty() {
                return self.event(&line).map(Some);
            }
            if taken == 0 {
                return Ok(None);
            }
        }
    }

    fn event(&self, line: &[u8]) -> Result<Value, Fault> {
        match serde_json::from_slice(line) {
            Ok(event @ Value::Object(_)) if self.secrets.is_empty() => Ok(event),
            Ok(event @ Value::Object(_)) => Ok(self.secrets.remove_from(&event)),
            _ => {
                let line = self.secrets.remove(&String::from_utf8_lossy(line));
                Err(malformed(format!("it said something else than JSON objects: {}", head(&line))))
            }
        }
    }
}

fn unreadable(error: io::Error) -> Fault {
    fault(ProviderFailure::Cut, format!("its output cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use pieces::Cut;
    use serde_json::json;

    use super::*;

    /// Gives its bytes in pieces of one size.
    mod pieces {
        use std::{
            io,
            pin::Pin,
            task::{Context, Poll},
        };

        use tokio::io::{AsyncRead, ReadBuf};

        pub(super) struct Cut<'a> {
            pub(super) bytes: &'a [u8],
            pub(super) piece: usize,
        }

        impl AsyncRead for Cut<'_> {
            fn poll_read(
                mut self: Pin<&mut Self>,
                _: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                let length = self.piece.min(self.bytes.len()).min(buffer.remaining());
                let (piece, rest) = self.bytes.split_at(length);
                buffer.put_slice(piece);
                self.bytes = rest;
                Poll::Ready(Ok(()))
            }
        }
    }

    async fn read(text: &[u8], piece: usize, bounds: Bounds) -> Result<Vec<Value>, Fault> {
        let mut lines = Lines::of(Cut { bytes: text, piece }, bounds, Secrets::default());
        let mut events = Vec::new();
        while let Some(event) = lines.next().await? {
            events.push(event);
        }
        Ok(events)
    }

    #[tokio::test]
    async fn events_are_the_same_in_whatever_pieces_they_come() {
        let text = "{\"a\": \"\u{e4}\u{2028}\"}\r\n\n  \n{\"b\": [1]}\n{\"c\": null}".as_bytes();
        let expected = vec![json!({ "a": "\u{e4}\u{2028}" }), json!({ "b": [1] }), json!({ "c": null })];
        for piece in 1..=text.len() {
            assert_eq!(read(text, piece, Bounds::USUAL).await, Ok(expected.clone()), "{piece}");
        }
    }

    #[tokio::test]
    async fn a_line_and_all_lines_have_an_end() {
        let bounds = Bounds { line: 10, total: 25 };
        let kind = async |text: &[u8]| read(text, 3, bounds).await.map_err(|fault| fault.kind);
        assert_eq!(kind(b"{\"a\": 123}\n").await, Err(ProviderFailure::TooLarge));
        assert_eq!(kind(b"{\"a\": 1}\n{\"a\": 1}\n").await.map(|events| events.len()), Ok(2));
        assert_eq!(kind(b"{\"a\": 1}\n{\"a\": 1}\n{\"a\": 1}\n").await, Err(ProviderFailure::TooLarge));
        // Nothing but ends of lines is also something.
        assert_eq!(kind(&[b'\n'; 30]).await, Err(ProviderFailure::TooLarge));
    }

    #[tokio::test]
    async fn what_is_no_object_is_an_error_at_once() {
        for text in ["hello\n", "[]\n", "\"x\"\n", "{\"cut\": ", "{} {}\n", "\u{feff}{}\n"] {
            assert_eq!(read(text.as_bytes(), 4, Bounds::USUAL).await.unwrap_err().kind, ProviderFailure::Malformed);
        }
        let deep = "[".repeat(100_000);
        assert_eq!(read(deep.as_bytes(), 4096, Bounds::USUAL).await.unwrap_err().kind, ProviderFailure::Malformed);
        assert_eq!(read(b"\xff\xfe\n", 4, Bounds::USUAL).await.unwrap_err().kind, ProviderFailure::Malformed);
    }
}
