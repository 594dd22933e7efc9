//! A transcript as turns of a conversation: user and model take turns, every call has its result in the
//! turn after it, and nothing is empty. That is what every server asks for.

use std::collections::HashSet;

use palisade_agent::{Entry, Kept, ToolCall, Transcript};

/// One turn.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    /// What the model is told.
    User {
        /// What came of the calls of the turn before; one for each.
        results: Vec<Told<'a>>,
        /// What the user or the host says; none is blank.
        texts: Vec<&'a str>,
    },
    /// What the model said, usually in one piece.
    Model(Vec<Said<'a>>),
}

/// What the model is told of one call.
#[derive(Debug, PartialEq)]
pub(crate) struct Told<'a> {
    pub(crate) id: &'a str,
    pub(crate) text: &'a str,
    pub(crate) worked: bool,
}

/// What the model said, thought and wanted; at least one of it.
#[derive(Debug, PartialEq)]
pub(crate) struct Said<'a> {
    /// Blank if it only called.
    pub(crate) text: &'a str,
    pub(crate) calls: &'a [ToolCall],
    pub(crate) kept: Option<&'a Kept>,
}

/// Stands where a user said nothing, because no server accepts an empty text.
const NOTHING: &str = "(nothing)";

/// The part of a transcript that the model reads, as turns.
pub(crate) fn turns(transcript: &Transcript) -> Vec<Turn<'_>> {
    let mut turns = Vec::new();
    let mut open: HashSet<&str> = HashSet::new();
    for entry in transcript.visible() {
        match entry {
            Entry::User { text } | Entry::Notice { text } | Entry::Summary { text, .. } => {
                user(&mut turns).1.push(if text.trim().is_empty() { NOTHING } else { text });
            }
            Entry::Reply { text, calls, kept, .. } => {
                if !calls.is_empty() || !text.trim().is_empty() {
                    close(&mut turns, &mut open);
                    open.extend(calls.iter().map(|call| call.id.as_str()));
                    model(&mut turns).push(Said { text, calls, kept: kept.as_ref() });
                }
            }
            Entry::Result { id, result } => {
                let (results, texts) = user(&mut turns);
                let text = result.text();
                if open.remove(id.as_str()) {
                    results.push(Told { id, text, worked: result.is_done() });
                } else if !text.trim().is_empty() {
                    // Its call is no longer in what the model reads.
                    texts.push(text);
                }
            }
        }
    }
    close(&mut turns, &mut open);
    turns
}

/// Gives a result to calls that have none: a server refuses the whole conversation otherwise.
fn close<'a>(turns: &mut Vec<Turn<'a>>, open: &mut HashSet<&'a str>) {
    if open.is_empty() {
        return;
    }
    let calls = turns.iter().rev().find_map(|turn| match turn {
        Turn::Model(said) => Some(said.iter().flat_map(|said| said.calls).collect::<Vec<_>>()),
        Turn::User { .. } => None,
    });
    for call in calls.unwrap_or_default().into_iter().filter(|call| open.contains(call.id.as_str())) {
        user(turns).0.push(Told { id: &call.id, text: "there is no result", worked: false });
    }
    open.clear();
}

/// The user's turn at the end.
fn user<'a, 'b>(turns: &'b mut Vec<Turn<'a>>) -> (&'b mut Vec<Told<'a>>, &'b mut Vec<&'a str>) {
    if !matches!(turns.last(), Some(Turn::User { .. })) {
        turns.push(Turn::User { results: Vec::new(), texts: Vec::new() });
    }
    match turns.last_mut() {
        Some(Turn::User { results, texts }) => (results, texts),
        Some(Turn::Model(_)) | None => unreachable!("a user's turn was put there"),
    }
}

/// The model's turn at the end.
fn model<'a, 'b>(turns: &'b mut Vec<Turn<'a>>) -> &'b mut Vec<Said<'a>> {
    if !matches!(turns.last(), Some(Turn::Model(_))) {
        turns.push(Turn::Model(Vec::new()));
    }
    match turns.last_mut() {
        Some(Turn::Model(said)) => said,
        Some(Turn::User { .. }) | None => unreachable!("a model's turn was put there"),
    }
}

#[cfg(test)]
mod tests {
    use palisade_agent::{FailureKind, Reply, ToolResult};
    use serde_json::json;

    use super::*;

    fn calling(ids: &[&str]) -> Reply {
        let call = |id: &&str| ToolCall { id: (*id).to_owned(), tool: "read".into(), input: json!({}) };
        Reply { calls: ids.iter().map(call).collect(), ..Reply::default() }
    }

    fn said<'a>(text: &'a str, calls: &'a [ToolCall]) -> Said<'a> {
        Said { text, calls, kept: None }
    }

    #[test]
    fn user_and_model_take_turns_and_every_call_has_its_result() {
        let mut transcript = Transcript::new();
        transcript.record_user("look");
        let calls = transcript.record_reply(&calling(&["a", "b"]));
        transcript.record_notice("hurry");
        transcript.record_result("a", ToolResult::done("A"));
        transcript.record_result("b", ToolResult::failed(FailureKind::Failed, "no"));
        transcript.record_reply(&Reply::answer(" \n"));
        transcript.record_user(" ");
        transcript.record_reply(&Reply::answer("one"));
        transcript.record_reply(&Reply::answer("two"));
        let expected = [
            Turn::User { results: vec![], texts: vec!["look"] },
            Turn::Model(vec![said("", &calls)]),
            Turn::User {
                results: vec![Told { id: "a", text: "A", worked: true }, Told { id: "b", text: "no", worked: false }],
                texts: vec!["hurry", "(nothing)"],
            },
            Turn::Model(vec![said("one", &[]), said("two", &[])]),
        ];
        assert_eq!(turns(&transcript), expected);
    }

    #[test]
    fn what_lost_its_other_half_is_still_a_conversation() {
        let mut transcript = Transcript::new();
        transcript.record_user("look");
        transcript.record_reply(&calling(&["a"]));
        transcript.record_summary("so far", 2);
        transcript.record_result("a", ToolResult::done("A"));
        let calls = transcript.record_reply(&calling(&["b"]));
        transcript.record_user("go on");
        let expected = [
            Turn::User { results: vec![], texts: vec!["so far", "A"] },
            Turn::Model(vec![said("", &calls)]),
            Turn::User {
                results: vec![Told { id: "b", text: "there is no result", worked: false }],
                texts: vec!["go on"],
            },
        ];
        assert_eq!(turns(&transcript), expected);
    }
}
