//! Which files and lines matter most for some keywords. Rare words count more than common ones, many
//! different words more than one word many times, definitions and documentation more than mentions.

use std::collections::BTreeMap;

use super::keywords::{Keyword, Kind};
use super::paths;
use super::role::{Role, TESTS_START, defined, role};
use super::seen::{Line, Seen};

/// How many lines apart two keywords still belong together, and two places of one file do not.
const NEAR: usize = 8;
const APART: usize = 15;

/// A file and how much it matters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) score: f64,
}

/// A line worth looking at, and why.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) number: usize,
    pub(super) text: String,
    pub(super) role: Role,
    /// The keywords in the line.
    pub(super) keywords: Vec<String>,
    score: f64,
}

/// Ranks files by how often the keywords occur in them and in their names.
pub(super) fn by_counts(keywords: &[Keyword], seen: &Seen) -> Vec<File> {
    let rarity = rarity(keywords, seen);
    let all: f64 = rarity.iter().sum();
    let mut counts: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for count in &seen.counts {
        if let Some(at) = keywords.iter().position(|keyword| keyword.text == count.pattern) {
            counts.entry(&count.path).or_insert_with(|| vec![0; keywords.len()])[at] += count.count;
        }
    }
    for path in &seen.files {
        if keywords.iter().any(|keyword| keyword.is_in(&path.to_lowercase())) {
            counts.entry(path).or_insert_with(|| vec![0; keywords.len()]);
        }
    }
    let score = |path: &str, counts: &[u64]| {
        let (mut found, mut covered) = (0.0, 0.0);
        for (count, rarity) in counts.iter().zip(&rarity).filter(|(count, _)| **count > 0) {
            let often = (*count as f64).ln();
            found += rarity * (1.0 + 0.35 * often.min(4.0));
            covered += rarity;
        }
        let coverage = if all > 0.0 { covered / all } else { 0.0 };
        (found * (0.3 + 0.7 * coverage) + named(keywords, &rarity, path)) * weight(keywords, path)
    };
    sorted(counts.into_iter().map(|(path, counts)| File { path: path.to_owned(), score: score(path, &counts) }))
}

/// Ranks files by their counts and by the best line that was seen in each.
pub(super) fn by_lines(keywords: &[Keyword], seen: &Seen) -> Vec<File> {
    let rarity = rarity(keywords, seen);
    let mut best: BTreeMap<&str, f64> = BTreeMap::new();
    for line in &seen.lines {
        let score = line_score(keywords, &rarity, line, seen) * weight(keywords, &line.path);
        let entry = best.entry(&line.path).or_default();
        *entry = entry.max(score);
    }
    let mut files = by_counts(keywords, seen);
    for file in &mut files {
        file.score += best.remove(file.path.as_str()).unwrap_or(0.0);
    }
    sorted(files.into_iter().chain(best.into_iter().map(|(path, score)| File { path: path.to_owned(), score })))
}

/// The lines to send a reader to, the best first, at most two of a file.
pub(super) fn places(keywords: &[Keyword], ranking: &[File], seen: &Seen) -> Vec<Place> {
    let rarity = rarity(keywords, seen);
    let mut by_file: BTreeMap<&str, Vec<(&Line, f64)>> = BTreeMap::new();
    for line in &seen.lines {
        by_file.entry(&line.path).or_default().push((line, line_score(keywords, &rarity, line, seen)));
    }
    let best_file = ranking.first().map_or(1.0, |file| file.score.max(f64::MIN_POSITIVE));
    let file_score =
        |path: &str| ranking.iter().find(|file| file.path == path).map_or(0.0, |file| file.score / best_file);
    let best_line = rarity.iter().sum::<f64>().max(f64::MIN_POSITIVE) * Role::Definition.weight();

    let mut places = Vec::new();
    for (path, lines) in &by_file {
        let mut scored: Vec<(&Line, f64)> = lines
            .iter()
            .filter(|(_, own)| *own > 0.0)
            .map(|(line, own)| (*line, own + 0.3 * surroundings(line, *own, lines)))
            .collect();
        scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.number.cmp(&b.0.number)));
        let mut taken: Vec<usize> = Vec::new();
        for (line, score) in scored {
            if taken.len() < 2 && taken.iter().all(|other| other.abs_diff(line.number) >= APART) {
                // The second place of a file is worth less than the first of another.
                let turn = if taken.is_empty() { 1.0 } else { 0.7 };
                taken.push(line.number);
                places.push(place(
                    keywords,
                    line,
                    (file_score(path) + 0.6 * weight(keywords, path) * score / best_line) * turn,
                ));
            }
        }
    }
    let is_written = |place: &Place| paths::kind(&place.path) != paths::Kind::Generated;
    if places.iter().any(is_written) {
        places.retain(is_written);
    }
    places.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| (&a.path, a.number).cmp(&(&b.path, b.number))));
    places
}

