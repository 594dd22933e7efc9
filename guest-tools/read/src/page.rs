//! The lines of a file that are shown, taken from its bytes piece by piece.

use palisade_tool::{
    Failure,
    text::{clip, count},
};

/// The longest line that is shown whole, in characters.
const MAX_LINE: usize = 2000;
/// The bytes of a line that may be needed to show it.
const MAX_LINE_BYTES: usize = 4 * (MAX_LINE + 1);
/// The most text that is shown, less what the closing note takes.
const MAX_TEXT: usize = (256 << 10) - 200;

/// Takes the bytes of a file in order, keeps the lines that are asked for and counts the others.
pub(crate) struct Page {
    first: u64,
    /// How many lines may still be shown.
    left: u64,
    /// The line that comes next, from 1.
    number: u64,
    /// The beginning of the line that is not complete yet.
    line: Vec<u8>,
    /// How long that line is so far.
    length: usize,
    text: String,
    /// The first line that was not shown for want of room.
    next: Option<u64>,
}

impl Page {
    pub(crate) fn new(first: u64, limit: u64) -> Self {
        Self { first, left: limit, number: 1, line: Vec::new(), length: 0, text: String::new(), next: None }
    }

    /// Whether all lines that fit are there; what follows is only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.next.is_some()
    }

    /// Takes the next bytes of the file.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.left == 0 && !self.is_full() {
                self.next = Some(self.number);
            }
            if self.number < self.first || self.is_full() {
                bytes = self.pass(bytes);
                continue;
            }
            let end = memchr::memchr(b'\n', bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            let room = MAX_LINE_BYTES.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            self.length += part.len();
            let Some(end) = end else { return };
            self.end_line();
            bytes = &bytes[end + 1..];
        }
    }

    /// Counts lines that are not shown, up to the first that is; returns what is left.
    fn pass<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let wanted = if self.is_full() { u64::MAX } else { self.first - self.number };
        let mut rest = bytes;
        let mut passed = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            passed += 1;
            rest = &bytes[end + 1..];
            if passed == wanted {
                self.number += passed;
                self.length = 0;
                return rest;
            }
        }
        self.number += passed;
        self.length = if passed > 0 { rest.len() } else { self.length + rest.len() };
        &[]
    }

    fn end_line(&mut self) {
        if !self.is_full() && self.number >= self.first {
            self.show_line();
        }
        self.number += 1;
        self.line.clear();
        self.length = 0;
    }

    fn show_line(&mut self) {
        let bytes = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        let lossy = String::from_utf8_lossy(bytes);
        let (shown, cut) = clip(&lossy, MAX_LINE);
        if self.text.len() + shown.len() + 80 > MAX_TEXT {
            self.next = Some(self.number);
            return;
        }
        self.text.push_str(&format!("{:>6}\t{shown}", self.number));
        if cut > 0 {
            self.text.push_str(&format!("… [clipped, the line has {}]", count(self.length, "byte", "bytes")));
        }
        self.text.push('\n');
        self.left -= 1;
    }

    /// The page at the end of the file.
    pub(crate) fn into_text(mut self, path: &str) -> Result<String, Failure> {
        if self.length > 0 {
            self.end_line();
        }
        let lines = self.number - 1;
        if lines < self.first {
            let lines = count(usize::try_from(lines).unwrap_or(usize::MAX), "line", "lines");
            return Err(Failure::Failed(format!("{path} has {lines}; offset {} is beyond its end", self.first)));
        }
        if let Some(next) = self.next {
            let more = count(usize::try_from(lines + 1 - next).unwrap_or(usize::MAX), "more line", "more lines");
            self.text.push_str(&format!("… {more}; continue with offset={next}"));
        }
        self.text.truncate(self.text.trim_end_matches('\n').len());
        Ok(self.text)
    }

    /// The page of a file whose other lines were not counted.
    pub(crate) fn into_text_of_more(mut self) -> String {
        self.text.push_str(&format!("… more lines follow; continue with offset={}", self.next.unwrap_or(self.number)));
        self.text
    }
}
