//! Where a command reads from: files, or what is piped into it.

use std::{
    io::{self, Read},
    path::Path,
};

use bashkit::{CommandContext, CommandInput, Error, Result, vfs_join};

use crate::files;

/// Few, large steps: each one is a call to the host.
const STEP: usize = 256 << 10;

/// An open input.
pub(super) enum Input {
    Piped(CommandInput),
    File(Box<dyn Read + Send>, Vec<u8>),
}

impl Input {
    /// Opens an operand; `-` is what is piped in. The error is the reason in the usual words.
    pub(super) async fn open(context: &CommandContext<'_>, operand: &str) -> io::Result<Self> {
        if matches!(operand, "-" | "/dev/stdin" | "/dev/fd/0") {
            return Ok(Self::Piped(context.stdin.clone()));
        }
        let path = absolute(context.cwd, operand);
        match files::open(&path) {
            Ok(file) => Ok(Self::File(file, Vec::new())),
            // The interpreter has files of its own: what another command prints, as `<(…)`.
            Err(error) => match context.fs.read_file(&path).await {
                Ok(bytes) => Ok(Self::File(Box::new(io::Cursor::new(bytes)), Vec::new())),
                Err(_) => Err(error),
            },
        }
    }

    /// The next piece, or `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Piped(input) => input.read_chunk().await,
            Self::File(file, buffer) => {
                buffer.resize(STEP, 0);
                let read = file.read(buffer).map_err(|error| Error::Io(files::usual(error)))?;
                Ok((read > 0).then(|| buffer[..read].to_vec()))
            }
        }
    }
}

/// Lines of an input, each with its end. A last line without one has none.
pub(super) struct Lines {
    input: Input,
    end: u8,
    held: Vec<u8>,
    at: usize,
    is_over: bool,
}

impl Lines {
    pub(super) fn new(input: Input, end: u8) -> Self {
        Self { input, end, held: Vec::new(), at: 0, is_over: false }
    }

    /// As many whole lines as are at hand, at least one; `None` at the end.
    pub(super) async fn next_some(&mut self) -> Result<Option<&[u8]>> {
        loop {
            let whole = memchr::memrchr(self.end, &self.held[self.at..]).map(|last| self.at + last + 1);
            let until = if self.is_over { Some(self.held.len()) } else { whole };
            if let Some(until) = until.filter(|until| *until > self.at) {
                let from = std::mem::replace(&mut self.at, until);
                return Ok(Some(&self.held[from..until]));
            }
            if self.is_over {
                return Ok(None);
            }
            self.held.drain(..self.at);
            self.at = 0;
            match self.input.next().await? {
                Some(more) => self.held.extend_from_slice(&more),
                None => self.is_over = true,
            }
        }
    }
}

/// Splits whole lines, each with its end.
pub(super) fn lines(text: &[u8], end: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length = memchr::memchr(end, rest).map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(length);
        rest = after;
        Some(line)
    })
}

/// A path of the shell.
pub(super) fn absolute(directory: &Path, operand: &str) -> std::path::PathBuf {
    if operand.starts_with('/') { operand.into() } else { vfs_join(directory, operand) }
}

/// The operands, or what is piped in.
pub(super) fn operands(given: &[String]) -> Vec<String> {
    if given.is_empty() { vec!["-".to_owned()] } else { given.to_vec() }
}
