//! Server-sent events from bytes, in whatever pieces they come.
//!
//! By hand, because bytes from a server must not be able to stop the host: the crates for this panic on
//! a byte order mark, or read a long line again from its start with every piece of it.

use std::str::Utf8Error;

/// Takes bytes, gives events.
#[derive(Debug, Default)]
pub(crate) struct Events {
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
    name: String,
    data: Option<String>,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// What kind it is; `message` if the server does not say.
    pub(crate) name: String,
    /// What it holds; several lines are separated by line feeds.
    pub(crate) data: String,
}

impl Events {
    /// Takes what came in. Costs time in proportion to it, however long a line gets.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next event that is whole; none until more is fed.
    pub(crate) fn next(&mut self) -> Result<Option<Event>, Utf8Error> {
        while let Some((start, end)) = self.line() {
            if start == end {
                let name = std::mem::take(&mut self.name);
                if let Some(data) = self.data.take() {
                    let name = if name.is_empty() { "message".to_owned() } else { name };
                    return Ok(Some(Event { name, data }));
                }
            } else {
                let line = std::str::from_utf8(&self.buffer[start..end])?;
                let (field, value) = line.split_once(':').unwrap_or((line, ""));
                let value = value.strip_prefix(' ').unwrap_or(value);
                match (field, &mut self.data) {
                    ("event", _) => value.clone_into(&mut self.name),
                    ("data", Some(data)) => {
                        data.push('\n');
                        data.push_str(value);
                    }
                    ("data", data @ None) => *data = Some(value.to_owned()),
                    // Comments have an empty name; the others are about reconnecting.
                    _ => {}
                }
            }
        }
        Ok(None)
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
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let (mut events, mut found) = (Events::default(), Vec::new());
        for piece in pieces {
            events.feed(piece);
            while let Some(Event { name, data }) = events.next().unwrap() {
                found.push((name, data));
            }
        }
        found
    }

    fn check(text: &str, expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect();
        assert_eq!(events(&[text.as_bytes()]), expected, "{text:?}");
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(events(&bytes), expected, "byte by byte: {text:?}");
        for at in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(at);
            assert_eq!(events(&[head, b"", tail]), expected, "cut at {at}: {text:?}");
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
        check("event: lost\n\ndata\n\nid: 1\nretry: 5\nnonsense\n:\n\n\n", &[("message", "")]);
        check("data: a\n\n\r\r\ndata: b\r\n\n", &[("message", "a"), ("message", "b")]);
    }

    #[test]
    fn what_is_no_text_is_an_error() {
        let mut events = Events::default();
        events.feed(b"data: fine\n\ndata: \xff\n\n");
        assert_eq!(events.next().unwrap().unwrap().data, "fine");
        assert!(events.next().is_err());
    }

    /// PROV-07: a long line in small pieces costs time in proportion to its length.
    #[test]
    fn a_large_event_in_small_pieces_is_one_event() {
        let data = "x".repeat(1 << 20);
        let text = format!("data: {data}\n\n");
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(3).collect();
        assert_eq!(events(&pieces), [("message".to_owned(), data)]);
    }
}
