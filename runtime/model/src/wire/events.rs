//! Server-sent events from bytes, in whatever pieces they come.
//!
//! `eventsource-stream` reads them, and [`Lines`] stands before it, because bytes from a server must not be
//! able to stop the host or to keep it busy. Left alone with them, that crate panics on a byte order mark,
//! reads a long line again from its start with every piece of it, copies all that is left of a piece for
//! every line in it and the last `id` for every event, and says only at the end of the stream that
//! something was no UTF-8. It is given whole lines, one at a time, and none but those that matter.

use bytes::Bytes;
use eventsource_stream::{EventStream, EventStreamError};
use futures_util::stream::{self, Stream, StreamExt as _};

pub(crate) use eventsource_stream::Event;

/// The most bytes of one event. All of a reply may be more, but an event is held in memory at once, and
/// again as the value that it is read into.
pub(crate) const LONGEST: usize = 4 << 20;

/// Why there are no more events.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unreadable<E> {
    /// The bytes ended in an error.
    Pieces(E),
    /// A line is no UTF-8.
    NoText,
    /// An event is longer than anybody needs, by far.
    TooLong,
}

/// The events in the bytes that come. One that is not followed by its blank line is none.
pub(crate) fn events<E>(
    pieces: impl Stream<Item = Result<Bytes, E>>,
) -> impl Stream<Item = Result<Event, Unreadable<E>>> {
    EventStream::new(lines(pieces)).map(|event| {
        event.map_err(|error| match error {
            EventStreamError::Transport(error) => error,
            // It is given no such line.
            EventStreamError::Utf8(_) | EventStreamError::Parser(_) => Unreadable::NoText,
        })
    })
}

fn lines<E>(pieces: impl Stream<Item = Result<Bytes, E>>) -> impl Stream<Item = Result<String, Unreadable<E>>> {
    stream::try_unfold((Box::pin(pieces), Lines::default()), |(mut pieces, mut lines)| async move {
        loop {
            if let Some(line) = lines.next()? {
                return Ok(Some((line, (pieces, lines))));
            }
            match pieces.next().await {
                Some(piece) => lines.feed(&piece.map_err(Unreadable::Pieces)?),
                None => return Ok(None),
            }
        }
    })
}

/// Takes bytes, gives the lines that make up events, each with a line feed at its end.
#[derive(Default)]
struct Lines {
    /// What came in and is not a line yet.
    buffer: Vec<u8>,
    /// Where the next line begins in the buffer.
    start: usize,
    /// How far the buffer was searched for the end of that line.
    searched: usize,
    /// The line before ended in a carriage return: a line feed that follows belongs to it.
    returned: bool,
    /// The first line was read.
    begun: bool,
    /// How many bytes the event has so far that the next line belongs to.
    event: usize,
}

impl Lines {
    /// Takes what came in. Costs time in proportion to it, however long a line gets.
    fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next line of an event; none until more is fed.
    fn next<E>(&mut self) -> Result<Option<String>, Unreadable<E>> {
        while let Some((start, end)) = self.line() {
            let line = str::from_utf8(&self.buffer[start..end]).map_err(|_| Unreadable::NoText)?;
            // Comments have an empty name; the others are about reconnecting.
            let is_part = matches!(line.split(':').next(), Some("data" | "event"));
            let is_end = line.is_empty() && self.event > 0;
            if is_part || is_end {
                self.event = if is_end { 0 } else { self.event + line.len() };
                let line = format!("{line}\n");
                return if self.event > LONGEST { Err(Unreadable::TooLong) } else { Ok(Some(line)) };
            }
        }
        let begun = self.buffer.len() - self.start;
        if self.event + begun > LONGEST { Err(Unreadable::TooLong) } else { Ok(None) }
    }

    /// The next whole line, as a part of the buffer without its end.
    fn line(&mut self) -> Option<(usize, usize)> {
        if let (true, Some(next)) = (self.returned, self.buffer.get(self.start)) {
            self.start += usize::from(*next == b'\n');
            self.returned = false;
        }
        self.searched = self.searched.max(self.start);
        let rest = &self.buffer[self.searched..];
        let Some(length) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.searched = self.buffer.len();
            return None;
        };
        let (mut start, end) = (self.start, self.searched + length);
        if !std::mem::replace(&mut self.begun, true) && self.buffer[start..end].starts_with(b"\xef\xbb\xbf") {
            start += 3;
        }
        self.returned = self.buffer[end] == b'\r';
        self.start = end + 1;
        self.searched = self.start;
        Some((start, end))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::{FutureExt as _, TryStreamExt as _};

    use super::*;

