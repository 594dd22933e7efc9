//! Where the settings in front of a Markdown text end and the text begins.
//!
//! A fence is a whole line of `---`: the first of the file and the next one after it. Dashes inside
//! a line, or in the text below, mean nothing here.

use std::ops::Range;

/// The parts of a Markdown text, as ranges of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// Between the fences.
    pub(super) settings: Range<usize>,
    /// After the second fence.
    pub(super) body: Range<usize>,
}

/// Why a text has no settings in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// The first line is something else.
    Opening,
    /// There is no second fence.
    Closing,
}

/// Finds the settings in front of a text.
pub(super) fn split(text: &str) -> Result<Parts, Missing> {
    let mut lines = Lines { text, at: 0 };
    lines.next().filter(|line| is_fence(text, line)).ok_or(Missing::Opening)?;
    let start = lines.at;
    while let Some(line) = lines.next() {
        if is_fence(text, &line) {
            return Ok(Parts { settings: start..line.start, body: lines.at..text.len() });
        }
    }
    Err(Missing::Closing)
}

fn is_fence(text: &str, line: &Range<usize>) -> bool {
    text.get(line.clone()).is_some_and(|line| line.trim_end_matches([' ', '\t']) == "---")
}

/// The lines of a text without their ends, which may be LF, CRLF or CR.
struct Lines<'a> {
    text: &'a str,
    /// Where the next line starts.
    at: usize,
}

impl Iterator for Lines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let start = self.at;
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let end = start + length;
        let ending = match rest.get(length..) {
            Some(ending) if ending.starts_with("\r\n") => 2,
            Some(ending) if !ending.is_empty() => 1,
            _ => 0,
        };
        self.at = end + ending;
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(&str, &str), Missing>) {
        let found = split(text).map(|parts| (&text[parts.settings], &text[parts.body]));
        assert_eq!(found, expected, "{text:?}");
    }

    /// A1, A7, DF-1
    #[test]
    fn settings_are_between_the_first_line_and_the_next_fence() {
        check("---\na: 1\n---\nbody\n---\nmore", Ok(("a: 1\n", "body\n---\nmore")));
        check("---  \na: x --- y\n--- \t\nbody", Ok(("a: x --- y\n", "body")));
        check("---\n---", Ok(("", "")));
        check("---\na: |\n  ---\n---\n", Ok(("a: |\n  ---\n", "")));
    }

    /// DF-1
    #[test]
    fn all_line_ends_are_line_ends() {
        check("---\r\na: 1\r\n---\r\nbody\r\n", Ok(("a: 1\r\n", "body\r\n")));
        check("---\ra: 1\r---\rbody", Ok(("a: 1\r", "body")));
    }

    /// A8, A29, DF-1
    #[test]
    fn without_two_fences_there_are_no_settings() {
        check("", Err(Missing::Opening));
        check("text\n---\na: 1\n---\n", Err(Missing::Opening));
        check("text --- name: a --- body", Err(Missing::Opening));
        check("\n---\na: 1\n---\n", Err(Missing::Opening));
        check(" ---\na: 1\n---\n", Err(Missing::Opening));
        check("----\na: 1\n---\n", Err(Missing::Opening));
        check("---\na: 1\n --- \n", Err(Missing::Closing));
        check("---", Err(Missing::Closing));
    }
}