/// How much each keyword says: one that is in every file says little.
fn rarity(keywords: &[Keyword], seen: &Seen) -> Vec<f64> {
    let total = seen.files.len().max(seen.counts.len()).max(1);
    let rarity = |keyword: &Keyword| {
        let files = seen.counts.iter().filter(|count| count.pattern == keyword.text).count();
        let rarity = (1.0 + total as f64 / (files.max(1)) as f64).ln();
        match (keyword.kind, files) {
            // A word that is nowhere must not weigh down what is somewhere.
            (Kind::Word, 0) => 0.3,
            (Kind::Word, _) => rarity,
            (Kind::Exact, _) => rarity * 2.5,
        }
    };
    keywords.iter().map(rarity).collect()
}

/// What the path itself says: the file is named after a keyword, or its directory is.
fn named(keywords: &[Keyword], rarity: &[f64], path: &str) -> f64 {
    let lower = path.to_lowercase();
    let (stem, directory) = (paths::stem(&lower), paths::directory(&lower));
    keywords
        .iter()
        .zip(rarity)
        .map(|(keyword, rarity)| {
            if stem == keyword.text || lower == keyword.text {
                2.5 * rarity
            } else if keyword.is_in(stem) || keyword.text.contains('/') && keyword.is_in(&lower) {
                1.5 * rarity
            } else if keyword.is_in(directory) {
                0.6 * rarity
            } else {
                0.0
            }
        })
        .sum()
}

fn weight(keywords: &[Keyword], path: &str) -> f64 {
    match paths::kind(path) {
        // Who asks for tests wants to see them.
        paths::Kind::Test if keywords.iter().any(|keyword| keyword.text == "test") => 1.0,
        kind => kind.weight(),
    }
}

fn line_score(keywords: &[Keyword], rarity: &[f64], line: &Line, seen: &Seen) -> f64 {
    let lower = line.text.to_lowercase();
    let found: f64 =
        keywords.iter().zip(rarity).filter(|(keyword, _)| keyword.is_in(&lower)).map(|(_, rarity)| rarity).sum();
    // A very long line is data or minified code.
    let length = if line.text.len() > 400 { 0.3 } else { 1.0 };
    let role = role(keywords, line);
    let name = if role == Role::Definition { name_weight(keywords, &line.text) } else { 1.0 };
    let test = if line.number > tests_start(&line.path, seen) { paths::Kind::Test.weight() } else { 1.0 };
    // Different words in one line say more than each of them elsewhere.
    let coverage = 0.5 + 0.5 * found / rarity.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    found * coverage * length * name * test * role.weight()
}

/// A thing that is called just like a keyword is what was asked for, a type even more than a function.
fn name_weight(keywords: &[Keyword], text: &str) -> f64 {
    let name = defined(keywords, text).unwrap_or_default();
    let is_named = keywords.iter().any(|keyword| name == keyword.text || name.strip_suffix('s') == Some(&keyword.text));
    let is_type = ["struct ", "enum ", "trait ", "class ", "interface "].iter().any(|word| text.contains(word));
    match (is_named, is_type) {
        (true, true) => 1.5,
        (true, false) => 1.25,
        (false, _) => 1.0,
    }
}

/// The line from which on a source file holds its tests.
fn tests_start(path: &str, seen: &Seen) -> usize {
    let is_start = |line: &&Line| line.path == path && line.text.trim() == TESTS_START;
    seen.lines.iter().find(is_start).map_or(usize::MAX, |line| line.number)
}

fn surroundings(line: &Line, own: f64, lines: &[(&Line, f64)]) -> f64 {
    let near: f64 =
        lines.iter().filter(|(other, _)| other.number.abs_diff(line.number) <= NEAR).map(|(_, score)| score).sum();
    (near - own).min(3.0 * own)
}

fn place(keywords: &[Keyword], line: &Line, score: f64) -> Place {
    let lower = line.text.to_lowercase();
    let found = keywords.iter().filter(|keyword| keyword.is_in(&lower)).map(|keyword| keyword.text.clone()).collect();
    let (path, text) = (line.path.clone(), line.text.clone());
    Place { path, number: line.number, text, role: role(keywords, line), keywords: found, score }
}

fn sorted(files: impl Iterator<Item = File>) -> Vec<File> {
    let mut files: Vec<File> = files.filter(|file| file.score > 0.0).collect();
    files.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.path.cmp(&b.path)));
    files
}
