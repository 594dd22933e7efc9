//! Lines of a stream of bytes, none longer than a message may be.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// The longest message that is read, in bytes. What a tool is given to write fits in; a line without an end does not
/// fill the memory.
pub(crate) const MESSAGE_LIMIT: usize = 8 << 20;

/// Reads lines.
pub(crate) struct LineReader<R> {
    input: BufReader<R>,
    /// What was read of a line. A read that is given up goes on here.
    line: Vec<u8>,
    /// The line is too long, and its rest is of no interest.
    skipping: bool,
    /// Whether a line that is too long is told before it has ended.
    hasty: bool,
}

/// A line as it came.
pub(crate) enum Line {
    Whole(Vec<u8>),
    TooLong,
    Last,
}

impl<R: AsyncRead + Send + Unpin> LineReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input: BufReader::new(input), line: Vec::new(), skipping: false, hasty: false }
    }

    /// The same, for whoever does not wait for the end of a line that is too long.
    pub(crate) fn hasty(input: R) -> Self {
        Self { hasty: true, ..Self::new(input) }
    }

    /// Reads on until a line ends; what there is of it stays if this is given up.
    pub(crate) async fn next(&mut self) -> io::Result<Line> {
        loop {
            let there = self.input.fill_buf().await?;
            if there.is_empty() {
                // Whoever leaves without ending the last line has still said it.
                return Ok(if self.line.is_empty() { Line::Last } else { Line::Whole(std::mem::take(&mut self.line)) });
            }
            let end = there.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(there.len(), |end| end + 1);
            if !self.skipping {
                self.line.extend_from_slice(&there[..end.unwrap_or(taken)]);
            }
            self.input.consume(taken);
            if self.line.len() > MESSAGE_LIMIT {
                self.line = Vec::new();
                self.skipping = true;
                if self.hasty {
                    return Ok(Line::TooLong);
                }
            }
            match (end, self.skipping) {
                (Some(_), true) => {
                    self.skipping = false;
                    return Ok(Line::TooLong);
                }
                (Some(_), false) => return Ok(Line::Whole(std::mem::take(&mut self.line))),
                (None, _) => {}
            }
        }
    }
}
