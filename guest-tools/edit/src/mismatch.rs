//! Why a text was not found: the lines of the file that are most like it, and what differs.

use std::collections::HashMap;

use palisade_tool::text::clip;

/// The lines of `old` that are compared; more do not tell more.
const MAX_WANTED: usize = 200;
/// The lines of the file that are compared letter by letter.
const MAX_COMPARED: usize = 100_000;
/// What is compared of one line, in bytes.
const MAX_COMPARED_LINE: usize = 200;
/// The most lines that are shown.
const MAX_SHOWN: usize = 30;
/// The longest line that is shown whole, in characters.
const MAX_LINE: usize = 200;
/// A line that occurs more often in `old` (a closing brace) does not tell where it belongs.
const MAX_REPEATS: usize = 8;

/// Explains to the model why `old` was not found and how to correct it.
pub(crate) fn explain(text: &str, old: &str, new: &str) -> String {
    let mut message = "`old` was not found; nothing was changed".to_owned();
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = old.lines().take(MAX_WANTED).collect();
    let start = nearest(&lines, &wanted);
    let window = start.map(|start| &lines[start..lines.len().min(start + wanted.len())]);
    for hint in hints(text, old, new, window, &wanted) {
        message.push_str(&format!("\n- {hint}"));
    }
    let (Some(start), Some(window)) = (start, window) else {
        message.push_str("\n- nothing in the file is like it; read the file and copy the text exactly");
        return message;
    };
    message.push_str("\nThe nearest lines are:");
    for (number, line) in (start + 1..).zip(window.iter().take(MAX_SHOWN)) {
        let (shown, cut) = clip(line, MAX_LINE);
        message.push_str(&format!("\n{number:>6}\t{shown}{}", if cut > 0 { "…" } else { "" }));
    }
    if window.len() > MAX_SHOWN {
        message.push_str("\n…");
    }
    message
}

fn hints(text: &str, old: &str, new: &str, window: Option<&[&str]>, wanted: &[&str]) -> Vec<&'static str> {
    let mut hints = Vec::new();
    if !new.trim().is_empty() && text.contains(new) {
        hints.push("the file already contains `new`; the edit may have been made before");
    }
    let mut filled = wanted.iter().filter(|line| !line.is_empty()).peekable();
    if filled.peek().is_some() && filled.all(|line| has_line_number(line)) {
        hints.push("`old` begins its lines with line numbers, as read shows them; leave them out");
    }
    if text.contains('\r') && text.replace("\r\n", "\n").contains(&old.replace("\r\n", "\n")) {
        hints.push("the line ends differ: the file mixes CRLF and LF; edit single lines, or rewrite it with write");
    }
    if old.contains("\\n") && text.contains(&old.replace("\\n", "\n")) {
        hints.push("`old` contains a backslash and an n where the file has line ends");
    }
    if let Some(window) = window {
        hints.extend(whitespace_hints(window, wanted));
    }
    hints
}

/// What differs if it is only spaces and tabs.
fn whitespace_hints(window: &[&str], wanted: &[&str]) -> Vec<&'static str> {
    let pairs = || window.iter().zip(wanted);
    if window.len() != wanted.len() || pairs().any(|(line, want)| line.trim() != want.trim()) {
        return Vec::new();
    }
    let indent = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let mut hints = Vec::new();
    if pairs().any(|(line, want)| indent(line).contains('\t') != indent(want).contains('\t')) {
        hints.push("only the indentation differs: one has tabs where the other has spaces");
    } else if pairs().any(|(line, want)| indent(line) != indent(want)) {
        hints.push("only the indentation differs; copy it exactly");
    }
    if pairs().any(|(line, want)| line.trim_start() != want.trim_start()) {
        hints.push("spaces at the end of lines differ");
    }
    if hints.is_empty() {
        hints.push("empty lines or the end of the last line differ");
    }
    hints
}

fn has_line_number(line: &str) -> bool {
    let rest = line.trim_start();
    let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    digits > 0 && rest[digits..].starts_with(['\t', '→', '|'])
}

/// Where in the file the lines begin that are most like the wanted ones.
fn nearest(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    by_equal_lines(lines, wanted).or_else(|| by_similar_line(lines, wanted))
}

/// The place where most of the wanted lines stand, spaces aside; longer lines count more.
fn by_equal_lines(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let weight = |line: &str| line.len().min(40);
    let mut positions: HashMap<&str, Vec<usize>> = HashMap::new();
    for (position, line) in wanted.iter().enumerate() {
        positions.entry(line.trim()).or_default().push(position);
    }
    positions.retain(|line, repeats| !line.is_empty() && repeats.len() <= MAX_REPEATS);
    let mut scores: HashMap<usize, usize> = HashMap::new();
    for (number, line) in lines.iter().enumerate() {
        let line = line.trim();
        for position in positions.get(line).into_iter().flatten() {
            if let Some(start) = number.checked_sub(*position) {
                *scores.entry(start).or_default() += weight(line);
            }
        }
    }
    let total: usize = wanted.iter().map(|line| weight(line.trim())).sum();
    let best = scores.into_iter().max_by_key(|&(start, score)| (score, std::cmp::Reverse(start)));
    best.filter(|(_, score)| score * 4 >= total).map(|(start, _)| start)
}

/// The place of the line that is most like the longest of the wanted ones.
fn by_similar_line(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let (position, longest) = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len())?;
    let longest = pairs(longest);
    let mut best = (0.5, None);
    for (number, line) in lines.iter().take(MAX_COMPARED).enumerate().skip(position) {
        let line = line.trim();
        // Lines of very different length cannot be like each other; this spares most of the work.
        if line.len().min(MAX_COMPARED_LINE) < longest.len() / 3 || line.len() / 3 > longest.len() + 1 {
            continue;
        }
        let score = similarity(&longest, &pairs(line));
        if score > best.0 {
            best = (score, Some(number - position));
        }
    }
    best.1
}

/// The pairs of neighbouring bytes of a line, sorted.
fn pairs(line: &str) -> Vec<[u8; 2]> {
    let bytes = line.trim().as_bytes();
    let mut pairs: Vec<[u8; 2]> =
        bytes[..bytes.len().min(MAX_COMPARED_LINE)].windows(2).map(|pair| [pair[0], pair[1]]).collect();
    pairs.sort_unstable();
    pairs
}

/// The share of pairs that two lines have in common, from 0 to 1 (Dice's coefficient).
fn similarity(a: &[[u8; 2]], b: &[[u8; 2]]) -> f64 {
    let (mut i, mut j, mut common) = (0, 0, 0_usize);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, common) = (i + 1, j + 1, common + 1),
        }
    }
    if a.is_empty() || b.is_empty() { 0.0 } else { 2.0 * common as f64 / (a.len() + b.len()) as f64 }
}
