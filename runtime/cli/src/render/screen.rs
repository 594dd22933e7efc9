//! The two standard streams, and what each of them can show.

use std::io::{self, IsTerminal as _, Write};

use crate::settings::Colours;

/// One stream and what it can show.
#[derive(Clone, Copy)]
pub(super) struct Screen {
    pub(super) is_terminal: bool,
    pub(super) colours: bool,
    /// Whether something on it can be painted in place.
    pub(super) moves: bool,
    /// Asked each time: a window can change its size.
    size: fn() -> Option<Size>,
}

/// How much fits on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// Narrower than this, lines are not cut: nothing would be left of them.
const NARROWEST: usize = 40;

impl Screen {
    pub(super) fn stdout(colours: Colours) -> Self {
        let (is_terminal, colours, moves) = (io::stdout().is_terminal(), colours.stdout, colours.moves);
        Self { is_terminal, colours, moves: is_terminal && moves, size: || size(&io::stdout()) }
    }

    pub(super) fn stderr(colours: Colours) -> Self {
        let (is_terminal, colours, moves) = (io::stderr().is_terminal(), colours.stderr, colours.moves);
        Self { is_terminal, colours, moves: is_terminal && moves, size: || size(&io::stderr()) }
    }

    /// A terminal of this size.
    #[cfg(test)]
    pub(super) fn fixed(colours: bool, size: fn() -> Option<Size>) -> Self {
        let is_terminal = size().is_some();
        Self { is_terminal, colours, moves: is_terminal, size }
    }

    /// Columns; without, lines are as long as they are.
    pub(super) fn width(&self) -> Option<usize> {
        self.size().map(|size| size.columns).filter(|columns| *columns >= NARROWEST)
    }

    pub(super) fn size(&self) -> Option<Size> {
        (self.size)()
    }
}

fn size(stream: &(impl io::IsTerminal + std::os::fd::AsFd)) -> Option<Size> {
    if !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    // A terminal that does not know its size says zero.
    let known = |number: u16, usual: usize| if number == 0 { usual } else { usize::from(number) };
    Some(Size { columns: known(size.ws_col, 80), rows: known(size.ws_row, 24) })
}

/// Where it is printed.
pub(super) struct Streams {
    pub(super) out: Box<dyn Write + Send>,
    pub(super) err: Box<dyn Write + Send>,
}

impl Streams {
    pub(super) fn of_this_process() -> Self {
        Self { out: Box::new(io::stdout()), err: Box::new(io::stderr()) }
    }
}
