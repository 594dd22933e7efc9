//! A file's text while edits are made to it, and where it was changed.

use std::borrow::Cow;

use palisade_tool::Failure;

use crate::{Edit, mismatch};

/// A file's text while edits are made to it.
pub(crate) struct Draft {
    text: String,
    /// The file does not exist yet; the first edit gives its text.
    is_new: bool,
    /// All lines of the file end with CRLF. The text has LF, so that edits need not care.
    crlf: bool,
    replacements: usize,
    hunks: Vec<Hunk>,
    left_out: usize,
}

/// Lines that were changed.
pub(crate) struct Hunk {
    /// The first changed line in the text as it is now, from 1.
    pub(crate) line: usize,
    pub(crate) removed: Vec<String>,
    pub(crate) added: Vec<String>,
}

/// Hunks that are kept to be shown, of each edit.
const KEPT: usize = 8;
/// Line numbers that are told when a text occurs too often.
const TOLD: usize = 10;

impl Draft {
    pub(crate) fn new(file: Option<&str>) -> Self {
        let crlf = file.is_some_and(uses_crlf);
        let text = match file {
            Some(file) if crlf => file.replace("\r\n", "\n"),
            Some(file) => file.to_owned(),
            None => String::new(),
        };
        Self { text, is_new: file.is_none(), crlf, replacements: 0, hunks: Vec::new(), left_out: 0 }
    }

    /// Makes one edit, or says why it cannot be made.
    pub(crate) fn apply(&mut self, edit: &Edit) -> Result<(), Failure> {
        let old = self.line_ends(&edit.old);
        let new = self.line_ends(&edit.new);
        if std::mem::take(&mut self.is_new) {
            return self.create(&old, &new);
        }
        if old.is_empty() {
            return Err(Failure::InvalidInput(
                "`old` is empty but the file exists; give the text to replace, or use write to replace the whole file"
                    .to_owned(),
            ));
        }
        let found: Vec<usize> = self.text.match_indices(&*old).map(|(position, _)| position).collect();
        match found.len() {
            0 => return Err(Failure::Failed(mismatch::explain(&self.text, &old, &new))),
            1 => {}
            _ if edit.replace_all => {}
            count => return Err(Failure::Failed(self.ambiguous(&found, count))),
        }
        self.replace(&found, &old, &new);
        Ok(())
    }

    fn create(&mut self, old: &str, new: &str) -> Result<(), Failure> {
        if !old.is_empty() {
            return Err(Failure::Failed(
                "does not exist; look for it with glob or ls, or leave `old` empty to create it".to_owned(),
            ));
        }
        self.text = new.to_owned();
        self.replacements = 1;
        self.hunks = vec![Hunk { line: 1, removed: Vec::new(), added: new.lines().map(str::to_owned).collect() }];
        Ok(())
    }

    fn replace(&mut self, found: &[usize], old: &str, new: &str) {
        let before = std::mem::take(&mut self.text);
        let earlier = self.hunks.len();
        let mut after = String::with_capacity(before.len() + found.len() * new.len().saturating_sub(old.len()));
        let mut copied = 0;
        let mut lines = LineCounter::default();
        let mut shift: isize = 0;
        for group in groups(&before, found, old.len()) {
            let (start, end) = line_span(&before, group[0], group[group.len() - 1] + old.len());
            after.push_str(&before[copied..start]);
            let written = after.len();
            copied = start;
            for &position in group {
                after.push_str(&before[copied..position]);
                after.push_str(new);
                copied = position + old.len();
            }
            after.push_str(&before[copied..end]);
            copied = end;
            let line = lines.at(&before, start);
            let delta = line_count(&after[written..]).cast_signed() - line_count(&before[start..end]).cast_signed();
            for hunk in &mut self.hunks[..earlier] {
                if hunk.line.cast_signed() > line.cast_signed() + shift {
                    // The changed lines may be among those that went away.
                    hunk.line = hunk.line.saturating_add_signed(delta).max(1);
                }
            }
            if self.hunks.len() - earlier < KEPT {
                let hunk = Hunk::new(line.saturating_add_signed(shift), &before[start..end], &after[written..]);
                self.hunks.push(hunk);
            } else {
                self.left_out += 1;
            }
            shift += delta;
        }
        after.push_str(&before[copied..]);
        self.text = after;
        self.replacements += found.len();
    }

    fn ambiguous(&self, found: &[usize], count: usize) -> String {
        let mut lines = LineCounter::default();
        let told: Vec<String> =
            found.iter().take(TOLD).map(|&position| lines.at(&self.text, position).to_string()).collect();
        let more = if count > TOLD { ", …" } else { "" };
        format!(
            "`old` occurs {count} times, at lines {}{more}; give more of the lines around it so that it occurs once, \
             or set `replace_all`; nothing was changed",
            told.join(", ")
        )
    }

    /// A text with the line ends of the draft.
    fn line_ends<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.crlf && text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
    }

    /// The text as it goes to the file.
    pub(crate) fn to_file(&self) -> Cow<'_, str> {
        if self.crlf { Cow::Owned(self.text.replace('\n', "\r\n")) } else { Cow::Borrowed(&self.text) }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn replacements(&self) -> usize {
        self.replacements
    }

    pub(crate) fn hunks(&self) -> &[Hunk] {
        &self.hunks
    }

    /// Changed places that are not among the hunks.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out
    }
}

impl Hunk {
    /// Compares two pieces of whole lines, of which the first and last may be the same.
    fn new(line: usize, before: &str, after: &str) -> Self {
        let mut removed: Vec<&str> = before.split('\n').collect();
        let mut added: Vec<&str> = after.split('\n').collect();
        let same = removed.iter().zip(&added).take_while(|(old, new)| old == new).count();
        removed.drain(..same);
        added.drain(..same);
        let same = removed.iter().rev().zip(added.iter().rev()).take_while(|(old, new)| old == new).count();
        removed.truncate(removed.len() - same);
        added.truncate(added.len() - same);
        let same_above = before.split('\n').zip(after.split('\n')).take_while(|(old, new)| old == new).count();
        let own = |lines: Vec<&str>| lines.into_iter().map(str::to_owned).collect();
        Self { line: line + same_above, removed: own(removed), added: own(added) }
    }
}

/// Whether every line of a text ends with CRLF.
fn uses_crlf(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && ends == text.matches("\r\n").count()
}

/// Puts together the places that share a line, so that each line is shown once.
fn groups<'a>(text: &'a str, found: &'a [usize], length: usize) -> impl Iterator<Item = &'a [usize]> {
    found.chunk_by(move |&earlier, &later| !text[earlier + length..later].contains('\n'))
}

/// Widens a range to whole lines, without the end of the last one.
fn line_span(text: &str, start: usize, end: usize) -> (usize, usize) {
    let first = text[..start].rfind('\n').map_or(0, |position| position + 1);
    let last = text[end..].find('\n').map_or(text.len(), |position| end + position);
    (first, last)
}

fn line_count(text: &str) -> usize {
    text.matches('\n').count()
}

/// Tells line numbers of rising positions in one pass.
#[derive(Default)]
struct LineCounter {
    position: usize,
    lines: usize,
}

impl LineCounter {
    fn at(&mut self, text: &str, position: usize) -> usize {
        self.lines += line_count(&text[self.position..position]);
        self.position = position;
        self.lines + 1
    }
}
