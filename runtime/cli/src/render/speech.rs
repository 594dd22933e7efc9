//! What a model is saying, while it is heard and when the reply is there: only the reply counts.

use crate::render::{
    Line,
    markdown::{Markdown, Tail},
};

/// One reply that is coming in.
#[derive(Debug, Default)]
pub(super) struct Speech {
    /// All that was heard of it.
    heard: String,
    markdown: Markdown,
}

/// What became of a reply that is there.
pub(super) struct Said {
    /// What is left to be shown.
    pub(super) lines: Vec<Line>,
    /// It is not what was heard, so `lines` has all of it.
    pub(super) differs: bool,
}

impl Speech {
    /// Hears more and gives the lines that can be shown for good.
    pub(super) fn hear(&mut self, text: &str, width: usize) -> Vec<Line> {
        self.heard.push_str(text);
        self.markdown.push(text, width)
    }

    /// The end of what was heard, which may still change.
    pub(super) fn tail(&self) -> Tail {
        self.markdown.tail()
    }

    /// What was heard of a reply that is not there.
    pub(super) fn heard(&self) -> &str {
        &self.heard
    }

    /// The reply is there, and this is what it says.
    pub(super) fn reply(&mut self, text: &str, width: usize) -> Said {
        let rest = text.strip_prefix(self.heard.as_str());
        let differs = rest.is_none() && text.trim() != self.heard.trim();
        let mut lines = self.markdown.push(rest.unwrap_or_default(), width);
        lines.extend(self.markdown.finish(width));
        if differs {
            // The end of what was heard is shown with it: half a sentence helps nobody.
            lines = Markdown::whole(text, width);
        }
        self.heard.clear();
        Said { lines, differs }
    }

    /// No reply comes of it: gives the rest of what was heard.
    pub(super) fn break_off(&mut self, width: usize) -> Vec<Line> {
        self.heard.clear();
        self.markdown.finish(width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(lines: &[Line]) -> Vec<String> {
        lines.iter().map(Line::plain).collect()
    }

    #[test]
    fn a_reply_that_was_heard_is_shown_once() {
        let mut speech = Speech::default();
        assert_eq!(plain(&speech.hear("One.\n\nTw", 80)), ["One."]);
        let said = speech.reply("One.\n\nTwo.", 80);
        assert_eq!((plain(&said.lines), said.differs), (vec![String::new(), "Two.".to_owned()], false));
        let said = speech.reply("Never heard.", 80);
        assert_eq!((plain(&said.lines), said.differs), (vec!["Never heard.".to_owned()], false));
    }

    #[test]
    fn a_reply_that_differs_from_what_was_heard_is_shown_whole() {
        let mut speech = Speech::default();
        speech.hear("Heard wrong", 80);
        let said = speech.reply("The reply.", 80);
        assert_eq!((plain(&said.lines), said.differs), (vec!["The reply.".to_owned()], true));
    }

    #[test]
    fn blanks_around_a_reply_make_no_difference() {
        let mut speech = Speech::default();
        speech.hear("\nThe reply.\n", 80);
        assert!(!speech.reply("The reply.", 80).differs);
    }

    #[test]
    fn what_breaks_off_is_kept() {
        let mut speech = Speech::default();
        assert_eq!(plain(&speech.hear("One.\n\nTw", 80)), ["One."]);
        assert_eq!(speech.heard(), "One.\n\nTw");
        assert_eq!(plain(&speech.break_off(80)), ["", "Tw"]);
        assert_eq!(speech.heard(), "");
    }
}
