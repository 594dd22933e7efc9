//! The search itself: a walk, and for each file one read, one quick look, and the searcher only
//! where there is something to find.

use std::io;

use grep_matcher::Matcher as _;
use grep_searcher::{BinaryDetection, Searcher};
use palisade_tool::{
    Failure,
    files::{self, Chunk, FileError, Kind},
    walk::Walk,
};

use crate::{
    Query,
    report::{Lines, Report},
};

/// What is read of a file at first; nearly all files are smaller.
const FIRST_READ: u32 = 1 << 20;
/// What is read at once of the rest of a larger file.
const NEXT_READ: u32 = 4 << 20;
/// A NUL byte in this many bytes makes a file binary, as in git.
const BINARY_LOOK: usize = 8 << 10;

/// Searches a file or all the files below a directory.
pub fn search(query: &Query) -> Result<Report, Failure> {
    if query.path.is_empty() {
        return search_directory(query);
    }
    match files::read(&query.path, 0, FIRST_READ) {
        Ok(chunk) => search_named_file(query, chunk),
        Err(FileError::IsADirectory) => search_directory(query),
        Err(error) => Err(Failure::on_path(&query.path, error)),
    }
}

/// A file that was asked for by name is searched even if it is binary, but never shown then.
fn search_named_file(query: &Query, chunk: Chunk) -> Result<Report, Failure> {
    let mut report = Report::of_named_file(query);
    let searched = if is_binary(&chunk.bytes) {
        let mut searcher = query.searcher(BinaryDetection::none());
        report.binary(query, |lines| search_chunk(query, &mut searcher, &query.path, chunk, lines))
    } else {
        let mut searcher = query.searcher(BinaryDetection::quit(0));
        report.file(query, &query.path, |lines| search_chunk(query, &mut searcher, &query.path, chunk, lines))
    };
    searched.map_err(|error| Failure::Failed(format!("{}: {error}", query.path)))?;
    Ok(report)
}

fn search_directory(query: &Query) -> Result<Report, Failure> {
    let mut report = Report::of_directory(query);
    let mut searcher = query.searcher(BinaryDetection::quit(0));
    let mut walk = Walk::new(&query.path, query.walk);
    while let Some(found) = walk.next() {
        let found = match found {
            Ok(found) => found,
            Err((path, error)) if path == query.path => return Err(Failure::on_path(&path, error)),
            Err((path, error)) => {
                report.unreadable(&path, error);
                continue;
            }
        };
        match found.kind {
            Kind::File if query.filter.accepts_file(&found.path) => {
                search_found_file(query, &mut searcher, &mut report, &found.path);
            }
            Kind::Directory if !query.filter.accepts_directory(&found.path) => walk.leave(&found),
            Kind::File | Kind::Directory | Kind::Symlink | Kind::Other => {}
        }
        if report.is_full() {
            break;
        }
    }
    Ok(report)
}

fn search_found_file(query: &Query, searcher: &mut Searcher, report: &mut Report, path: &str) {
    let chunk = match files::read(path, 0, FIRST_READ) {
        Ok(chunk) => chunk,
        // It went away since the directory was listed.
        Err(FileError::NotFound) => return,
        Err(error) => return report.unreadable(path, error),
    };
    if is_binary(&chunk.bytes) {
        return;
    }
    report.searched += 1;
    if chunk.bytes.len() as u64 >= chunk.size && has_no_match(query, &chunk.bytes) {
        return;
    }
    if let Err(error) = report.file(query, path, |lines| search_chunk(query, searcher, path, chunk, lines)) {
        report.unreadable(path, FileError::Failed(error.to_string()));
    }
}

fn search_chunk(
    query: &Query,
    searcher: &mut Searcher,
    path: &str,
    chunk: Chunk,
    lines: &mut Lines<'_>,
) -> io::Result<()> {
    if chunk.bytes.len() as u64 >= chunk.size {
        searcher.search_slice(&query.matcher, &chunk.bytes, lines)
    } else {
        searcher.search_reader(&query.matcher, Stream::new(path, chunk), lines)
    }
}

/// Tells quickly that a whole file has no match; the searcher would find the same, line by line.
fn has_no_match(query: &Query, bytes: &[u8]) -> bool {
    if !query.can_reject() || has_mark(bytes) {
        return false;
    }
    query.beginnings.as_ref().is_some_and(|beginnings| !beginnings.occur_in(bytes))
        || matches!(query.matcher.find_candidate_line(bytes), Ok(None))
}

fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(BINARY_LOOK)]).is_some() && !has_mark(bytes)
}

/// Whether the file begins with a Unicode mark; the searcher removes it and decodes UTF-16.
fn has_mark(bytes: &[u8]) -> bool {
    [&[0xff, 0xfe][..], &[0xfe, 0xff], &[0xef, 0xbb, 0xbf]].into_iter().any(|mark| bytes.starts_with(mark))
}

/// A large file as a stream; only one piece of it is in memory.
struct Stream<'a> {
    path: &'a str,
    piece: Chunk,
    /// How much of the piece was given out.
    given: usize,
    /// Where the next piece begins in the file.
    next: u64,
}

impl<'a> Stream<'a> {
    fn new(path: &'a str, piece: Chunk) -> Self {
        let next = piece.bytes.len() as u64;
        Self { path, piece, given: 0, next }
    }
}

impl io::Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.piece.bytes.len() && self.next < self.piece.size {
            // The old piece goes before the new one comes, so that there is never more than one.
            self.piece.bytes = Vec::new();
            self.piece = files::read(self.path, self.next, NEXT_READ)
                .map_err(|error| io::Error::other(Failure::on_path(self.path, error).text().to_owned()))?;
            self.next += self.piece.bytes.len() as u64;
            self.given = 0;
        }
        let left = &self.piece.bytes[self.given..];
        let length = left.len().min(buffer.len());
        buffer[..length].copy_from_slice(&left[..length]);
        self.given += length;
        Ok(length)
    }
}
