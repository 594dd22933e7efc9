//! Tells a listener what a program does, so that every call it is told of has an end.

use std::collections::BTreeMap;

use palisade_agent::{Listener, Part};
use serde_json::Value;

/// What a listener was told so far.
pub(super) struct Telling<'a> {
    listener: &'a dyn Listener,
    /// Calls that have begun and not ended: their names and tools.
    open: BTreeMap<String, String>,
    said: Said,
}

/// What was said last.
#[derive(PartialEq)]
enum Said {
    Nothing,
    Text,
    /// A text, and another message began.
    Paragraph,
}

/// How many calls may be open at once, and how long their names and tools may be. A program chooses both, we
/// pay for the memory.
const OPEN: usize = 1000;
const NAME: usize = 256;

impl<'a> Telling<'a> {
    pub(super) fn to(listener: &'a dyn Listener) -> Self {
        Self { listener, open: BTreeMap::new(), said: Said::Nothing }
    }

    /// Another message begins.
    pub(super) fn paragraph(&mut self) {
        if self.said == Said::Text {
            self.said = Said::Paragraph;
        }
    }

    /// More of what it says.
    pub(super) fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.said == Said::Paragraph {
            self.listener.hear(Part::Text("\n\n"));
        }
        self.said = Said::Text;
        self.listener.hear(Part::Text(text));
    }

    /// More of what it thinks.
    pub(super) fn thinking(&mut self, text: &str) {
        if !text.is_empty() {
            self.listener.hear(Part::Thinking(text));
        }
    }

    /// It calls a tool of its own. Told twice, a call is one.
    pub(super) fn begin(&mut self, id: &str, tool: &str, input: &Value) {
        let fits = self.open.len() < OPEN && id.len() <= NAME && tool.len() <= NAME;
        if fits && !self.open.contains_key(id) {
            self.open.insert(id.to_owned(), tool.to_owned());
            self.listener.hear(Part::ForeignCall { id, tool, input });
        }
    }

    /// Such a call is over. One that never began is not told of.
    pub(super) fn end(&mut self, id: &str, worked: bool, text: &str) {
        if let Some(tool) = self.open.remove(id) {
            self.listener.hear(Part::ForeignResult { id, tool: &tool, worked, text });
        }
    }
}

/// The program may end, or be ended, in the middle of a call.
impl Drop for Telling<'_> {
    fn drop(&mut self) {
        for (id, tool) in &self.open {
            let text = "the program ended before this call did";
            self.listener.hear(Part::ForeignResult { id, tool, worked: false, text });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn what_is_remembered_of_open_calls_is_bounded() {
        let heard = Mutex::new(0);
        let listener = |_: Part<'_>| *heard.lock().unwrap() += 1;
        let mut telling = Telling::to(&listener);
        let long = "x".repeat(NAME + 1);
        for (id, tool) in [(long.as_str(), "Read"), ("1", &long), ("1", "Read"), ("1", "Read")] {
            telling.begin(id, tool, &Value::Null);
        }
        telling.end(&long, true, "");
        assert_eq!((telling.open.len(), *heard.lock().unwrap()), (1, 1));
        (0..2 * OPEN).for_each(|id| telling.begin(&id.to_string(), "Read", &Value::Null));
        assert_eq!(telling.open.len(), OPEN);
        drop(telling);
        assert_eq!(*heard.lock().unwrap(), 2 * OPEN);
    }
}
