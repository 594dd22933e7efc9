//! One line for each call: tool, short arguments, time, size, what was refused. Calls that ran side by
//! side are held together by a bracket.

use std::time::Duration;

use palisade_agent::FailureKind;
use unicode_width::UnicodeWidthStr as _;

use crate::render::{Line, Style, line::cut, neutral::neutral_line, words};

/// Room for a tool's name, and for its input where the width is not known.
pub(super) const NAME: usize = 6;
const INPUT: usize = 100;
const PLAIN_INPUT: usize = 44;

/// The calls that were begun and not ended, and those that ran beside them.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Vec<Call>,
    /// How many were begun since none was open, and how many of them have ended.
    begun: usize,
    ended: usize,
}

#[derive(Debug, Default)]
struct Call {
    id: String,
    tool: String,
    input: String,
}

/// Where a line is among the lines of calls that ran side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Alone,
    First,
    Between,
    Last,
}

/// A call that has ended.
pub(super) struct Ended<'a> {
    pub(super) tool: &'a str,
    pub(super) input: &'a str,
    pub(super) duration: Duration,
    pub(super) bytes: usize,
    pub(super) failure: Option<FailureKind>,
}

impl Calls {
    pub(super) fn begin(&mut self, id: String, tool: String, input: String) {
        if self.open.is_empty() {
            (self.begun, self.ended) = (0, 0);
        }
        self.begun += 1;
        self.open.push(Call { id, tool, input });
    }

    /// Ends a call, and gives its input and the place of its line.
    pub(super) fn end(&mut self, id: &str) -> (String, Place) {
        let at = self.open.iter().position(|call| call.id == id);
        let call = at.map(|at| self.open.remove(at)).unwrap_or_default();
        self.ended += 1;
        let place = match (self.ended, self.open.is_empty()) {
            _ if self.begun <= 1 => Place::Alone,
            (1, _) => Place::First,
            (_, false) => Place::Between,
            (_, true) => Place::Last,
        };
        (call.input, place)
    }

    /// The tool of an open call, and the place of a line before its end.
    pub(super) fn during(&self, id: &str) -> Option<(&str, Place)> {
        let call = self.open.iter().find(|call| call.id == id)?;
        let place = if self.ended > 0 { Place::Between } else { Place::Alone };
        Some((&call.tool, place))
    }

    /// The tools that run now.
    pub(super) fn tools(&self) -> Vec<String> {
        self.open.iter().map(|call| call.tool.clone()).collect()
    }
}

impl Place {
    /// What a line begins with. Into a pipe or file, where every line is read for itself, with blanks.
    pub(super) fn mark(self, is_terminal: bool) -> &'static str {
        match self {
            _ if !is_terminal => "  ",
            Self::Alone => "  ",
            Self::First => "┌ ",
            Self::Between => "│ ",
            Self::Last => "└ ",
        }
    }
}

impl Ended<'_> {
    /// `grep    pattern=call path=src   12 ms  3.4 KiB`
    pub(super) fn line(&self, margin: Line, width: Option<usize>) -> Line {
        let used = margin.width() + self.tool.width().max(NAME) + 26;
        let room = width.map_or(INPUT, |width| width.saturating_sub(used).clamp(20, INPUT));
        let input = cut(&neutral_line(&words::arguments(self.input)), room);
        let column = if width.is_some() { room } else { PLAIN_INPUT };
        let line = margin.column(Style::Bold, self.tool, NAME).column(Style::Plain, &input, column);
        let line = line.add(Style::Dim, &format!("{:>7}  ", words::time(self.duration)));
        match self.failure {
            None => line.add(Style::Dim, &words::size(self.bytes as u64)),
            Some(FailureKind::Denied) => line.add(Style::Caution, "refused"),
            Some(kind) => line.add(Style::Bad, name(kind)),
        }
    }
}

fn name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::UnknownTool => "no such tool",
        FailureKind::InvalidInput => "bad input",
        FailureKind::Denied => "refused",
        FailureKind::Failed => "failed",
        FailureKind::Limit => "over limit",
        FailureKind::Crashed => "crashed",
        FailureKind::Skipped => "skipped",
        FailureKind::Cancelled => "cancelled",
        FailureKind::Interrupted => "interrupted",
    }
}