    /// The events in these pieces, and why there are no more of them.
    fn read(pieces: &[&[u8]]) -> (Vec<(String, String)>, Option<Unreadable<Infallible>>) {
        let pieces = stream::iter(pieces.iter().map(|piece| Ok(Bytes::copy_from_slice(piece))));
        let mut found = Vec::new();
        let each = events(pieces).try_for_each(|Event { event, data, .. }| {
            found.push((event, data));
            std::future::ready(Ok(()))
        });
        let why = each.now_or_never().unwrap().err();
        (found, why)
    }

    fn events_in(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let (events, why) = read(pieces);
        assert_eq!(why, None);
        events
    }

    fn check(text: &str, expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect();
        assert_eq!(events_in(&[text.as_bytes()]), expected, "{text:?}");
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(events_in(&bytes), expected, "byte by byte: {text:?}");
        for at in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(at);
            assert_eq!(events_in(&[head, b"", tail]), expected, "cut at {at}: {text:?}");
        }
    }

    /// PROV-07
    #[test]
    fn lines_end_in_every_way_and_pieces_do_not_matter() {
        for end in ["\n", "\r\n", "\r"] {
            let text =
                ["event: a", "data: {\"ä\": \"€𝄞\"}", "", ": comment", "data:x", "data:  y", "data", "", "data: cut"];
            check(&text.join(end), &[("a", "{\"ä\": \"€𝄞\"}"), ("message", "x\n y\n")]);
        }
        check("\u{feff}data: a\n\n\u{feff}data: b\n\ndata: c\r\n\r\n", &[("message", "a"), ("message", "c")]);
        check("\u{feff}\n\ndata: a\n\n", &[("message", "a")]);
        // Of two marks the second is a part of the line.
        check("\u{feff}\u{feff}data: a\n\ndata: b\n\n", &[("message", "b")]);
        check("event: lost\n\ndata\n\nid: 1\nretry: 5\nnonsense\n:\n\n\n", &[("message", "")]);
        check("data: a\n\n\r\r\ndata: b\r\n\n", &[("message", "a"), ("message", "b")]);
        check("datas: a\n data: b\neventful: c\nevent\ndata:d\n\n", &[("message", "d")]);
    }

    /// PROV-03
    #[test]
    fn an_event_without_its_blank_line_is_none() {
        check("data: a\n\ndata: b\n", &[("message", "a")]);
        check("data: a\n\ndata: b", &[("message", "a")]);
    }

    #[test]
    fn what_is_no_text_is_an_error_at_once() {
        let fine = vec![("message".to_owned(), "fine".to_owned())];
        for unfit in [&b"data: \xff\n"[..], b": \xc3\n", b"data: \xf0\x9f\n"] {
            let pieces: [&[u8]; 3] = [b"data: fine\n\n", unfit, b"\ndata: more\n\n"];
            assert_eq!(read(&pieces), (fine.clone(), Some(Unreadable::NoText)));
            let bytes = pieces.concat();
            assert_eq!(read(&bytes.chunks(1).collect::<Vec<_>>()), (fine.clone(), Some(Unreadable::NoText)));
        }
    }

    /// PROV-07: a long line in small pieces costs time in proportion to its length.
    #[test]
    fn a_large_event_in_small_pieces_is_one_event() {
        let data = "x".repeat(1 << 20);
        let text = format!("data: {data}\n\n");
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(3).collect();
        assert_eq!(events_in(&pieces), [("message".to_owned(), data)]);
    }

    /// PROV-06: many lines in one piece cost no more than in many, and what is about reconnecting nothing.
    #[test]
    fn many_small_lines_are_read_in_time() {
        let begun = std::time::Instant::now();
        let count = |text: String| events_in(&[text.as_bytes()]).len();
        assert_eq!(count("\n".repeat(4 << 20)), 0);
        assert_eq!(count("data\n\n".repeat(100_000)), 100_000);
        assert_eq!(count(format!("id: {}\n{}", "x".repeat(1 << 20), "data\n\n".repeat(100_000))), 100_000);
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }

    /// PROV-06
    #[test]
    fn an_event_has_an_end() {
        let too_long = (Vec::new(), Some(Unreadable::TooLong));
        let line = format!("data: {}", "x".repeat(LONGEST));
        assert_eq!(read(&[line.as_bytes()]), too_long);
        assert_eq!(read(&[line.as_bytes(), b"\n\n"]), too_long);
        assert_eq!(read(&["data: x\n".repeat(LONGEST / 7 + 1).as_bytes()]), too_long);
        // What is no part of an event does not make it longer.
        let comments = ": x\n".repeat(LONGEST / 3 + 1) + "data: x\n\n";
        assert_eq!(events_in(&[comments.as_bytes()]).len(), 1);
    }
}
