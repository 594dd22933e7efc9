//! What was said and done. It only grows, every entry has a size cap, and every call has exactly one
//! result, so that it is valid for any provider at any time.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CALLS_PER_REPLY, FailureKind, Kept, Reply, ToolCall, ToolResult, clip};

/// The longest text, input or output kept in one entry, in bytes: a model and a guest choose the
/// length, the host pays for the memory.
pub const ENTRY_LIMIT: usize = 256 * 1024;

/// How deep the JSON in an entry may be nested. Readers of JSON stop at 128, and an entry lies inside of other things
/// when it is read again: what is deeper could be written down and never be read.
const NESTING_LIMIT: usize = 64;

/// What was said and done, append-only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Transcript {
    entries: Vec<Entry>,
}

/// One thing that was said or done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// What the user asked.
    User {
        /// The words.
        text: String,
    },
    /// What the model said and wanted to be called.
    Reply {
        /// The words.
        text: String,
        /// What it thought, as far as it is known.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thinking: String,
        /// The calls, each with an id that no other call of the transcript has.
        calls: Vec<ToolCall>,
        /// What the provider wants back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<Kept>,
    },
    /// What came of one call.
    Result {
        /// The id of the call.
        id: String,
        /// The outcome.
        result: ToolResult,
    },
    /// What the host tells the model in between, such as that its reply was cut.
    Notice {
        /// The words.
        text: String,
    },
    /// The model reads this in place of what came before.
    Summary {
        /// The words.
        text: String,
        /// How many of the first entries it stands for.
        covers: usize,
    },
}

impl Transcript {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything so far, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What a model reads: the last summary, if there is one, and all that it does not stand for.
    pub fn visible(&self) -> Vec<&Entry> {
        let rest = self.entries.iter().skip(self.covered()).filter(|entry| !matches!(entry, Entry::Summary { .. }));
        self.summary().map(|(entry, _)| entry).into_iter().chain(rest).collect()
    }

    /// How many of the first entries a summary stands for.
    pub(crate) fn covered(&self) -> usize {
        self.summary().map_or(0, |(_, covers)| covers)
    }

