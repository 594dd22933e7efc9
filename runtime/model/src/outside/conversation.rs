//! What a program is told of a conversation: what is new since its last answer, or all of it.

use palisade_agent::{Entry, Kept, Transcript, Usage, clip};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::SessionId;

/// The most bytes a program is told at once.
const WORDS: usize = 1 << 20;

/// The most bytes of one result of an earlier call.
const RESULT: usize = 4 << 10;

/// What a program is asked.
#[derive(Debug, PartialEq)]
pub(super) struct Conversation {
    /// The session in which the program knows what was before.
    pub(super) resumed: Option<Keepsake>,
    pub(super) words: String,
}

/// What is kept of a run, so that the next one can go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Keepsake {
    pub(super) session: SessionId,
    /// What the session has cost so far: some programs count from its beginning.
    #[serde(default)]
    pub(super) spent: Usage,
}

impl Keepsake {
    pub(super) fn kept(&self, by: &str) -> Kept {
        Kept { by: by.to_owned(), value: json!(self) }
    }

    /// Read back; a name that looks like an option would be taken for one.
    fn of(kept: &Kept, by: &str) -> Option<Self> {
        let keepsake: Self = serde_json::from_value(kept.value.clone()).ok().filter(|_| kept.by == by)?;
        (!keepsake.session.as_str().starts_with('-')).then_some(keepsake)
    }
}

impl Conversation {
    /// The conversation as the provider of this name has to be told it.
    pub(super) fn of(transcript: &Transcript, by: &str) -> Self {
        let entries = transcript.visible();
        let own = |entry: &&Entry| match entry {
            Entry::Reply { kept, .. } => kept.as_ref().and_then(|kept| Keepsake::of(kept, by)),
            Entry::User { .. } | Entry::Result { .. } | Entry::Notice { .. } | Entry::Summary { .. } => None,
        };
        let last = entries.iter().enumerate().rev().find_map(|(at, entry)| Some((at, own(entry)?)));
        let (new, resumed) = match last {
            Some((at, keepsake)) => (entries.get(at + 1..).unwrap_or_default(), Some(keepsake)),
            None => (entries.as_slice(), None),
        };
        Self { resumed, words: clip(&words(new), WORDS) }
    }
}

fn words(entries: &[&Entry]) -> String {
    let is_past = |entry: &&Entry| !matches!(entry, Entry::User { .. } | Entry::Notice { .. });
    // What the user said last is what is asked; all before an answer of somebody else is the past.
    let now = entries.iter().rposition(is_past).map_or(0, |at| at + 1);
    let (past, asked) = entries.split_at(now);
    let asked: Vec<String> = asked.iter().map(|entry| spoken(entry)).collect();
    if past.is_empty() {
        return asked.join("\n\n");
    }
    let past: Vec<String> = past.iter().map(|entry| retold(entry)).filter(|text| !text.is_empty()).collect();
    format!("What was said and done so far:\n\n{}\n\nNow:\n\n{}", past.join("\n\n"), asked.join("\n\n"))
}

fn spoken(entry: &Entry) -> String {
    match entry {
        Entry::User { text } | Entry::Notice { text } | Entry::Summary { text, .. } => text.clone(),
        Entry::Reply { .. } | Entry::Result { .. } => String::new(),
    }
}

fn retold(entry: &Entry) -> String {
    match entry {
        Entry::User { text } => format!("User: {text}"),
        Entry::Reply { text, calls, .. } => {
            let calls =
                calls.iter().map(|call| format!("Called {} with {}", call.tool, clip(&call.input.to_string(), RESULT)));
            let said = (!text.trim().is_empty()).then(|| format!("Assistant: {text}"));
            said.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
        }
        Entry::Result { result, .. } => format!("Result: {}", clip(result.text(), RESULT)),
        Entry::Notice { text } => format!("Notice: {text}"),
        Entry::Summary { text, .. } => format!("Summary of what was before: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use palisade_agent::{Reply, ToolCall, ToolResult};

    use super::*;

    fn reply(text: &str, by: &str, session: &str) -> Reply {
        let kept = Some(Kept { by: by.to_owned(), value: json!({ "session": session }) });
        Reply { text: text.to_owned(), kept, ..Reply::default() }
    }

    #[test]
    fn a_first_task_is_told_as_it_is() {
        let mut transcript = Transcript::new();
        transcript.record_user("do it");
        let conversation = Conversation::of(&transcript, "claude-cli");
        assert_eq!(conversation, Conversation { resumed: None, words: "do it".to_owned() });
    }

    #[test]
    fn a_session_goes_on_with_what_is_new() {
        let mut transcript = Transcript::new();
        transcript.record_user("one");
        transcript.record_reply(&reply("first", "claude-cli", "s-1"));
        transcript.record_user("two");
        let conversation = Conversation::of(&transcript, "claude-cli");
        assert_eq!(conversation.resumed.map(|kept| kept.session.to_string()).as_deref(), Some("s-1"));
        assert_eq!(conversation.words, "two");
    }

    #[test]
    fn a_session_of_another_provider_is_not_resumed() {
        let mut transcript = Transcript::new();
        transcript.record_user("one");
        let calls = vec![ToolCall { id: "1".into(), tool: "ls".into(), input: json!({}) }];
        transcript.record_reply(&Reply { calls, ..reply("looking", "codex-cli", "s-1") });
        transcript.record_result("1", ToolResult::done("a.txt"));
        transcript.record_reply(&reply("first", "codex-cli", "s-1"));
        transcript.record_user("two");
        let conversation = Conversation::of(&transcript, "claude-cli");
        assert_eq!(conversation.resumed, None);
        let expected = "What was said and done so far:\n\nUser: one\n\nAssistant: looking\nCalled ls with {}\n\nResult: \
                        a.txt\n\nAssistant: first\n\nNow:\n\ntwo";
        assert_eq!(conversation.words, expected);
    }

    #[test]
    fn a_session_that_a_summary_stands_for_is_begun_anew() {
        let mut transcript = Transcript::new();
        transcript.record_user("one");
        transcript.record_reply(&reply("first", "pi-cli", "s-1"));
        transcript.record_summary("it was about one", 2);
        transcript.record_user("two");
        let conversation = Conversation::of(&transcript, "pi-cli");
        assert_eq!(conversation.resumed, None);
        assert!(conversation.words.contains("it was about one") && conversation.words.ends_with("Now:\n\ntwo"));
    }

    #[test]
    fn a_session_that_looks_like_an_option_is_not_resumed() {
        for session in ["--last", "-p", "a b", "../x", ""] {
            let mut transcript = Transcript::new();
            transcript.record_reply(&reply("first", "claude-cli", session));
            transcript.record_user("two");
            assert_eq!(Conversation::of(&transcript, "claude-cli").resumed, None, "{session}");
        }
    }
}
