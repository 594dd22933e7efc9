//! Which calls answer a question: first how often its words occur and where, then the lines, then a
//! look into the best files. Each stage is decided by what the stages before it have shown.

use palisade_agent::ToolSpec;
use serde_json::{Value, json};

use super::keywords::{Keyword, Kind, Pattern};
use super::matching::escape;
use super::places::places;
use super::rank::{self, Question};
use super::role::{DEFINERS, TESTS_START};
use super::seen::{EVERY_LINE, Seen};

/// How many files of the ranking are searched for their lines, and how many of them are opened.
const SEARCHED: usize = 16;
const OPENED: usize = 6;

/// A keyword in more files than this is defined and headed too often to look for that everywhere.
const COMMON: f64 = 60.0;

/// How many files are listed. Of a list that is too long for one output, the toolbox leaves the beginning and the end.
pub(super) const LISTED: u32 = 5000;

/// The most calls in one reply.
const CALLS: usize = 24;

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

    /// Whether anything can be found at all.
    pub(super) fn can_look(self) -> bool {
        ["grep", "glob", "tree", "ls"].iter().any(|tool| self.has(tool))
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
        .map(|stage| tools.possible(stage(keywords, tools, seen), seen))
        .find(|calls| !calls.is_empty())
        .unwrap_or_default()
}

pub(super) fn glob(pattern: &str, limit: u32) -> Wanted {
    Wanted { tool: "glob", input: json!({"pattern": pattern, "limit": limit}) }
}

pub(super) fn read(path: &str, offset: usize, limit: usize) -> Wanted {
    Wanted { tool: "read", input: json!({"path": path, "offset": offset, "limit": limit}) }
}

/// How often each keyword occurs in which file, and what files there are.
fn survey(keywords: &[Keyword], tools: Tools<'_>, _: &Seen) -> Vec<Wanted> {
    let mut calls = list(tools);
    calls.push(sizes());
    calls.extend(keywords.iter().map(|keyword| counts(&keyword.pattern())));
    calls.extend(keywords.iter().filter_map(Keyword::alternatives).map(|pattern| counts(&pattern)));
    calls
}

/// What files there are, by the best tool for it.
pub(super) fn list(tools: Tools<'_>) -> Vec<Wanted> {
    let all = glob("**/*", LISTED);
    let tree = Wanted { tool: "tree", input: json!({"depth": 8, "limit": 2000}) };
    let ls = Wanted { tool: "ls", input: json!({}) };
    [all, tree, ls].into_iter().find(|call| tools.has(call.tool)).into_iter().collect()
}

/// How many lines each file has.
pub(super) fn sizes() -> Wanted {
    let input = json!({"pattern": EVERY_LINE, "output_mode": "count", "limit": LISTED});
    Wanted { tool: "grep", input }
}

fn counts(pattern: &Pattern) -> Wanted {
    let mut input = json!({"pattern": pattern.as_str(), "output_mode": "count", "limit": 1000});
    if matches!(pattern, Pattern::Text(_)) {
        input["ignore_case"] = json!(true);
        input["fixed_strings"] = json!(true);
    }
    Wanted { tool: "grep", input }
}

/// The lines with keywords in the best files, and definitions and headings anywhere.
fn locate(keywords: &[Keyword], _: Tools<'_>, seen: &Seen) -> Vec<Wanted> {
    let question = Question::new(keywords, seen);
    let mut calls = Vec::new();
    // All files named after a keyword, where the list of all files was cut.
    calls.extend(names(keywords).filter(|_| seen.files_cut).map(|pattern| glob(&pattern, 200)));
    let any = any(keywords);
    calls.push(headings(&any));
    calls.extend(telling(&question, seen));
    for file in rank::files(&question, seen).iter().take(SEARCHED) {
        let pattern = format!("{any}|{}", escape(TESTS_START));
        // The path first: whoever watches sees the beginning of an input.
        let input = json!({"path": file.path, "pattern": pattern, "output_mode": "content", "limit": 300});
        calls.push(Wanted { tool: "grep", input });
    }
    calls
}

/// The headings of documents that name a keyword.
fn headings(any: &str) -> Wanted {
    let input = json!({
        "glob": "*.{md,mdx,markdown}", "pattern": format!("^#+ .*(?:{any})"), "output_mode": "content", "limit": 150,
    });
    Wanted { tool: "grep", input }
}

/// The top of the best files, where they say what they are, and the surroundings of the best lines.
fn open(keywords: &[Keyword], _: Tools<'_>, seen: &Seen) -> Vec<Wanted> {
    let question = Question::new(keywords, seen);
    let ranking = rank::files(&question, seen);
    let places = places(&question, &ranking, seen);
    let mut calls: Vec<Wanted> =
        places.iter().take(OPENED).map(|place| read(&place.path, place.number.saturating_sub(12).max(1), 40)).collect();
    let readme = seen.files.iter().find(|path| is_readme(path));
    for path in ranking.iter().take(OPENED).map(|file| &file.path).chain(readme) {
        // A place near the top has shown the top already.
        let is_read = |call: &Wanted| call.input["path"] == path.as_str() && call.input["offset"] == 1;
        if !calls.iter().any(is_read) {
            calls.push(read(path, 1, 24));
        }
    }
    calls
}

/// A regular expression for any of the keywords.
fn any(keywords: &[Keyword]) -> String {
    let own = keywords.iter().map(|keyword| match keyword.pattern() {
        Pattern::Text(text) => format!("(?i:{})", escape(&text)),
        Pattern::Expression(expression) => expression,
    });
    let also = keywords.iter().filter_map(Keyword::alternatives).map(|pattern| pattern.as_str().to_owned());
    own.chain(also).collect::<Vec<_>>().join("|")
}

/// Definitions and introductions that name a keyword, as long as that is not in every other file.
fn telling(question: &Question<'_>, seen: &Seen) -> Option<Wanted> {
    let common = (1.0 + seen.files.len() as f64 / COMMON).ln();
    let rare = question.keywords.iter().zip(&question.rarity).filter(|(_, rarity)| **rarity > common);
    let rare: Vec<String> = rare.map(|(keyword, _)| escape(&keyword.text)).collect();
    let (rare, definers) = (rare.join("|"), DEFINERS.join("|"));
    let pattern = format!(r"(?-u:\b)(?:{definers})\s+(?:\(.*\)\s*)?[A-Za-z0-9_]*(?i:{rare})|^//!.*(?i:{rare})");
    (!rare.is_empty())
        .then(|| Wanted { tool: "grep", input: json!({"pattern": pattern, "output_mode": "content", "limit": 200}) })
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
