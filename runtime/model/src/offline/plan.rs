//! Which calls answer a question: first how often its words occur and where, then the lines, then a
//! look into the best files. Each stage is decided by what the stages before it have shown.

use palisade_agent::ToolSpec;
use serde_json::{Value, json};

use super::keywords::{Keyword, Kind};
use super::rank;
use super::role::{DEFINERS, TESTS_START};
use super::seen::Seen;

/// How many files of the ranking are searched for their lines, and how many of them are opened.
const SEARCHED: usize = 8;
const OPENED: usize = 5;

/// The most calls in one reply.
const CALLS: usize = 12;

/// A call that is wanted, before it has an id.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) tool: &'static str,
    pub(super) input: Value,
}

/// The tools that are there.
#[derive(Clone, Copy)]
pub(super) struct Tools<'a>(pub(super) &'a [ToolSpec]);

impl Tools<'_> {
    pub(super) fn has(self, name: &str) -> bool {
        self.0.iter().any(|spec| spec.name == name)
    }

    /// Of the wanted calls, those that can be made and were not made yet.
    pub(super) fn possible(self, wanted: Vec<Wanted>, seen: &Seen) -> Vec<Wanted> {
        let mut possible: Vec<Wanted> = Vec::new();
        for call in wanted {
            if self.has(call.tool) && !seen.has_called(call.tool, &call.input) && !possible.contains(&call) {
                possible.push(call);
            }
        }
        possible.truncate(CALLS);
        possible
    }
}

/// The calls to make next for a question; none when it is time to answer.
pub(super) fn question(keywords: &[Keyword], tools: Tools<'_>, seen: &Seen) -> Vec<Wanted> {
    let stages = [survey, locate, open];
    stages
        .iter()
        .map(|stage| tools.possible(stage(keywords, seen), seen))
        .find(|calls| !calls.is_empty())
        .unwrap_or_default()
}

pub(super) fn glob(pattern: &str, limit: u32) -> Wanted {
    Wanted { tool: "glob", input: json!({"pattern": pattern, "limit": limit}) }
}

pub(super) fn read(path: &str, offset: usize, limit: usize) -> Wanted {
    Wanted { tool: "read", input: json!({"path": path, "offset": offset, "limit": limit}) }
}

pub(super) fn grep(pattern: &str, limit: u32) -> Wanted {
    let input = json!({"pattern": pattern, "output_mode": "content", "ignore_case": true, "limit": limit});
    Wanted { tool: "grep", input }
}

/// How often each keyword occurs in which file, and what files there are.
fn survey(keywords: &[Keyword], _: &Seen) -> Vec<Wanted> {
    let mut calls = vec![glob("**/*", 5000)];
    calls.extend(names(keywords).map(|pattern| glob(&pattern, 200)));
    calls.extend(keywords.iter().map(|keyword| {
        let input = json!({
            "pattern": keyword.text, "output_mode": "count", "ignore_case": true, "fixed_strings": true, "limit": 1000,
        });
        Wanted { tool: "grep", input }
    }));
    calls
}

/// The lines with keywords in the best files, definitions anywhere, and keywords near each other anywhere.
fn locate(keywords: &[Keyword], seen: &Seen) -> Vec<Wanted> {
    let any: Vec<String> = keywords.iter().map(|keyword| escape(&keyword.text)).collect();
    let any = any.join("|");
    let mut calls = vec![grep(&format!(r"\b({})\s+(\(.*\)\s*)?\w*({any})", DEFINERS.join("|")), 150)];
    calls.extend(near(keywords).map(|pattern| grep(&pattern, 150)));
    for file in rank::by_counts(keywords, seen).iter().take(SEARCHED) {
        let input = json!({
            "pattern": format!("{any}|{}", escape(TESTS_START)), "path": file.path, "output_mode": "content", "ignore_case": true, "limit": 150,
        });
        calls.push(Wanted { tool: "grep", input });
    }
    calls
}

/// The top of the best files, where they say what they are, and the surroundings of the best lines.
fn open(keywords: &[Keyword], seen: &Seen) -> Vec<Wanted> {
    let ranking = rank::by_lines(keywords, seen);
    let places = rank::places(keywords, &ranking, seen);
    let mut calls: Vec<Wanted> =
        places.iter().take(OPENED).map(|place| read(&place.path, place.number.saturating_sub(12).max(1), 40)).collect();
    calls.extend(ranking.iter().take(OPENED).map(|file| read(&file.path, 1, 24)));
    calls.extend(seen.files.iter().find(|path| is_readme(path)).map(|path| read(path, 1, 24)));
    calls
}

/// Whether this is the README of the whole repository.
pub(super) fn is_readme(path: &str) -> bool {
    matches!(path.to_lowercase().as_str(), "readme" | "readme.md" | "readme.rst" | "readme.txt" | "readme.adoc")
}

/// One pattern for all files named after a keyword.
fn names(keywords: &[Keyword]) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let patterns: Vec<String> = keywords
        .iter()
        .filter(|keyword| {
            keyword.text.chars().all(plain) && !keyword.text.contains("..") && !keyword.text.starts_with('/')
        })
        .map(|keyword| match (keyword.kind, keyword.text.split_at(1)) {
            (Kind::Exact, _) if keyword.text.contains('/') => format!("{}*", keyword.text),
            (_, (first, rest)) if first.as_bytes()[0].is_ascii_alphabetic() => {
                format!("*[{first}{}]{rest}*", first.to_uppercase())
            }
            (_, (first, rest)) => format!("*{first}{rest}*"),
        })
        .collect();
    (!patterns.is_empty()).then(|| format!("**/{{{}}}", patterns.join(",")))
}

/// Keywords that stand side by side in the question: as one identifier, as two words, or in one line.
fn near(keywords: &[Keyword]) -> Option<String> {
    let words: Vec<String> =
        keywords.iter().filter(|keyword| keyword.kind == Kind::Word).map(|keyword| escape(&keyword.text)).collect();
    let mut patterns = Vec::new();
    for (at, first) in words.iter().enumerate() {
        for second in words.iter().skip(at + 1).take(2) {
            patterns.push(format!("{first}.{{0,40}}{second}|{second}.{{0,40}}{first}"));
        }
    }
    (!patterns.is_empty()).then(|| patterns.join("|"))
}

/// A text as a regular expression that matches it.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        // Not all punctuation: `\<` and `\>` have a meaning of their own.
        if r"\.+*?()|[]{}^$#&-~".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
