//! Noticing that a model goes in circles: the same call with the same result, again and again.

use std::collections::HashMap;

use palisade_grants::canonical_tool;
use sha2::{Digest, Sha256};

use crate::{ToolCall, ToolResult};

/// How often a call may give the same result before it is not made any more.
pub(crate) const REPEATS: u32 = 3;

/// How many steps in a row may consist of nothing but such calls before the run ends.
const IDLE_STEPS: u32 = 2;

/// Remembers what was called and what came of it.
#[derive(Debug, Default)]
pub(crate) struct Circles {
    seen: HashMap<[u8; 32], Seen>,
    idle_steps: u32,
}

#[derive(Debug)]
struct Seen {
    result: [u8; 32],
    times: u32,
}

impl Circles {
    /// Whether a call has given the same result so often that it would only do so again.
    pub(crate) fn is_stale(&self, call: &ToolCall) -> bool {
        self.seen.get(&key(call)).is_some_and(|seen| seen.times >= REPEATS)
    }

    /// Remembers a call that was made. One that may have changed something makes all others worth
    /// another try.
    pub(crate) fn remember(&mut self, call: &ToolCall, result: &ToolResult, read_only: bool) {
        if !read_only && result.is_done() {
            self.seen.clear();
        }
        let result = digest([result.text()]);
        let seen = self.seen.entry(key(call)).or_insert(Seen { result, times: 0 });
        seen.times = if seen.result == result { seen.times + 1 } else { 1 };
        seen.result = result;
    }

    /// Takes note of a step that is over; says whether the model does nothing new.
    pub(crate) fn is_circling(&mut self, made: usize) -> bool {
        self.idle_steps = if made == 0 { self.idle_steps + 1 } else { 0 };
        self.idle_steps >= IDLE_STEPS
    }
}

fn key(call: &ToolCall) -> [u8; 32] {
    digest([&*canonical_tool(&call.tool), &*call.input.to_string()])
}

fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(path: &str) -> ToolCall {
        ToolCall { id: "1".into(), tool: "read".into(), input: json!({ "path": path }) }
    }

    #[test]
    fn the_same_call_with_the_same_result_becomes_stale() {
        let mut circles = Circles::default();
        for _ in 0..REPEATS {
            assert!(!circles.is_stale(&call("a")));
            circles.remember(&call("a"), &ToolResult::done("text"), true);
        }
        assert!(circles.is_stale(&call("a")));
        assert!(!circles.is_stale(&call("b")));
    }

    #[test]
    fn another_result_begins_anew_and_so_does_a_change() {
        let mut circles = Circles::default();
        for text in ["one", "two", "three", "four", "five"] {
            circles.remember(&call("a"), &ToolResult::done(text), true);
            assert!(!circles.is_stale(&call("a")));
        }
        for _ in 0..REPEATS {
            circles.remember(&call("a"), &ToolResult::done("same"), true);
        }
        let write = ToolCall { tool: "write".into(), ..call("a") };
        circles.remember(&write, &ToolResult::done("written"), false);
        assert!(!circles.is_stale(&call("a")));
    }

    #[test]
    fn a_model_circles_when_whole_steps_bring_nothing_new() {
        let mut circles = Circles::default();
        assert!(!circles.is_circling(0));
        assert!(!circles.is_circling(1));
        assert!(!circles.is_circling(0));
        assert!(circles.is_circling(0));
    }
}
