//! Words with styles, broken into lines. A word that is longer than a line stays whole, so that an
//! address can be copied; the terminal breaks it.

use unicode_width::UnicodeWidthStr as _;

use crate::render::Style;

/// What is said in one paragraph.
#[derive(Debug, Default)]
pub(super) struct Words {
    parts: Vec<(Style, String)>,
}

/// A piece of a line.
pub(super) type Part = (Style, String);

impl Words {
    pub(super) fn add(&mut self, style: Style, text: &str) {
        self.parts.push((style, text.to_owned()));
    }

    /// A line ends here, whatever room it has.
    pub(super) fn end_line(&mut self) {
        self.parts.push((Style::Plain, "\n".to_owned()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.iter().all(|(_, text)| text.trim().is_empty())
    }

    /// Breaks them into lines of at most `width` columns.
    pub(super) fn wrap(&self, width: usize) -> Vec<Vec<Part>> {
        let mut lines = Lines { width: width.max(1), done: Vec::new(), line: Vec::new(), used: 0, word: Vec::new() };
        for (style, text) in &self.parts {
            for piece in text.split_inclusive([' ', '\n']) {
                let word = piece.trim_end_matches([' ', '\n']);
                if !word.is_empty() {
                    lines.word.push((*style, word.to_owned()));
                }
                if piece.ends_with('\n') {
                    lines.end_line();
                } else if piece.ends_with(' ') {
                    lines.end_word(*style);
                }
            }
        }
        lines.end_line();
        lines.done
    }
}

struct Lines {
    width: usize,
    done: Vec<Vec<Part>>,
    line: Vec<Part>,
    /// Columns of the line, with the blank after its last word.
    used: usize,
    /// What has not come to a blank.
    word: Vec<Part>,
}

impl Lines {
    fn place_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let width: usize = word.iter().map(|(_, text)| text.width()).sum();
        if self.used > 0 && self.used + width > self.width {
            self.break_line();
        }
        self.used += width;
        self.line.extend(word);
    }

    fn end_word(&mut self, style: Style) {
        let empty = self.word.is_empty();
        self.place_word();
        // One blank is enough, and none begins a line.
        if self.used > 0 && !(empty && self.line.last().is_some_and(|(_, text)| text.ends_with(' '))) {
            self.line.push((style, " ".to_owned()));
            self.used += 1;
        }
    }

    fn end_line(&mut self) {
        self.place_word();
        self.break_line();
    }

    fn break_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        while line.last().is_some_and(|(_, text)| text == " ") {
            line.pop();
        }
        self.done.push(line);
        self.used = 0;
    }
}
