//! What a person sees. The one place that prints: answers and data on standard output, everything
//! else on standard error. What guests, models and files say is made harmless first.

mod line;
mod markdown;
mod neutral;
mod timeline;
pub(crate) mod words;

use std::io::{self, IsTerminal as _, Write};

use serde::Serialize;

use crate::{
    render::neutral::{neutral_json, neutral_text},
    settings::Colours,
};
pub(crate) use line::{Line, Style};
pub(crate) use timeline::{Timeline, Totals};

/// Where a person looks, or a pipe in its place.
#[derive(Clone, Copy)]
pub(crate) struct Terminal {
    out: Screen,
    err: Screen,
}

/// One stream and what it can show.
#[derive(Clone, Copy)]
struct Screen {
    is_terminal: bool,
    colours: bool,
    /// Columns; without, lines are as long as they are.
    width: Option<usize>,
}

impl Terminal {
    /// The standard streams.
    pub(crate) fn of_this_process(colours: Colours) -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        Self {
            out: Screen { is_terminal: out.is_terminal(), colours: colours.stdout, width: width(&out) },
            err: Screen { is_terminal: err.is_terminal(), colours: colours.stderr, width: width(&err) },
        }
    }

    /// Prints a text on standard output: as it is into a pipe or file, harmless on a terminal.
    pub(crate) fn text(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        match self.out.is_terminal {
            true => out.write_all(neutral_text(text).as_bytes())?,
            false => out.write_all(text.as_bytes())?,
        }
        if !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        out.flush()
    }

    /// Prints a value as JSON on standard output.
    pub(crate) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        self.text(&neutral_json(&serde_json::to_string_pretty(value)?))
    }

    /// Prints one line on standard output, cut to what a terminal can show.
    pub(crate) fn line(&self, line: &Line) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", line.shown(self.out.width, self.out.colours))?;
        out.flush()
    }

    /// Prints one line on standard error, whole.
    pub(crate) fn note(&self, line: &Line) {
        // Nobody is told when standard error is closed: there is no place left to say it.
        drop(writeln!(io::stderr().lock(), "{}", line.shown(None, self.err.colours)));
    }

    /// Prints one line on standard error, cut to what a terminal can show.
    fn note_cut(&self, line: &Line) {
        drop(writeln!(io::stderr().lock(), "{}", line.shown(self.err.width, self.err.colours)));
    }

    /// Prints a block that a guest wrote, under a title, on standard error.
    pub(crate) fn block(&self, title: &str, text: &str) {
        self.note(&Line::new().add(Style::Dim, title));
        for row in text.lines() {
            self.note(&Line::new().add(Style::Plain, "  ").add(Style::Plain, row));
        }
    }

    /// Says how far a guest is.
    pub(crate) fn progress(&self, message: &str) {
        self.note_cut(&Line::new().add(Style::Dim, message));
    }

    /// Says what will not work, but does not stop the work.
    pub(crate) fn warning(&self, text: &str) {
        self.note(&Line::new().add(Style::Caution, "warning: ").add(Style::Plain, text));
    }

    /// Says why the work stopped.
    pub(crate) fn error(&self, text: &str) {
        self.note(&Line::new().add(Style::Bad, "error: ").add(Style::Plain, text));
    }
}

fn width(stream: &(impl io::IsTerminal + std::os::fd::AsFd)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let columns = rustix::termios::tcgetwinsize(stream).ok()?.ws_col;
    // A terminal that does not know its width says zero.
    (columns >= 40).then_some(usize::from(columns))
}
