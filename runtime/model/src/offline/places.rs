//! Which lines to send a reader to. A line matters by what it says and does itself, by the keywords
//! around it, and by the file it is in.

use std::collections::{BTreeMap, HashMap};

use super::keywords::Keyword;
use super::paths;
use super::rank::{File, Question};
use super::role::{Role, TESTS_START, defined, role};
use super::seen::{Line, Seen};

/// How many lines apart two keywords still belong together, and two places of one file do not.
const NEAR: usize = 8;
const APART: usize = 15;

/// How many characters apart two keywords of a line are neighbours.
const NEIGHBOURS: usize = 12;

/// A line worth looking at, and why.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) number: usize,
    pub(super) text: String,
    pub(super) role: Role,
    pub(super) is_test: bool,
    /// The keywords in the line.
    pub(super) keywords: Vec<String>,
    /// Those that are only around it.
    pub(super) near: Vec<String>,
    /// Those that the file is named after.
    pub(super) named: Vec<String>,
    pub(super) score: f64,
}

/// A line with what each keyword is worth in it.
struct Scored<'a> {
    line: &'a Line,
    role: Role,
    /// Whether it is among the tests of a source file.
    is_test: bool,
    values: Vec<f64>,
    own: f64,
}

/// The lines to send a reader to, the best first, at most two of a file.
pub(super) fn places(question: &Question<'_>, ranking: &[File], seen: &Seen) -> Vec<Place> {
    let tests = tests_start(seen);
    let mut by_file: BTreeMap<&str, Vec<Scored<'_>>> = BTreeMap::new();
    for line in &seen.lines {
        let is_test = tests.get(line.path.as_str()).is_some_and(|start| line.number > *start);
        let scored = scored(question, line, is_test);
        if scored.own > 0.0 {
            by_file.entry(&line.path).or_default().push(scored);
        }
    }
    let best = ranking.first().map_or(1.0, |file| file.score.max(f64::MIN_POSITIVE));
    let files: HashMap<&str, f64> = ranking.iter().map(|file| (file.path.as_str(), file.score / best)).collect();

    let mut places = Vec::new();
    for (path, lines) in &mut by_file {
        lines.sort_by_key(|scored| scored.line.number);
        let file = files.get(path).copied().unwrap_or(0.0);
        places.extend(best_of_file(question, lines, file));
    }
    let is_written = |place: &Place| paths::kind(&place.path) != paths::Kind::Generated;
    if places.iter().any(is_written) {
        places.retain(is_written);
    }
    places.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| (&a.path, a.number).cmp(&(&b.path, b.number))));
    places
}

fn best_of_file(question: &Question<'_>, lines: &[Scored<'_>], file: f64) -> Vec<Place> {
    let mut order: Vec<(f64, usize)> = (0..lines.len()).map(|at| (passage(question, lines, at), at)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut taken: Vec<usize> = Vec::new();
    let mut places = Vec::new();
    for (passage, at) in order {
        let line = lines[at].line;
        // What a file says of itself and what comes right after it are two things.
        let distance = |other: &Scored<'_>| {
            if matches!(other.role, Role::Subject | Role::Introduction) { APART / 3 } else { APART }
        };
        let is_apart =
            taken.iter().all(|other| lines[*other].line.number.abs_diff(line.number) >= distance(&lines[*other]));
        if taken.is_empty() || taken.len() < 2 && is_apart && !lines[at].is_test {
            // The second place of a file is worth less than the first of another.
            let turn = if taken.is_empty() { 1.0 } else { 0.6 };
            taken.push(at);
            // A very long line is data, minified code or a row of a table, and cannot be quoted.
            let length = if line.text.len() > 400 { 0.5 } else { 1.0 };
            let score = (file + PASSAGE * question.weight(&line.path) * passage / question.all()) * turn * length;
            places.push(place(question, lines, at, score));
        }
    }
    places
}

/// What a passage is worth beside the file it is in.
const PASSAGE: f64 = 0.55;

/// What a line and those around it say together: each keyword counts once, where it is worth most.
fn passage(question: &Question<'_>, lines: &[Scored<'_>], at: usize) -> f64 {
    let here = lines[at].line.number;
    let mut best = question.topics(&lines[at].line.path);
    for other in around(lines, at).filter(|other| other.is_test == lines[at].is_test) {
        let distance = other.line.number.abs_diff(here) as f64;
        let nearness = if distance == 0.0 { 1.0 } else { 0.5 * (1.0 - distance / (NEAR as f64 + 1.0)) };
        for (best, value) in best.iter_mut().zip(&other.values) {
            *best = best.max(value * nearness);
        }
    }
    let together: f64 = best.iter().sum();
    let test = if lines[at].is_test { paths::Kind::Test.weight() } else { 1.0 };
    test * (together + 0.25 * lines[at].own) * (0.4 + 0.6 * (together / question.all()).min(1.0))
}

