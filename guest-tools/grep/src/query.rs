//! From what the model asked for to what the searcher needs.

use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use palisade_tool::{Failure, walk};

use crate::{Input, OutputMode, filter::Filter, reject::Beginnings};

/// A search that is ready to run.
pub struct Query {
    /// Where to search, clean: the workspace is the empty path.
    pub(crate) path: String,
    pub(crate) walk: walk::Options,
    pub(crate) filter: Filter,
    pub(crate) matcher: RegexMatcher,
    pub(crate) beginnings: Option<Beginnings>,
    pub(crate) mode: OutputMode,
    pub(crate) before: usize,
    pub(crate) after: usize,
    pub(crate) limit: usize,
    pub(crate) multiline: bool,
    pub(crate) invert: bool,
}

/// A compiled expression larger than this is refused; the guest's memory is bounded.
const MAX_REGEX: usize = 16 << 20;
/// What the lazy automaton may cache.
const MAX_AUTOMATON: usize = 64 << 20;
/// The longest line of a large file, and the largest file of a search across lines.
const MAX_BUFFER: usize = 64 << 20;
/// More context than this is a `read`.
const MAX_CONTEXT: u32 = 1000;
/// More lines than this help nobody.
const MAX_LINES: u32 = 10_000;

impl Query {
    /// Checks an input and compiles its pattern.
    pub fn new(input: &Input) -> Result<Self, Failure> {
        if input.pattern.is_empty() {
            return Err(Failure::InvalidInput("`pattern` is empty".to_owned()));
        }
        if input.path.is_empty() {
            return Err(Failure::InvalidInput("`path` is empty; use `.` for the whole workspace".to_owned()));
        }
        if input.limit == 0 {
            return Err(Failure::InvalidInput("`limit` must be at least 1".to_owned()));
        }
        let globs = input.glob.as_slice();
        Ok(Self {
            path: walk::clean(&input.path),
            walk: walk::Options {
                hidden: input.hidden || globs.iter().any(|glob| walk::asks_for_hidden(glob)),
                ignored: input.ignored,
                max_depth: None,
            },
            filter: Filter::new(globs, input.file_type.as_slice())?,
            matcher: compile(input)?,
            beginnings: Beginnings::new(input),
            mode: input.output_mode,
            before: input.before.max(input.context).min(MAX_CONTEXT) as usize,
            after: input.after.max(input.context).min(MAX_CONTEXT) as usize,
            limit: input.limit.min(MAX_LINES) as usize,
            multiline: input.multiline,
            invert: input.invert,
        })
    }

    /// The searcher of this query; it is used for all files, so that its buffers are.
    pub(crate) fn searcher(&self, binary: BinaryDetection) -> Searcher {
        let context = self.mode == OutputMode::Content;
        SearcherBuilder::new()
            .line_terminator(self.matcher.line_terminator().unwrap_or(LineTerminator::byte(b'\n')))
            .binary_detection(binary)
            .line_number(true)
            .multi_line(self.multiline)
            .invert_match(self.invert)
            .before_context(if context { self.before } else { 0 })
            .after_context(if context { self.after } else { 0 })
            .heap_limit(Some(MAX_BUFFER))
            .build()
    }

    /// Whether the matcher sees in a whole file what the searcher sees line by line, so that one
    /// look tells that a file has no match.
    pub(crate) fn can_reject(&self) -> bool {
        !self.invert && (self.multiline || self.matcher.line_terminator().is_some())
    }
}

fn compile(input: &Input) -> Result<RegexMatcher, Failure> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .dot_matches_new_line(input.multiline)
        .case_insensitive(input.ignore_case)
        .word(input.word)
        .fixed_strings(input.fixed_strings)
        .size_limit(MAX_REGEX)
        .dfa_size_limit(MAX_AUTOMATON);
    // `$` matches before a CRLF too; other patterns are spared the slower automaton.
    let ends_lines = input.pattern.contains('$') && !input.fixed_strings && !input.pattern.contains("\\r");
    builder.crlf(ends_lines);
    if input.multiline {
        builder.line_terminator(None);
    } else if !ends_lines {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&input.pattern).map_err(|error| refuse(input, &error.to_string()))
}

fn refuse(input: &Input, error: &str) -> Failure {
    let across = input.pattern.contains('\n') || input.pattern.contains("\\n");
    let advice = if across && !input.multiline {
        "a match across lines needs `multiline`: true"
    } else if input.pattern.contains("(?=") || input.pattern.contains("(?!") || input.pattern.contains("(?<") {
        "look-around and back-references are not supported"
    } else {
        "escape special characters with `\\`, or set `fixed_strings` to search for plain text"
    };
    Failure::InvalidInput(format!("`pattern` is not valid: {error}\n{advice}"))
}