    fn summary(&self) -> Option<(&Entry, usize)> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Summary { covers, .. } => Some((entry, *covers)),
            _ => None,
        })
    }

    /// What the conversation began with.
    pub fn first_task(&self) -> &str {
        let first = self.entries.iter().find_map(|entry| match entry {
            Entry::User { text } => Some(text.as_str()),
            _ => None,
        });
        first.unwrap_or_default()
    }

    /// Whether a message begins with a line of context, which a client wrote before it.
    pub fn has_context_line(&self) -> bool {
        let begins = |entry: &Entry| matches!(entry, Entry::User { text } if text.starts_with("<context "));
        self.entries.iter().any(begins)
    }

    /// Records what the host tells the model.
    pub fn record_notice(&mut self, text: &str) {
        self.entries.push(Entry::Notice { text: clip(text, ENTRY_LIMIT) });
    }

    /// Records a text that stands for the first entries from now on.
    pub fn record_summary(&mut self, text: &str, covers: usize) {
        let covers = covers.min(self.entries.len());
        self.entries.push(Entry::Summary { text: clip(text, ENTRY_LIMIT), covers });
    }

    /// Records what the user asked.
    pub fn record_user(&mut self, text: &str) {
        self.entries.push(Entry::User { text: clip(text, ENTRY_LIMIT) });
    }

    /// Records a reply and returns its calls as they were recorded: a call whose id is taken gets
    /// another one, an input that is too large is replaced by a remark, which no tool accepts, and of
    /// more calls than a reply may have only the first are kept.
    pub fn record_reply(&mut self, reply: &Reply) -> Vec<ToolCall> {
        let mut taken: HashSet<String> = self.all_calls().map(|call| call.id.clone()).collect();
        let mut calls = Vec::with_capacity(reply.calls.len().min(CALLS_PER_REPLY));
        for call in reply.calls.iter().take(CALLS_PER_REPLY) {
            let id = unique(&clip(&call.id, 128), &taken);
            taken.insert(id.clone());
            calls.push(ToolCall { id, tool: clip(&call.tool, 128), input: bounded(&call.input) });
        }
        let (text, thinking) = (clip(&reply.text, ENTRY_LIMIT), clip(&reply.thinking, ENTRY_LIMIT));
        // It holds the calls, too: if those were changed, or if it had to be cut, it is of no use any more.
        let is_whole = calls == reply.calls;
        let kept = reply.kept.clone().filter(|kept| is_whole && is_kept_whole(&kept.value));
        self.entries.push(Entry::Reply { text, thinking, calls: calls.clone(), kept });
        calls
    }

    /// Records what came of a call. A result for a call that does not exist, or has one already, is
    /// ignored: it could only be a mistake, and it would make the transcript invalid.
    pub fn record_result(&mut self, id: &str, result: ToolResult) {
        if self.open_calls().any(|call| call.id == id) {
            self.entries.push(Entry::Result { id: id.to_owned(), result: result.clipped(ENTRY_LIMIT) });
        }
    }

    /// A transcript of what was written down before, in that order.
    pub fn of(entries: Vec<Entry>) -> Self {
        Self { entries }
    }

    /// Gives every call that has no result one that says why.
    pub fn close_calls(&mut self, why: &str) {
        let open: Vec<String> = self.open_calls().map(|call| call.id.clone()).collect();
        for id in open {
            self.record_result(&id, ToolResult::failed(FailureKind::Cancelled, why));
        }
    }

    /// The calls without a result. Only the last reply can have some: the next one is recorded when all
    /// results are.
    pub(crate) fn open_calls(&self) -> impl Iterator<Item = &ToolCall> {
        let last = self.entries.iter().rposition(|entry| matches!(entry, Entry::Reply { .. }));
        let (reply, results) = match last.map(|last| self.entries.split_at(last)) {
            Some((_, [Entry::Reply { calls, .. }, results @ ..])) => (calls.as_slice(), results),
            _ => (&[][..], &[][..]),
        };
        reply.iter().filter(move |call| result_of(&call.id, results).is_none())
    }

    fn all_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.entries.iter().flat_map(|entry| match entry {
            Entry::Reply { calls, .. } => calls.as_slice(),
            _ => &[],
        })
    }

    /// Every call, oldest first, with its result when it has one.
    pub fn calls(&self) -> impl Iterator<Item = (&ToolCall, Option<&ToolResult>)> {
        self.entries.iter().enumerate().flat_map(|(at, entry)| match entry {
            Entry::Reply { calls, .. } => {
                // The results follow their reply directly, so the search is short.
                let results = self.entries.get(at + 1..).unwrap_or_default();
                calls.iter().map(|call| (call, result_of(&call.id, results))).collect::<Vec<_>>()
            }
            _ => Vec::new(),
        })
    }
}

fn result_of<'a>(id: &str, entries: &'a [Entry]) -> Option<&'a ToolResult> {
    entries
        .iter()
        .map_while(|entry| match entry {
            Entry::Result { id, result } => Some((id, result)),
            _ => None,
        })
        .find(|(other, _)| *other == id)
        .map(|(_, result)| result)
}

fn unique(id: &str, taken: &HashSet<String>) -> String {
    if !id.is_empty() && !taken.contains(id) {
        return id.to_owned();
    }
    let stem = if id.is_empty() { "call" } else { id };
    (taken.len()..).map(|number| format!("{stem}-{number}")).find(|id| !taken.contains(id)).unwrap_or_default()
}

fn is_kept_whole(value: &Value) -> bool {
    value.to_string().len() <= 4 * ENTRY_LIMIT && nesting(value) <= NESTING_LIMIT + 16
}

fn bounded(input: &Value) -> Value {
    let length = input.to_string().len();
    if length > ENTRY_LIMIT {
        return Value::String(format!("… {length} bytes omitted: an input may have {ENTRY_LIMIT} …"));
    }
    if nesting(input) > NESTING_LIMIT {
        return Value::String(format!("… omitted: an input may be nested {NESTING_LIMIT} deep …"));
    }
    input.clone()
}

