//! One line of output, put together from parts that were made harmless.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::render::neutral::{neutral_line, neutral_text};

/// One line. Every part is made harmless when it is added, so whatever prints a line cannot forget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    parts: Vec<(Style, String)>,
}

/// How a part looks where colours are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Italic,
    Underlined,
    Heading,
    Code,
    Good,
    Caution,
    Bad,
}

impl Line {
    /// An empty line.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The line with one more part.
    pub(crate) fn add(mut self, style: Style, text: &str) -> Self {
        let text = neutral_line(text);
        match self.parts.last_mut() {
            Some((last, before)) if *last == style => before.push_str(&text),
            _ => self.parts.push((style, text.into_owned())),
        }
        self
    }

    /// The line with one more part whose tabs stay what they are.
    pub(crate) fn verbatim(mut self, style: Style, text: &str) -> Self {
        self.parts.push((style, neutral_text(text).replace('\n', "⏎")));
        self
    }

    /// The line with one more part, filled up to a column's width and a gap.
    pub(crate) fn column(self, style: Style, text: &str, width: usize) -> Self {
        let text = neutral_line(text);
        let fill = width.saturating_sub(text.width()) + 2;
        self.add(style, &text).add(Style::Plain, &" ".repeat(fill))
    }

    /// How many columns it takes.
    pub(crate) fn width(&self) -> usize {
        self.parts.iter().map(|(_, text)| text.width()).sum()
    }

    /// What is printed: cut to a width, if there is one, and with colours, if they are shown.
    pub(crate) fn shown(&self, width: Option<usize>, colours: bool) -> String {
        let mut shown = String::new();
        let mut room = width.filter(|width| *width < self.width()).unwrap_or(usize::MAX);
        for (style, text) in &self.parts {
            let cut = cut(text, room);
            match style.code().filter(|_| colours && !cut.is_empty()) {
                Some(code) => shown += &format!("\x1b[{code}m{cut}\x1b[0m"),
                None => shown += &cut,
            }
            room = room.saturating_sub(text.width());
        }
        shown.truncate(shown.trim_end().len());
        shown
    }

    /// The same with its tabs as blanks, where every column counts.
    pub(crate) fn without_tabs(mut self) -> Self {
        for (_, text) in &mut self.parts {
            *text = text.replace('\t', "    ");
        }
        self
    }

    #[cfg(test)]
    pub(crate) fn plain(&self) -> String {
        self.shown(None, false)
    }
}

impl Style {
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bold => Some("1"),
            Self::Dim => Some("2"),
            Self::Italic => Some("3"),
            Self::Underlined => Some("4"),
            Self::Heading => Some("1;35"),
            Self::Code => Some("36"),
            Self::Good => Some("32"),
            Self::Caution => Some("33"),
            Self::Bad => Some("31"),
        }
    }
}

/// The beginning of a text, with a mark where it was cut.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let (mut cut, mut left) = (String::new(), room.saturating_sub(1));
    for character in text.chars() {
        let width = character.width().unwrap_or(0);
        if width > left {
            break;
        }
        left -= width;
        cut.push(character);
    }
    if room > 0 {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_to_the_width_and_coloured_only_where_asked() {
        let line = Line::new().column(Style::Good, "ok", 4).add(Style::Plain, "all is well");
        assert_eq!(line.shown(None, false), "ok    all is well");
        assert_eq!(line.shown(Some(10), false), "ok    all…");
        assert_eq!(line.shown(None, true), "\x1b[32mok\x1b[0m    all is well");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(Line::new().add(Style::Plain, "漢字漢字").shown(Some(6), false), "漢字…");
    }

    #[test]
    fn no_part_brings_colours_of_its_own() {
        assert_eq!(Line::new().add(Style::Plain, "\x1b[2Jgone").shown(None, true), "\\u{1b}[2Jgone");
        assert_eq!(Line::new().verbatim(Style::Plain, "a\t\x1b[2J\nb").shown(None, true), "a\t\\u{1b}[2J⏎b");
    }
}
