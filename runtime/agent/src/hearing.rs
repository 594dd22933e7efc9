//! Passes on to a watcher what is heard of a reply while it comes in.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::event::{brief, shorten};
use crate::{Event, FailureKind, Listener, Part, Watcher};

/// Turns the parts of a reply into events.
pub(crate) struct Hearing<'a> {
    watcher: &'a dyn Watcher,
    /// The call that is being written.
    writing: Mutex<Writing>,
    /// When the open calls of an agent outside of the sandbox began: it does not say how long they take.
    begun: Mutex<HashMap<String, Instant>>,
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
        Self { watcher, writing: Mutex::default(), begun: Mutex::default() }
    }

    fn call(&self, tool: &str) {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        *writing = Writing { tool: shorten(tool), ..Writing::default() };
        self.watcher.watch(Event::ReplyCall { tool: writing.tool.clone(), bytes: 0 });
    }

    fn begin(&self, id: &str) {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), Instant::now());
    }

    /// How long a call took as it was heard of.
    fn end(&self, id: &str) -> Duration {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        begun.map(|begun| begun.elapsed()).unwrap_or_default()
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
                self.begin(id);
                let (id, tool) = (shorten(id), shorten(tool));
                self.watcher.watch(Event::CallStarted { id, tool, input: brief(input) });
            }
            Part::ForeignResult { id, tool, worked, text } => self.watcher.watch(Event::CallFinished {
                id: shorten(id),
                tool: shorten(tool),
                failure: (!worked).then_some(FailureKind::Failed),
                summary: shorten(text.lines().next().unwrap_or_default()),
                duration: self.end(id),
                bytes: text.len(),
                peak_memory: 0,
                denials: Vec::new(),
                artifact: None,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_call_of_an_agent_outside_takes_as_long_as_it_is_heard_of() {
        let events = Mutex::new(Vec::new());
        let watcher = |event: Event| events.lock().unwrap().push(event);
        let hearing = Hearing::new(&watcher);
        hearing.hear(Part::ForeignCall { id: "1", tool: "Read", input: &json!({}) });
        let pause = Duration::from_millis(5);
        tokio::time::sleep(pause).await;
        hearing.hear(Part::ForeignResult { id: "1", tool: "Read", worked: true, text: "a\nb" });
        hearing.hear(Part::ForeignResult { id: "2", tool: "Read", worked: false, text: "" });
        let duration = |event: &Event| match event {
            Event::CallFinished { duration, .. } => Some(*duration),
            _ => None,
        };
        let durations: Vec<Duration> = events.lock().unwrap().iter().filter_map(duration).collect();
        assert!(durations[0] >= pause && durations[1..] == [Duration::ZERO], "{durations:?}");
    }
}