/// The lines around one, itself included.
fn around<'a, 'b>(lines: &'b [Scored<'a>], at: usize) -> impl Iterator<Item = &'b Scored<'a>> {
    let here = lines[at].line.number;
    let is_near = move |scored: &&Scored<'_>| scored.line.number.abs_diff(here) <= NEAR;
    let after = lines[at..].iter().take_while(is_near);
    lines[..at].iter().rev().take_while(is_near).chain(after)
}

fn scored<'a>(question: &Question<'_>, line: &'a Line, is_test: bool) -> Scored<'a> {
    let role = role(question.keywords, line);
    let name = if role == Role::Definition { name_weight(question.keywords, &line.text) } else { 1.0 };
    // Whoever wants to do something is helped by words, not by every line of code that does similar.
    let help = match role {
        Role::Heading if question.is_how_to => 1.5,
        Role::Mention if question.is_how_to && is_code(&line.path) => 0.5,
        _ => 1.0,
    };
    let worth = role.weight() * name * help;
    let value = |(keyword, rarity): (&Keyword, &f64)| keyword.strength(&line.text) * rarity * worth;
    let values: Vec<f64> = question.keywords.iter().zip(&question.rarity).map(value).collect();
    let own = values.iter().sum::<f64>() + neighbours(question, &line.text) * worth;
    Scored { line, role, is_test, values, own }
}

fn is_code(path: &str) -> bool {
    paths::kind(path) != paths::Kind::Document
}

/// What it is worth that keywords stand side by side in a line as they do in the question.
fn neighbours(question: &Question<'_>, text: &str) -> f64 {
    let pairs = question.keywords.iter().zip(&question.rarity).enumerate().flat_map(|(at, first)| {
        question.keywords.iter().zip(&question.rarity).skip(at + 1).map(move |second| (first, second))
    });
    pairs
        .filter(|((first, _), (second, _))| first.at.abs_diff(second.at) == 1)
        .filter(|((first, _), (second, _))| first.is_in(text) && second.is_in(text))
        .filter(|((first, _), (second, _))| are_near(text, &first.text, &second.text))
        .map(|((_, first), (_, second))| 0.5 * (first + second))
        .sum()
}

fn are_near(text: &str, first: &str, second: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let ends = text.match_indices(first).map(|(at, _)| at + first.len());
    ends.take(8).any(|end| {
        let reach = text.floor_char_boundary((end + NEIGHBOURS + second.len()).min(text.len()));
        text[end..reach].contains(second)
    })
}

/// A thing that is called just like a keyword is what was asked for, a type even more than a function;
/// and so is one whose name says several of them.
fn name_weight(keywords: &[Keyword], text: &str) -> f64 {
    let name = defined(keywords, text).unwrap_or_default();
    // Every other type has one; it is not what a question about something new, or about the main thing, is after.
    if keywords.len() > 1 && ["new", "main", "default", "init", "__init__", "from"].contains(&name.as_str()) {
        return 0.5;
    }
    let is_named = keywords.iter().any(|keyword| name == keyword.said || name == keyword.text);
    let is_type = ["struct ", "enum ", "trait ", "class ", "interface "].iter().any(|word| text.contains(word));
    let said = keywords.iter().filter(|keyword| keyword.is_in(&name)).count();
    match (is_named, is_type) {
        (true, true) => 1.5,
        (true, false) => 1.25,
        (false, _) => 1.0 + 0.25 * said.saturating_sub(1).min(2) as f64,
    }
}

/// The line from which on each source file holds its tests.
fn tests_start(seen: &Seen) -> HashMap<&str, usize> {
    let starts = seen.lines.iter().filter(|line| line.text.trim() == TESTS_START);
    starts.map(|line| (line.path.as_str(), line.number)).collect()
}

fn place(question: &Question<'_>, lines: &[Scored<'_>], at: usize, score: f64) -> Place {
    let line = lines[at].line;
    let those = |is_wanted: &dyn Fn(usize) -> bool| {
        let wanted = question.keywords.iter().enumerate().filter(|(at, _)| is_wanted(*at));
        wanted.map(|(_, keyword)| keyword.said.clone()).collect::<Vec<String>>()
    };
    let own = |keyword: usize| lines[at].values[keyword] > 0.0;
    let near = |keyword: usize| !own(keyword) && around(lines, at).any(|other| other.values[keyword] > 0.0);
    let name = paths::speaking_name(&line.path).0;
    let is_name = |keyword: usize| question.keywords[keyword].is_in(name);
    Place {
        path: line.path.clone(),
        number: line.number,
        text: line.text.clone(),
        role: lines[at].role,
        is_test: lines[at].is_test || paths::kind(&line.path) == paths::Kind::Test,
        keywords: those(&own),
        near: those(&near),
        named: those(&is_name),
        score,
    }
}
