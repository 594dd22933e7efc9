//! A stream of server-sent events, of which the data is wanted and nothing else.

use crate::line::MESSAGE_LIMIT;

/// Collects the data of events from pieces that may end anywhere.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
}

/// An event is longer than a message may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    /// Takes a piece; gives the data of the events that end in it.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut ended = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.len() + self.data.len() > MESSAGE_LIMIT {
                return Err(TooLong);
            }
            if !part.ends_with(b"\n") {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                ended.extend(Some(std::mem::take(&mut self.data)).filter(|data| !data.is_empty()));
            } else if let Some(data) = line.strip_prefix(b"data:") {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
        }
        Ok(ended)
    }

    /// What was said last, if the stream ended without ending it.
    pub(super) fn rest(self) -> Option<Vec<u8>> {
        Some(self.data).filter(|data| !data.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_wherever_the_pieces_end() {
        let stream = b": hello\nevent: message\nid: 7\ndata: {\"a\":\ndata: 1}\n\ndata:two\r\n\r\n\ndata: last";
        for size in [1, 2, 3, 7, 1000] {
            let mut events = Events::default();
            let heard: Vec<Vec<u8>> = stream.chunks(size).flat_map(|piece| events.push(piece).unwrap()).collect();
            assert_eq!(heard, [b"{\"a\":\n1}".to_vec(), b"two".to_vec()], "{size}");
            assert_eq!(events.rest(), None, "the last line has no end");
        }
    }

    #[test]
    fn an_event_without_an_end_does_not_fill_the_memory() {
        let mut events = Events::default();
        let piece = vec![b'x'; 1 << 20];
        assert!((0..8).all(|_| events.push(&piece) == Ok(Vec::new())));
        assert_eq!(events.push(&piece), Err(TooLong));
    }
}
