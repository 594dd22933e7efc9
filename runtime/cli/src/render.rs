//! What a person sees. The one place that prints: answers and data on standard output, everything
//! else on standard error. What guests, models and files say is made harmless first.

mod calls;
mod echo;
mod line;
mod live;
mod markdown;
mod neutral;
mod screen;
mod speech;
mod status;
#[cfg(test)]
mod tests;
mod timeline;
pub(crate) mod words;

use std::{
    io::{self, Write as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;

use crate::{
    render::{
        live::Live,
        markdown::Markdown,
        neutral::{neutral_json, neutral_text},
        screen::{Screen, Streams},
    },
    settings::Colours,
};
pub(crate) use line::{Line, Style};
pub(crate) use timeline::{Timeline, Totals};

/// Where a person looks, or a pipe in its place. Whatever is printed goes above what is live.
#[derive(Clone)]
pub(crate) struct Terminal {
    out: Screen,
    err: Screen,
    printer: Arc<Mutex<Printer>>,
}

/// What prints, one at a time.
struct Printer {
    streams: Streams,
    live: Live,
}

impl Terminal {
    /// The standard streams.
    pub(crate) fn of_this_process(colours: Colours) -> Self {
        let (out, err) = (Screen::stdout(colours), Screen::stderr(colours));
        Self::new(out, err, Streams::of_this_process())
    }

    fn new(out: Screen, err: Screen, streams: Streams) -> Self {
        Self { out, err, printer: Arc::new(Mutex::new(Printer { streams, live: Live::default() })) }
    }

    /// Whether what is printed on standard output is looked at.
    pub(crate) fn shows_output(&self) -> bool {
        self.out.is_terminal
    }

    /// Prints a text on standard output: as it is into a pipe or file, harmless on a terminal.
    pub(crate) fn text(&self, text: &str) -> io::Result<()> {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        match self.out.is_terminal {
            true => self.output(&format!("{}{end}", neutral_text(text))),
            false => self.output(&format!("{text}{end}")),
        }
    }

    /// Prints Markdown on standard output: as it is into a pipe or file, with styles on a terminal.
    pub(crate) fn markdown(&self, text: &str) -> io::Result<()> {
        match self.out.is_terminal {
            true => self.lines(&Markdown::whole(text, self.page())),
            false => self.text(text),
        }
    }

    /// Prints a value as JSON on standard output.
    pub(crate) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        self.text(&neutral_json(&serde_json::to_string_pretty(value)?))
    }

    /// Prints a value as JSON on one line of standard output.
    pub(crate) fn json_line(&self, value: &impl Serialize) -> io::Result<()> {
        self.text(&neutral_json(&serde_json::to_string(value)?))
    }

    /// Prints one line on standard output, cut to what a terminal can show.
    pub(crate) fn line(&self, line: &Line) -> io::Result<()> {
        self.output(&format!("{}\n", line.shown(self.out.width(), self.out.colours)))
    }

    /// Prints one line on standard output, whole.
    pub(crate) fn whole(&self, line: &Line) -> io::Result<()> {
        self.lines(std::slice::from_ref(line))
    }

    /// Prints lines on standard output, whole.
    fn lines(&self, lines: &[Line]) -> io::Result<()> {
        self.output(&lines.iter().map(|line| format!("{}\n", line.shown(None, self.out.colours))).collect::<String>())
    }

    /// How wide a page of text is on standard output.
    fn page(&self) -> usize {
        self.out.size().map_or(80, |size| size.columns.max(20))
    }

    /// Prints one line on standard error, whole.
    pub(crate) fn note(&self, line: &Line) {
        self.aside(&line.shown(None, self.err.colours));
    }

    /// Prints one line on standard error, cut to what a terminal can show.
    fn note_cut(&self, line: &Line) {
        self.aside(&line.shown(self.err.width(), self.err.colours));
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

    fn output(&self, text: &str) -> io::Result<()> {
        let printer = &mut *self.printer();
        printer.live.erase(&self.err, &mut printer.streams);
        let written = printer.streams.out.write_all(text.as_bytes()).and_then(|()| printer.streams.out.flush());
        printer.live.paint(&self.err, &mut printer.streams);
        written
    }

    fn aside(&self, text: &str) {
        let printer = &mut *self.printer();
        printer.live.erase(&self.err, &mut printer.streams);
        // Nobody is told when standard error is closed: there is no place left to say it.
        drop(writeln!(printer.streams.err, "{text}"));
        printer.live.paint(&self.err, &mut printer.streams);
    }

    fn printer(&self) -> MutexGuard<'_, Printer> {
        self.printer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