/// How deep JSON is nested. It came from a reader that has a limit of its own, so this ends.
fn nesting(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nesting).max().unwrap_or_default(),
        Value::Object(members) => 1 + members.values().map(nesting).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), tool: "read".into(), input: json!({"path": "a"}) }
    }

    fn ids(calls: &[ToolCall]) -> Vec<&str> {
        calls.iter().map(|call| call.id.as_str()).collect()
    }

    #[test]
    fn repeated_and_empty_ids_are_made_unique() {
        let mut transcript = Transcript::new();
        let reply = Reply { calls: vec![call("a"), call("a"), call("")], ..Reply::default() };
        assert_eq!(ids(&transcript.record_reply(&reply)), ["a", "a-1", "call-2"]);
        assert_eq!(ids(&transcript.record_reply(&reply)), ["a-3", "a-4", "call-5"]);
    }

    #[test]
    fn a_call_has_exactly_one_result() {
        let mut transcript = Transcript::new();
        transcript.record_reply(&Reply { calls: vec![call("a"), call("b")], ..Reply::default() });
        transcript.record_result("a", ToolResult::done("first"));
        transcript.record_result("a", ToolResult::done("second"));
        transcript.record_result("nobody", ToolResult::done("lost"));
        transcript.close_calls("over");
        transcript.close_calls("again");
        let results: Vec<_> =
            transcript.calls().map(|(call, result)| (call.id.as_str(), result.unwrap().text())).collect();
        assert_eq!(results, [("a", "first"), ("b", "over")]);
        assert_eq!(transcript.entries().len(), 3);
    }

    /// M9, M10, V6
    #[test]
    fn what_a_user_says_is_kept_as_it_came() {
        let message = "<context type=\"list\" id=\"l1\" name=\"Shopping\" />\n add milk \r\n";
        let mut transcript = Transcript::new();
        transcript.record_user(message);
        assert_eq!(transcript.visible(), [&Entry::User { text: message.into() }]);
    }

    /// M8
    #[test]
    fn a_line_of_context_is_one_that_a_message_begins_with() {
        let has = |message: &str| {
            let mut transcript = Transcript::new();
            transcript.record_user(message);
            transcript.has_context_line()
        };
        assert!(has("<context type=\"list\" id=\"l1\" />\nadd milk"));
        assert!(!has("add milk") && !has("what is <context id=\"l1\" />?") && !has("<contextual />"));
    }

    #[test]
    fn every_entry_is_bounded() {
        let long = "x".repeat(2 * ENTRY_LIMIT);
        let mut transcript = Transcript::new();
        transcript.record_user(&long);
        let huge = ToolCall { input: json!({ "text": long }), ..call("a") };
        transcript.record_reply(&Reply { text: long.clone(), calls: vec![huge], ..Reply::default() });
        transcript.record_result("a", ToolResult::done(long));
        for entry in transcript.entries() {
            let length = serde_json::to_string(entry).unwrap().len();
            assert!(length < ENTRY_LIMIT + 1024, "{length}");
        }
    }

    #[test]
    fn what_could_not_be_read_again_is_not_recorded() {
        let deep = (0..120).fold(json!(1), |inner, _| json!([inner]));
        let mut transcript = Transcript::new();
        let calls = vec![ToolCall { input: deep, ..call("a") }];
        transcript.record_reply(&Reply { calls, ..Reply::default() });
        let written = serde_json::to_string(&transcript).unwrap();
        assert_eq!(serde_json::from_str::<Transcript>(&written).unwrap(), transcript);
        assert!(written.contains("nested 64 deep"), "{written}");
    }

    #[test]
    fn it_survives_being_written_and_read() {
        let mut transcript = Transcript::new();
        transcript.record_user("hello");
        transcript.record_reply(&Reply { text: "look".into(), calls: vec![call("a"), call("b")], ..Reply::default() });
        transcript.record_result("a", ToolResult::done("text"));
        transcript.record_result("b", ToolResult::failed(FailureKind::Denied, "no"));
        let written = serde_json::to_value(&transcript).unwrap();
        let result = json!({"failed": {"kind": "denied", "text": "no"}, "cost": {"micros": 0, "peak_memory": 0}});
        assert_eq!(written[3], json!({"entry": "result", "id": "b", "result": result}));
        assert_eq!(serde_json::from_value::<Transcript>(written).unwrap(), transcript);
    }
}
