//! A run as it happens: one line on standard error for each call.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use palisade_agent::{Event, FailureKind, Watcher};

use crate::render::{Line, Style, Terminal, line::cut, words};

/// Watches a run, prints what happens, and counts.
pub(crate) struct Timeline<'a> {
    /// Without, it only counts.
    screen: Option<&'a Terminal>,
    seen: Mutex<Seen>,
}

/// What a run came to, in numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) steps: u32,
    pub(crate) calls: usize,
    pub(crate) failed: usize,
    pub(crate) denials: usize,
}

#[derive(Default)]
struct Seen {
    /// The calls that have not ended: tool and input.
    open: HashMap<String, (String, String)>,
    totals: Totals,
    last_progress: Option<Instant>,
}

/// Progress comes as fast as a guest can talk; a person reads slower.
const BETWEEN_PROGRESS: Duration = Duration::from_millis(200);
/// Room for a tool's name, and for its input where the width is not known.
const NAME: usize = 6;
const INPUT: usize = 100;

impl<'a> Timeline<'a> {
    /// Prints on a terminal.
    pub(crate) fn on(terminal: &'a Terminal) -> Self {
        Self { screen: Some(terminal), seen: Mutex::default() }
    }

    /// Prints nothing.
    pub(crate) fn silent() -> Self {
        Self { screen: None, seen: Mutex::default() }
    }

    /// What was counted so far.
    pub(crate) fn totals(&self) -> Totals {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).totals
    }

    fn print(&self, line: &Line) {
        if let Some(terminal) = self.screen {
            terminal.note_cut(line);
        }
    }

    fn print_whole(&self, line: &Line) {
        if let Some(terminal) = self.screen {
            terminal.note(line);
        }
    }
}

impl Watcher for Timeline<'_> {
    fn watch(&self, event: Event) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::RunStarted { .. }
            | Event::ReplyText { .. }
            | Event::ReplyThinking { .. }
            | Event::ReplyCall { .. }
            | Event::ReplyAgain { .. }
            | Event::Compacted { .. }
            | Event::Noticed { .. } => {}
            Event::StepStarted { step } => seen.totals.steps = step,
            Event::ModelReplied { text, calls, .. } => {
                if calls > 0 && !text.trim().is_empty() {
                    self.print(&Line::new().add(Style::Dim, text.trim()));
                }
            }
            Event::CallStarted { id, tool, input } => {
                seen.open.insert(id, (tool, input));
            }
            Event::CallProgress { id, message } => {
                let waited = seen.last_progress.is_none_or(|last| last.elapsed() >= BETWEEN_PROGRESS);
                if let Some((tool, _)) = seen.open.get(&id).filter(|_| waited) {
                    let line = Line::new().add(Style::Plain, "  ").column(Style::Dim, tool, NAME);
                    self.print(&line.add(Style::Dim, &message));
                    seen.last_progress = Some(Instant::now());
                }
            }
            Event::CallFinished { id, tool, failure, summary, duration, bytes, denials, .. } => {
                let (_, input) = seen.open.remove(&id).unwrap_or_default();
                seen.totals.calls += 1;
                seen.totals.failed += usize::from(failure.is_some());
                seen.totals.denials += denials.len();
                let width = self.screen.and_then(|screen| screen.err.width);
                self.print(&finished(width, &tool, &input, duration, bytes, failure));
                if failure.is_some() {
                    self.print_whole(&below("", Style::Plain, &summary));
                }
                for denial in denials.iter().filter(|denial| **denial != summary) {
                    self.print_whole(&below("refused ", Style::Caution, denial));
                }
            }
            Event::RunEnded { steps, .. } => seen.totals.steps = steps,
        }
    }
}

/// `  grep    pattern=call path=src   12 ms  3.4 KiB`
fn finished(
    width: Option<usize>,
    tool: &str,
    input: &str,
    duration: Duration,
    bytes: usize,
    failure: Option<FailureKind>,
) -> Line {
    let room = width.map_or(INPUT, |width| width.saturating_sub(NAME + 28).clamp(20, INPUT));
    let input = cut(&crate::render::neutral::neutral_line(&words::arguments(input)), room);
    let column = if width.is_some() { room } else { 44 };
    let line = Line::new().add(Style::Plain, "  ").column(Style::Bold, tool, NAME).column(Style::Plain, &input, column);
    let line = line.add(Style::Dim, &format!("{:>7}  ", words::time(duration)));
    match failure {
        None => line.add(Style::Dim, &words::size(bytes as u64)),
        Some(FailureKind::Denied) => line.add(Style::Caution, "refused"),
        Some(kind) => line.add(Style::Bad, name(kind)),
    }
}

fn below(title: &str, style: Style, text: &str) -> Line {
    let margin = " ".repeat(NAME + 4);
    Line::new().add(Style::Plain, &margin).add(style, title).add(Style::Dim, text)
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
    }
}
