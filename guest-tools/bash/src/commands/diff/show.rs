//! How changes are written.

use std::ops::Range;

use super::changes::Change;

/// The form without options.
pub(super) fn normal(left: &[&[u8]], right: &[&[u8]], changes: &[Change]) -> Vec<u8> {
    let place = |range: &Range<usize>| match range.len() {
        // Between two lines: after the one above.
        0 => range.start.to_string(),
        1 => range.end.to_string(),
        _ => format!("{},{}", range.start + 1, range.end),
    };
    let mut text = Vec::new();
    for change in changes {
        let kind = match (change.left.is_empty(), change.right.is_empty()) {
            (true, _) => 'a',
            (_, true) => 'd',
            _ => 'c',
        };
        text.extend_from_slice(format!("{}{kind}{}\n", place(&change.left), place(&change.right)).as_bytes());
        put(&mut text, "< ", &left[change.left.clone()]);
        if kind == 'c' {
            text.extend_from_slice(b"---\n");
        }
        put(&mut text, "> ", &right[change.right.clone()]);
    }
    text
}

/// The form with lines around each change.
pub(super) fn unified(
    left: &[&[u8]],
    right: &[&[u8]],
    changes: &[Change],
    around: usize,
    titles: &(String, String),
) -> Vec<u8> {
    let mut text = format!("--- {}\n+++ {}\n", titles.0, titles.1).into_bytes();
    let mut rest = changes;
    while let Some(first) = rest.first() {
        // Changes whose surroundings touch are shown together.
        let near = |pair: &[Change]| matches!(pair, [a, b] if b.left.start - a.left.end <= 2 * around);
        let count = 1 + rest.windows(2).take_while(|pair| near(pair)).count();
        let (hunk, after) = rest.split_at(count);
        rest = after;
        let Some(last) = hunk.last() else { break };
        let above = first.left.start.min(around);
        let below = (left.len() - last.left.end).min(around);
        let (from, to) = (first.left.start - above, last.left.end + below);
        let (into, until) = (first.right.start - above, last.right.end + below);
        text.extend_from_slice(format!("@@ -{} +{} @@\n", span(from, to), span(into, until)).as_bytes());
        let mut at = from;
        for change in hunk {
            put(&mut text, " ", &left[at..change.left.start]);
            put(&mut text, "-", &left[change.left.clone()]);
            put(&mut text, "+", &right[change.right.clone()]);
            at = change.left.end;
        }
        put(&mut text, " ", &left[at..to]);
    }
    text
}

fn span(from: usize, to: usize) -> String {
    match to - from {
        0 => format!("{from},0"),
        1 => to.to_string(),
        length => format!("{},{length}", from + 1),
    }
}

fn put(text: &mut Vec<u8>, mark: &str, lines: &[&[u8]]) {
    for line in lines {
        text.extend_from_slice(mark.as_bytes());
        text.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            text.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}
