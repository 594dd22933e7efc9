//! What a search found, as the text the model reads. Lines are added until the limit is reached;
//! then the search stops and the text says so.

use std::{borrow::Cow, fmt::Write as _, io};

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};
use palisade_tool::{
    Failure,
    files::FileError,
    text::{clip, count},
};

use crate::{OutputMode, Query};

/// The longest line that is shown whole, in characters; longer ones are minified code.
const MAX_LINE: usize = 500;
/// What is shown before a match in a line that is too long.
const LEAD: usize = 100;
/// The most text a search gives back.
const MAX_TEXT: usize = 256 << 10;

/// What a search found so far.
#[derive(Debug, Default)]
pub struct Report {
    /// Files that were searched.
    pub searched: usize,
    /// Files that match.
    pub files: usize,
    /// Lines that match.
    pub matches: usize,
    text: String,
    lines: usize,
    limit: usize,
    full: bool,
    unreadable: usize,
    first_unreadable: String,
    /// What a search of a directory left out, said when nothing was found.
    hint: &'static str,
}

impl Report {
    /// The report on a directory, with nothing found yet.
    pub(crate) fn of_directory(query: &Query) -> Self {
        let hint = match (query.walk.hidden, query.walk.ignored) {
            (true, true) => "",
            (true, false) => " (ignored files were left out)",
            (false, true) => " (hidden files were left out)",
            (false, false) => " (hidden and ignored files were left out)",
        };
        Self { limit: query.limit, hint, ..Self::default() }
    }

    /// The report on a file that was asked for by name, of which nothing is left out.
    pub(crate) fn of_named_file(query: &Query) -> Self {
        Self { limit: query.limit, searched: 1, ..Self::default() }
    }

    /// Whether something had to be left out, so that there is no use in going on.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Adds what a search of one file finds.
    pub(crate) fn file(
        &mut self,
        query: &Query,
        path: &str,
        search: impl FnOnce(&mut Lines<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut lines = Lines::new(self, query, path);
        let searched = search(&mut lines);
        let Lines { matches, became_binary, .. } = lines;
        self.matches += matches;
        self.files += usize::from(matches > 0);
        match query.mode {
            _ if matches == 0 => {}
            OutputMode::Content if became_binary => {
                self.add(format_args!("{path}: binary from here on, the rest was not searched"));
            }
            OutputMode::Content => {}
            OutputMode::FilesWithMatches => {
                self.add(format_args!("{path}"));
            }
            OutputMode::Count => {
                self.add(format_args!("{path}:{matches}"));
            }
        }
        searched
    }

    /// Adds what a search of a binary file finds, without its content.
    pub(crate) fn binary(
        &mut self,
        query: &Query,
        search: impl FnOnce(&mut Lines<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut lines = Lines { mode: OutputMode::FilesWithMatches, ..Lines::new(self, query, &query.path) };
        search(&mut lines)?;
        if lines.matches > 0 {
            self.matches = 1;
            self.files = 1;
            self.add(format_args!("binary file {} matches", query.path));
        }
        Ok(())
    }

    pub(crate) fn unreadable(&mut self, path: &str, error: FileError) {
        self.unreadable += 1;
        if self.unreadable == 1 {
            self.first_unreadable = Failure::on_path(path, error).text().to_owned();
        }
    }

    /// Adds a line unless that would be too much; then there is no use in going on.
    fn add(&mut self, line: std::fmt::Arguments<'_>) -> bool {
        if self.lines >= self.limit || self.text.len() >= MAX_TEXT {
            self.full = true;
            return false;
        }
        self.lines += 1;
        // Writing to a String cannot fail.
        self.text.write_fmt(line).is_ok_and(|()| self.text.write_char('\n').is_ok())
    }

    /// The text the model reads.
    pub fn into_text(self) -> String {
        let Self { searched, files, matches, mut text, lines, full, unreadable, first_unreadable, hint, .. } = self;
        let mut note = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        if searched == 0 {
            note(format!("No files to search: none fits `path`, `glob` and `type`{hint}."));
        } else if files == 0 {
            note(format!("No matches in {} searched{hint}.", count(searched, "file", "files")));
        }
        if full {
            note(format!(
                "… stopped after {} ({} in {} so far); narrow the search with `path`, `glob` or `type`, or raise `limit`",
                count(lines, "line", "lines"),
                count(matches, "match", "matches"),
                count(files, "file", "files"),
            ));
        }
        if unreadable > 0 {
            note(format!("… {} could not be read; the first: {first_unreadable}", count(unreadable, "path", "paths")));
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }
}

/// Takes the lines of one file from the searcher.
pub(crate) struct Lines<'a> {
    report: &'a mut Report,
    matcher: &'a RegexMatcher,
    path: &'a str,
    mode: OutputMode,
    /// The next line does not follow the one before it, and there is context to set apart.
    gap: bool,
    matches: usize,
    became_binary: bool,
}

impl<'a> Lines<'a> {
    fn new(report: &'a mut Report, query: &'a Query, path: &'a str) -> Self {
        let gap = query.before + query.after > 0 && !report.text.is_empty();
        Self { report, matcher: &query.matcher, path, mode: query.mode, gap, matches: 0, became_binary: false }
    }

    fn add(&mut self, sign: char, number: u64, line: &[u8]) -> bool {
        let gap = if std::mem::take(&mut self.gap) { "--\n" } else { "" };
        let text = excerpt(line, self.matcher);
        self.report.add(format_args!("{gap}{}{sign}{number}{sign}{text}", self.path))
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        match self.mode {
            OutputMode::FilesWithMatches => {
                self.matches = 1;
                return Ok(false);
            }
            OutputMode::Count => {
                self.matches += 1;
                return Ok(true);
            }
            OutputMode::Content => {}
        }
        self.matches += 1;
        let first = found.line_number().unwrap_or(1);
        for (number, line) in (first..).zip(found.lines()) {
            if !self.add(':', number, line) {
                // A match of which nothing was shown is not one of those "so far".
                self.matches -= usize::from(number == first);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.add('-', found.line_number().unwrap_or(1), found.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.gap = true;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.became_binary = true;
        Ok(true)
    }
}

/// A line without its end; of a line that is too long, the part around the first match.
fn excerpt<'a>(line: &'a [u8], matcher: &RegexMatcher) -> Cow<'a, str> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= MAX_LINE {
        return String::from_utf8_lossy(line);
    }
    let found = matcher.find(line).ok().flatten().map_or(0, |found| found.start());
    let mut start = if found + LEAD < MAX_LINE { 0 } else { found - LEAD };
    // A character has at most three continuation bytes; more are no text anyway.
    start += line[start..].iter().take(3).take_while(|&&byte| start > 0 && byte & 0xc0 == 0x80).count();
    let window = &line[start..line.len().min(start + 4 * (MAX_LINE + 1))];
    let shown = String::from_utf8_lossy(window);
    let (shown, cut) = clip(&shown, MAX_LINE);
    let before = if start > 0 { "…" } else { "" };
    if start == 0 && cut == 0 {
        return Cow::Owned(shown.to_owned());
    }
    let after = if cut > 0 || start + window.len() < line.len() { "…" } else { "" };
    Cow::Owned(format!("{before}{shown}{after} [clipped, the line has {}]", count(line.len(), "byte", "bytes")))
}
