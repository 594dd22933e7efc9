//! What is on the screen when a run is over, whatever came in which pieces.

pub(crate) mod glass;

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    time::Duration,
};

use palisade_agent::{Ending, Event, FailureKind, Usage, Watcher as _};
use proptest::prelude::*;

use super::{screen::Size, *};
use glass::Glass;

const COLUMNS: usize = 60;

/// Keeps what is printed.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paper {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }

    /// The rows as a terminal shows them: one that turns line feeds into new lines.
    fn rows(&self) -> Vec<String> {
        Glass::after(&self.bytes(), COLUMNS)
    }
}

fn terminal() -> (Terminal, Paper) {
    let paper = Paper::default();
    let screen = Screen::fixed(true, || Some(Size { columns: COLUMNS, rows: 24 }));
    let streams = Streams { out: Box::new(paper.clone()), err: Box::new(paper.clone()) };
    (Terminal::new(screen, screen, streams), paper)
}

fn pipe() -> (Terminal, Paper, Paper) {
    let (out, err) = (Paper::default(), Paper::default());
    let screen = Screen::fixed(false, || None);
    let streams = Streams { out: Box::new(out.clone()), err: Box::new(err.clone()) };
    (Terminal::new(screen, screen, streams), out, err)
}

fn said(text: &str) -> Event {
    Event::ReplyText { text: text.to_owned() }
}

fn replied(text: &str, calls: usize) -> Event {
    let usage = Usage { input_tokens: 1000, output_tokens: 234, ..Usage::default() };
    Event::ModelReplied { text: text.to_owned(), calls, usage }
}

