//! The changed lines of a file, with a few around them, as the model reads them.

use std::fmt;

use palisade_tool::text::{clip, count};

use crate::change::{Draft, Hunk};

/// Unchanged lines that are shown before and after a change.
const CONTEXT: usize = 3;
/// The most lines that are shown of one side of a change.
const MAX_SIDE: usize = 30;
/// The most lines that are shown in all.
const MAX_LINES: usize = 150;
/// The longest line that is shown whole, in characters.
const MAX_LINE: usize = 200;

/// The changed lines of a draft.
pub(crate) struct Excerpt<'a> {
    draft: &'a Draft,
    /// The lines of the text as it is now.
    lines: Vec<&'a str>,
}

impl<'a> Excerpt<'a> {
    pub(crate) fn new(draft: &'a Draft) -> Self {
        Self { draft, lines: draft.text().lines().collect() }
    }

    fn hunk(&self, hunk: &Hunk) -> Vec<String> {
        let mut shown = vec![format!("@@ line {} @@", hunk.line)];
        let first = (hunk.line - 1).min(self.lines.len());
        for number in first.saturating_sub(CONTEXT)..first {
            shown.push(line(Some(number + 1), ' ', self.lines[number]));
        }
        let some = |lines: &'_ [String]| lines.len().min(MAX_SIDE);
        for text in &hunk.removed[..some(&hunk.removed)] {
            shown.push(line(None, '-', text));
        }
        shown.extend(more(hunk.removed.len(), "removed"));
        for (number, text) in (hunk.line..).zip(&hunk.added[..some(&hunk.added)]) {
            shown.push(line(Some(number), '+', text));
        }
        shown.extend(more(hunk.added.len(), "added"));
        let after = (first + hunk.added.len()).min(self.lines.len());
        for number in after..(after + CONTEXT).min(self.lines.len()) {
            shown.push(line(Some(number + 1), ' ', self.lines[number]));
        }
        shown
    }
}

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left_out = self.draft.left_out();
        let mut shown: Vec<String> = Vec::new();
        for hunk in self.draft.hunks() {
            let lines = self.hunk(hunk);
            if !shown.is_empty() && shown.len() + lines.len() > MAX_LINES {
                left_out += 1;
            } else {
                shown.extend(lines);
            }
        }
        if left_out > 0 {
            shown.push(format!("… {} not shown", count(left_out, "more changed place", "more changed places")));
        }
        formatter.write_str(&shown.join("\n"))
    }
}

fn line(number: Option<usize>, sign: char, text: &str) -> String {
    let number = number.map_or(String::new(), |number| number.to_string());
    let (shown, cut) = clip(text.strip_suffix('\r').unwrap_or(text), MAX_LINE);
    format!("{number:>6} {sign}{shown}{}", if cut > 0 { "…" } else { "" })
}

fn more(lines: usize, what: &str) -> Option<String> {
    let more = lines.checked_sub(MAX_SIDE).filter(|&more| more > 0)?;
    Some(format!("       … {} {what}", count(more, "more line", "more lines")))
}
