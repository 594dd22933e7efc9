//! One line of output, put together from parts that were made harmless.

use crate::render::neutral::neutral_line;

/// One line. Every part is made harmless when it is added, so whatever prints a line cannot forget.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    parts: Vec<(Style, String)>,
}

/// How a part looks where colours are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
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
        self.parts.push((style, neutral_line(text).into_owned()));
        self
    }

    /// The line with one more part, filled up to a column's width and a gap.
    pub(crate) fn column(self, style: Style, text: &str, width: usize) -> Self {
        let text = neutral_line(text);
        let fill = width.saturating_sub(text.chars().count()) + 2;
        self.add(style, &text).add(Style::Plain, &" ".repeat(fill))
    }

    /// How many characters it has.
    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// What is printed: cut to a width, if there is one, and with colours, if they are shown.
    pub(crate) fn shown(&self, width: Option<usize>, colours: bool) -> String {
        let mut shown = String::new();
        let mut room = width.filter(|width| *width < self.len()).unwrap_or(usize::MAX);
        for (style, text) in &self.parts {
            let cut = cut(text, room);
            match style.code().filter(|_| colours && !cut.is_empty()) {
                Some(code) => shown += &format!("\x1b[{code}m{cut}\x1b[0m"),
                None => shown += &cut,
            }
            room = room.saturating_sub(text.chars().count());
        }
        shown.truncate(shown.trim_end().len());
        shown
    }
}

impl Style {
    fn code(self) -> Option<u8> {
        match self {
            Self::Plain => None,
            Self::Bold => Some(1),
            Self::Dim => Some(2),
            Self::Good => Some(32),
            Self::Caution => Some(33),
            Self::Bad => Some(31),
        }
    }
}

/// The beginning of a text, with a mark where it was cut.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(room.saturating_sub(1)).collect();
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
    fn no_part_brings_colours_of_its_own() {
        assert_eq!(Line::new().add(Style::Plain, "\x1b[2Jgone").shown(None, true), "\\u{1b}[2Jgone");
    }
}