fn started(id: &str, tool: &str) -> Event {
    Event::CallStarted { id: id.to_owned(), tool: tool.to_owned(), input: r#"{"path":"src"}"#.to_owned() }
}

fn finished(id: &str, tool: &str, failure: Option<FailureKind>) -> Event {
    Event::CallFinished {
        id: id.to_owned(),
        tool: tool.to_owned(),
        failure,
        summary: "what came of it".to_owned(),
        duration: Duration::from_millis(12),
        bytes: 2048,
        peak_memory: 0,
        denials: vec![],
        artifact: None,
    }
}

fn ended() -> Event {
    Event::RunEnded { ending: Ending::Answered, steps: 1, usage: Usage::default() }
}

/// Shows a run with everything that is live painted after each event.
fn show(events: Vec<Event>) -> Paper {
    let (terminal, paper) = terminal();
    let timeline = Timeline::speaking(&terminal);
    terminal.begin_live();
    for event in events {
        timeline.watch(event);
        terminal.repaint();
    }
    terminal.end_live();
    paper
}

#[test]
fn the_live_line_is_there_and_gone() {
    let paper = show(vec![Event::StepStarted { step: 1 }, replied("Done.", 0), ended()]);
    assert!(paper.text().contains("asking the model"), "{}", paper.text());
    assert!(paper.text().contains("1,234 tokens"), "{}", paper.text());
    assert!(paper.text().contains("Ctrl-C to stop"), "{}", paper.text());
    assert_eq!(paper.rows(), ["", "Done."]);
}

#[test]
fn calls_that_run_side_by_side_stand_together() {
    let paper = show(vec![
        said("Looking."),
        replied("Looking.", 3),
        started("1", "grep"),
        started("2", "ls"),
        started("3", "read"),
        finished("2", "ls", None),
        finished("1", "grep", Some(FailureKind::Denied)),
        finished("3", "read", None),
        started("4", "read"),
        finished("4", "read", None),
        said("Found **it**."),
        replied("Found **it**.", 0),
        ended(),
    ]);
    assert!(paper.text().contains("running grep, ls, read"), "{}", paper.text());
    assert!(paper.text().contains("Found \x1b[1mit\x1b[0m."), "{}", paper.text());
    let expected = [
        "",
        "Looking.",
        "",
        "┌ ls      path=src                      12 ms  2.0 KiB",
        "│ grep    path=src                      12 ms  refused",
        "          what came of it",
        "└ read    path=src                      12 ms  2.0 KiB",
        "  read    path=src                      12 ms  2.0 KiB",
        "",
        "Found it.",
    ];
    assert_eq!(paper.rows(), expected);
}

#[test]
fn a_reply_that_is_asked_for_again_is_void() {
    let again = Event::ReplyAgain { why: "the stream broke off".to_owned(), wait: Duration::from_secs(2) };
    let paper = show(vec![said("Half a sen"), again.clone(), said("A sentence."), replied("A sentence.", 0), ended()]);
    assert_eq!(paper.rows(), ["  again in 2.0 s: the stream broke off", "", "A sentence."]);
    let paper = show(vec![said("One.\n\nTw"), again, said("One.\n\nTwo."), replied("One.\n\nTwo.", 0), ended()]);
    let void = "  again in 2.0 s: the stream broke off; what was shown of th";
    assert_eq!(paper.rows(), ["", "One.", "", void, "is reply is void", "", "One.", "", "Two."]);
}

#[test]
fn what_was_said_is_kept_when_the_run_is_stopped() {
    let (terminal, paper) = terminal();
    let timeline = Timeline::speaking(&terminal);
    for event in [said("One.\n\nTw"), Event::RunEnded { ending: Ending::Cancelled, steps: 1, usage: Usage::default() }]
    {
        timeline.watch(event);
    }
    assert_eq!(paper.rows(), ["", "One.", "", "Tw"]);
    assert_eq!(timeline.broken_off().as_deref(), Some("One.\n\nTw"));
    assert!(!timeline.has_shown("One.\n\nTw"));
}

#[test]
fn retries_summaries_and_notices_are_lines() {
    let paper = show(vec![
        Event::Compacted { entries: 40, before: 120_000, after: 9_000 },
        Event::Noticed { text: "the reply was cut".to_owned() },
    ]);
    let expected =
        ["  summed up 40 entries, about 120,000 tokens, are about 9,000", "now", "  told the model the reply was cut"];
    let rows = paper.rows();
    assert_eq!(rows.concat().replace(' ', ""), expected.concat().replace(' ', ""));
}

#[test]
fn into_a_pipe_there_are_plain_lines_and_nothing_live() {
    let (terminal, out, err) = pipe();
    assert!(terminal.lively().is_none());
    let timeline = Timeline::speaking(&terminal);
    let events =
        [said("Looking."), replied("Looking.", 1), started("1", "ls"), finished("1", "ls", None), said("**A**")];
    events.into_iter().for_each(|event| timeline.watch(event));
    assert_eq!(out.text(), "");
    let call = "  ls      path=src                                        12 ms  2.0 KiB\n";
    assert_eq!(err.text(), format!("Looking.\n{call}"));
    terminal.markdown("**A**").unwrap();
    assert_eq!(out.text(), "**A**\n");
}

#[test]
fn a_run_below_another_is_indented() {
    let (terminal, _, err) = pipe();
    let timeline = Timeline::on(&terminal, 1);
    let events = [replied("Looking.", 1), started("1", "ls"), finished("1", "ls", Some(FailureKind::Failed))];
    events.into_iter().for_each(|event| timeline.watch(event));
    let expected = "  Looking.\n    ls      path=src                                        12 ms  failed\n            what came of it\n";
    assert_eq!(err.text(), expected);
}

#[test]
fn nothing_moves_while_somebody_is_asked() {
    let (terminal, paper) = terminal();
    terminal.begin_live();
    let held = terminal.hold();
    let before = paper.bytes();
    terminal.repaint();
    assert_eq!(paper.bytes(), before);
    terminal.note(&Line::new().add(Style::Plain, "may it?"));
    assert_eq!(paper.rows(), ["may it?"]);
    drop(held);
    assert!(paper.rows()[1].contains("Ctrl-C to stop"), "{:?}", paper.rows());
}

#[test]
fn what_is_live_fits_the_screen() {
    let (terminal, paper) = terminal();
    let timeline = Timeline::speaking(&terminal);
    terminal.begin_live();
    timeline.watch(said(&"word ".repeat(1000)));
    terminal.repaint();
    let rows = paper.rows();
    assert_eq!(rows.len(), 13, "{rows:?}");
    assert!(rows.iter().all(|row| row.chars().count() <= COLUMNS - 4), "{rows:?}");
    terminal.end_live();
    assert_eq!(paper.rows(), Vec::<String>::new());
}

proptest! {
    /// Whatever the pieces, and however often it was painted in between, the screen is the same.
    #[test]
    fn any_chunking_gives_the_same_screen(
        lines in prop::collection::vec("(|# |- |1\\. |> |```|\\| )[a-z*`]{0,9}( [a-z*_`]{1,12}){0,12}", 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let text = lines.join("\n");
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        places.extend([0, text.len()]);
        places.sort_unstable();
        let mut events: Vec<Event> = places.windows(2).map(|pair| said(&text[pair[0]..pair[1]])).collect();
        events.extend([replied(&text, 0), ended()]);
        let whole = show(vec![replied(&text, 0), ended()]);
        prop_assert_eq!(show(events).rows(), whole.rows());
    }
}
