//! What is live at the bottom of a terminal: the end of what a model is saying, and one line that says
//! what goes on. It is painted in place and leaves no trace.

use std::{
    io::Write as _,
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::render::{
    Printer, Terminal,
    echo::Unseen,
    markdown::Tail,
    screen::{Screen, Streams},
    status::Status,
};

/// How often it is painted.
const BETWEEN_PAINTINGS: Duration = Duration::from_millis(120);
/// How many lines of what a model is saying are live at most.
const TAIL: usize = 12;
/// A `^C` that the terminal itself prints must not begin another line.
const MARGIN: usize = 4;

/// The live part of a terminal.
#[derive(Default)]
pub(super) struct Live {
    status: Option<Status>,
    tail: Tail,
    /// How wide each line is that is on the screen now.
    painted: Vec<usize>,
    /// Somebody is being asked; nothing moves meanwhile.
    held: bool,
    /// Keys are not shown.
    unseen: Option<Unseen>,
}

impl Live {
    /// Takes it off the screen.
    pub(super) fn erase(&mut self, screen: &Screen, streams: &mut Streams) {
        let erasing = self.erasing(screen);
        self.painted.clear();
        Self::write(streams, &erasing);
    }

    /// Puts it on the screen, in place of what is there.
    pub(super) fn paint(&mut self, screen: &Screen, streams: &mut Streams) {
        let (Some(status), Some(size), false) = (&self.status, screen.size(), self.held) else { return };
        let columns = size.columns.saturating_sub(MARGIN).max(1);
        let mut lines = self.tail.lines(columns);
        let most = TAIL.min(size.rows / 2).max(1);
        lines.drain(..lines.len().saturating_sub(most));
        lines.push(status.line(Instant::now()));
        let lines: Vec<_> = lines.into_iter().map(|line| line.without_tabs()).collect();
        let mut text = self.erasing(screen);
        let shown: Vec<String> = lines.iter().map(|line| line.shown(Some(columns), screen.colours)).collect();
        text += &shown.join("\n");
        self.painted = lines.iter().map(|line| line.width().min(columns)).collect();
        Self::write(streams, &text);
    }

    /// What takes it off the screen. In a window that became narrower, lines have become several.
    fn erasing(&self, screen: &Screen) -> String {
        if self.painted.is_empty() {
            return String::new();
        }
        let columns = screen.size().map_or(usize::MAX, |size| size.columns.max(1));
        let rows: usize = self.painted.iter().map(|width| width.div_ceil(columns).max(1)).sum();
        match rows - 1 {
            0 => "\r\x1b[J".to_owned(),
            up => format!("\r\x1b[{up}A\x1b[J"),
        }
    }

    fn write(streams: &mut Streams, text: &str) {
        if !text.is_empty() {
            // Nobody is told when standard error is closed: there is no place left to say it.
            drop(streams.err.write_all(text.as_bytes()).and_then(|()| streams.err.flush()));
        }
    }
}

/// As long as this lives, the terminal is live.
pub(crate) struct Lively {
    terminal: Terminal,
    stop: Option<Sender<()>>,
    painter: Option<JoinHandle<()>>,
}

impl Terminal {
    /// Makes the end of the terminal live, if somebody looks at it.
    pub(crate) fn lively(&self) -> Option<Lively> {
        if !self.err.moves || self.err.size().is_none() {
            return None;
        }
        // First of all: whoever sees the line may press a key.
        self.printer().live.unseen = Unseen::begin();
        self.begin_live();
        let (stop, stopped) = mpsc::channel();
        let terminal = self.clone();
        let painter = thread::spawn(move || {
            while stopped.recv_timeout(BETWEEN_PAINTINGS) == Err(RecvTimeoutError::Timeout) {
                terminal.repaint();
            }
        });
        Some(Lively { terminal: self.clone(), stop: Some(stop), painter: Some(painter) })
    }

    pub(super) fn begin_live(&self) {
        self.change_live(|live| live.status = Some(Status::begin(Instant::now())));
    }

    pub(super) fn end_live(&self) {
        let Printer { streams, live } = &mut *self.printer();
        live.erase(&self.err, streams);
        *live = Live::default();
    }

    pub(super) fn repaint(&self) {
        self.change_live(|_| {});
    }

    /// Changes what the live line says, if there is one. It is painted soon.
    pub(super) fn change_status(&self, change: impl FnOnce(&mut Status)) {
        if let Some(status) = &mut self.printer().live.status {
            change(status);
        }
    }

    /// Shows the end of what is being said, soon.
    pub(super) fn show_tail(&self, tail: Tail) {
        self.printer().live.tail = tail;
    }

    /// Nothing moves until the guard is dropped: somebody reads and types.
    pub(crate) fn hold(&self) -> Held<'_> {
        let Printer { streams, live } = &mut *self.printer();
        live.erase(&self.err, streams);
        live.held = true;
        // Whoever is asked wants to see what is typed.
        let unseen = live.unseen.take().is_some();
        Held { terminal: self, unseen }
    }

    /// Takes what is live off the screen, unless somebody prints and does not get done.
    pub(crate) fn leave(&self) {
        for _ in 0..20 {
            if let Ok(mut printer) = self.printer.try_lock() {
                let Printer { streams, live } = &mut *printer;
                live.erase(&self.err, streams);
                *live = Live::default();
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn change_live(&self, change: impl FnOnce(&mut Live)) {
        let Printer { streams, live } = &mut *self.printer();
        change(live);
        live.paint(&self.err, streams);
    }
}

impl Drop for Lively {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(painter) = self.painter.take() {
            // It ends with its channel; whether it panicked matters to nobody now.
            drop(painter.join());
        }
        self.terminal.end_live();
    }
}

/// As long as this lives, nothing moves.
pub(crate) struct Held<'a> {
    terminal: &'a Terminal,
    /// Keys were not shown before.
    unseen: bool,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let unseen = self.unseen.then(Unseen::begin).flatten();
        self.terminal.change_live(|live| {
            live.held = false;
            live.unseen = unseen;
        });
    }
}
