//! Passes on to a watcher what is heard of a reply while it comes in.

use std::sync::{Mutex, PoisonError};

use crate::event::{brief, shorten};
use crate::{Cost, Event, FailureKind, Listener, Part, Watcher};

/// Turns the parts of a reply into events.
pub(crate) struct Hearing<'a> {
    watcher: &'a dyn Watcher,
    /// The call that is being written.
    writing: Mutex<Writing>,
}

#[derive(Default)]
struct Writing {
    tool: String,
    bytes: usize,
    /// How many bytes were told of.
    told: usize,
}

/// A call's input is told of in steps of this many bytes: it comes in by the word.
const INPUT_STEP: usize = 256;

impl<'a> Hearing<'a> {
    pub(crate) fn new(watcher: &'a dyn Watcher) -> Self {
        Self { watcher, writing: Mutex::default() }
    }

    fn call(&self, tool: &str) {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        *writing = Writing { tool: shorten(tool), ..Writing::default() };
        self.watcher.watch(Event::ReplyCall { tool: writing.tool.clone(), bytes: 0 });
    }

    fn input(&self, more: usize) {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        writing.bytes += more;
        if writing.bytes - writing.told >= INPUT_STEP {
            writing.told = writing.bytes;
            self.watcher.watch(Event::ReplyCall { tool: writing.tool.clone(), bytes: writing.bytes });
        }
    }
}

impl Listener for Hearing<'_> {
    fn hear(&self, part: Part<'_>) {
        match part {
            Part::Text(text) => self.watcher.watch(Event::ReplyText { text: text.to_owned() }),
            Part::Thinking(text) => self.watcher.watch(Event::ReplyThinking { text: text.to_owned() }),
            Part::Call { tool } => self.call(tool),
            Part::Input(more) => self.input(more.len()),
            Part::Again { why, wait } => self.watcher.watch(Event::ReplyAgain { why: why.to_owned(), wait }),
            Part::ForeignCall { id, tool, input } => {
                let (id, tool) = (shorten(id), shorten(tool));
                self.watcher.watch(Event::CallStarted { id, tool, input: brief(input) });
            }
            Part::ForeignResult { id, tool, worked, text } => self.watcher.watch(Event::CallFinished {
                id: shorten(id),
                tool: shorten(tool),
                failure: (!worked).then_some(FailureKind::Failed),
                summary: shorten(text.lines().next().unwrap_or_default()),
                duration: Cost::default().duration,
                bytes: text.len(),
                denials: Vec::new(),
                artifact: None,
            }),
        }
    }
}
