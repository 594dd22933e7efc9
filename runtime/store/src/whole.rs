//! Whether a conversation that comes from elsewhere is one: every call has exactly one result, directly after it.

use std::collections::HashSet;

use palisade_agent::{CALLS_PER_REPLY, Entry, FailureKind, Numbered, StoreError, ToolCall, ToolResult};

use crate::rules::{invalid, json};

/// Refuses a conversation that no provider would take.
pub(crate) fn check_whole(entries: &[Numbered]) -> Result<(), StoreError> {
    let mut ids: HashSet<&str> = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (numbered, expected) in entries.iter().zip(1_u64..) {
        if numbered.number != expected {
            return Err(invalid(format!("entry {expected} has the number {}", numbered.number)));
        }
        json("an entry", &numbered.entry)?;
        if let Entry::Result { id, .. } = &numbered.entry {
            let place = open.iter().position(|call| call == id);
            let place = place.ok_or_else(|| invalid(format!("entry {expected} is a result of no call: `{id}`")))?;
            open.swap_remove(place);
            continue;
        }
        if let Some(call) = open.first() {
            return Err(invalid(format!("entry {expected} comes before the result of call `{call}`")));
        }
        match &numbered.entry {
            Entry::Reply { calls, .. } => {
                if calls.len() > CALLS_PER_REPLY {
                    let count = calls.len();
                    return Err(invalid(format!(
                        "entry {expected} has {count} calls, and {CALLS_PER_REPLY} are the most"
                    )));
                }
                for ToolCall { id, .. } in calls {
                    if !ids.insert(id) {
                        return Err(invalid(format!("entry {expected} has a call whose id is taken: `{id}`")));
                    }
                    open.push(id);
                }
            }
            Entry::Summary { covers, .. } if u64::try_from(*covers).is_ok_and(|covers| covers >= expected) => {
                return Err(invalid(format!("entry {expected} is a summary of more than there is before it")));
            }
            Entry::User { .. } | Entry::Result { .. } | Entry::Notice { .. } | Entry::Summary { .. } => {}
        }
    }
    match open.first() {
        Some(call) => Err(invalid(format!("call `{call}` has no result"))),
        None => Ok(()),
    }
}

/// Gives the calls at the end that have no result one that says so: whoever made them is gone.
pub(crate) fn close(entries: &mut Vec<Numbered>) {
    let Some(last) = entries.iter().rposition(|numbered| matches!(numbered.entry, Entry::Reply { .. })) else { return };
    let (_, tail) = entries.split_at(last);
    let Some((Numbered { at, entry: Entry::Reply { calls, .. }, .. }, results)) = tail.split_first() else { return };
    let result = |numbered: &'_ Numbered| match &numbered.entry {
        Entry::Result { id, .. } => Some(id.clone()),
        _ => None,
    };
    let finished: HashSet<String> = results.iter().filter_map(result).collect();
    let open: Vec<String> = calls.iter().map(|call| &call.id).filter(|id| !finished.contains(*id)).cloned().collect();
    let at = *at;
    for id in open {
        let result = ToolResult::failed(FailureKind::Cancelled, "interrupted; whether it was done is not known");
        entries.push(Numbered { number: entries.len() as u64 + 1, at, entry: Entry::Result { id, result } });
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    fn numbered(entries: Vec<Entry>) -> Vec<Numbered> {
        let number = |(entry, number)| Numbered { number, at: Timestamp::UNIX_EPOCH, entry };
        entries.into_iter().zip(1..).map(number).collect()
    }

    fn user(text: &str) -> Entry {
        Entry::User { text: text.into() }
    }

    fn reply(ids: &[&str]) -> Entry {
        let call = |id: &&str| ToolCall { id: (*id).into(), tool: "read".into(), input: json!({}) };
        Entry::Reply { text: "look".into(), thinking: String::new(), calls: ids.iter().map(call).collect(), kept: None }
    }

    fn result(id: &str) -> Entry {
        Entry::Result { id: id.into(), result: ToolResult::done("text") }
    }

    #[test]
    fn a_conversation_is_whole_if_every_call_has_one_result() {
        let whole = [
            vec![],
            vec![user("a"), reply(&[])],
            vec![user("a"), reply(&["1", "2"]), result("2"), result("1"), reply(&["3"]), result("3"), user("b")],
            vec![user("a"), Entry::Summary { text: "s".into(), covers: 1 }],
        ];
        for entries in whole {
            assert_eq!(check_whole(&numbered(entries.clone())), Ok(()), "{entries:?}");
        }
        let ids: Vec<String> = (0..=CALLS_PER_REPLY).map(|id| id.to_string()).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let many = [vec![reply(&ids)], ids.iter().map(|id| result(id)).collect()].concat();
        let broken = [
            vec![result("1")],
            vec![reply(&["1"])],
            vec![reply(&["1"]), result("1"), result("1")],
            vec![reply(&["1"]), user("b"), result("1")],
            vec![reply(&["1", "1"]), result("1"), result("1")],
            vec![reply(&["1"]), result("1"), reply(&["1"]), result("1")],
            vec![Entry::Summary { text: "s".into(), covers: 1 }],
            many,
        ];
        for entries in broken {
            assert!(check_whole(&numbered(entries.clone())).is_err(), "{entries:?}");
        }
    }

    #[test]
    fn calls_that_were_left_open_are_closed() {
        let mut entries = numbered(vec![user("a"), reply(&["1", "2"]), result("2")]);
        close(&mut entries);
        assert_eq!(check_whole(&entries), Ok(()));
        assert_eq!(entries.len(), 4);
        close(&mut entries);
        assert_eq!(entries.len(), 4);
    }
}
